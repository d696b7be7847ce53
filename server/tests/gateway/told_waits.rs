//! When the caller of a call that is not repeated may come back.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::time::timeout;

use crate::breakers::answer;
use crate::calls::{PAGES, PATIENCE, call, seconds_told};
use crate::support::peer::{Peer, PeerBody, body, ok};
use crate::support::{Reply, TestApp, send};

/// More than is read ahead of a failed answer, in bytes.
const LONG: usize = 200 * 1024;

async fn sent(app: &TestApp, method: Method) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(PAGES)
        .header("spillway-user", "ann")
        .header("spillway-wait-ms", "0");
    let request = request.body(Full::new(Bytes::from("body"))).unwrap();
    timeout(PATIENCE, send(app.gateway, request)).await.unwrap()
}

/// An upstream that answers the first call so and the others well.
async fn first(answer: impl Fn() -> Response<PeerBody> + Clone + Send + Sync + 'static) -> Peer {
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Peer::start(move |_| {
        let first = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let response = if first { answer() } else { ok("{}") };
        async move { response }
    })
    .await
}

#[tokio::test]
async fn every_throttling_answer_tells_when_to_come_back() {
    for (status, told, expected) in [
        (429, None, 1..=4),
        (429, Some("0.249"), 1..=4),
        (429, Some("7"), 7..=8),
        (429, Some("86400"), 120..=179),
        (503, Some("7"), 7..=8),
        (503, Some(""), 1..=4),
        // Nobody knows; SDKs would come in 3 s by themselves.
        (503, None, 3..=4),
        (529, None, 1..=4),
    ] {
        for method in [Method::GET, Method::POST, Method::PATCH] {
            let peer = first(move || {
                let headers = told.map(|told| ("retry-after", told));
                answer(status, headers.as_slice(), "{}")
            })
            .await;
            let app = TestApp::start(&peer.onenote()).await;
            let reply = sent(&app, method.clone()).await;
            assert_eq!(reply.status.as_u16(), status);
            let seconds = seconds_told(&reply);
            let what = format!("{method} {status} {told:?}: {seconds}");
            assert!(expected.contains(&seconds), "{what}");
            assert_eq!(reply.headers.get_all("retry-after").iter().count(), 1);
            app.stop().await;
        }
    }
}

#[tokio::test]
async fn whoever_comes_back_when_it_was_told_to_finds_room() {
    let peer = first(|| answer(429, &[], r#"{"error":{"code":"20166"}}"#)).await;
    let app = TestApp::start(&peer.onenote()).await;
    let throttled = sent(&app, Method::POST).await;
    let told = Duration::from_secs(seconds_told(&throttled).into());
    tokio::time::sleep(told).await;
    assert_eq!(sent(&app, Method::POST).await.status, 200);
    assert_eq!(peer.counts().arrived, 2);
    app.stop().await;
}

/// No answer of these speaks of what goes by itself.
#[tokio::test]
async fn other_failures_are_told_as_they_came() {
    for (status, body) in [
        (504, ""),
        (502, ""),
        (500, ""),
        (404, ""),
        (429, r#"{"code":"public_api_request_blocked"}"#),
    ] {
        let peer = first(move || answer(status, &[], body)).await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = sent(&app, Method::POST).await;
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(reply.header("retry-after"), "", "{status}");
        app.stop().await;
    }
}

/// A body that is too long, or comes too slowly, to be heard before its head is passed on.
#[tokio::test]
async fn an_answer_that_is_relayed_as_it_comes_tells_it_as_well() {
    let long = || {
        let mut response = Response::new(body(" ".repeat(LONG)));
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        response
    };
    let slow = || {
        let piece = |data: &'static str| Ok::<_, Infallible>(Frame::data(Bytes::from(data)));
        let late = stream::once(async move {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            piece("end")
        });
        let pieces = stream::iter([piece("begin")]).chain(late);
        let mut response = Response::new(BodyExt::boxed(StreamBody::new(pieces)));
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        response
    };
    for (peer, length) in [(first(long).await, LONG), (first(slow).await, 8)] {
        let app = TestApp::start(&peer.onenote()).await;
        let reply = sent(&app, Method::GET).await;
        assert_eq!((reply.status.as_u16(), reply.body.len()), (429, length));
        assert!((1..=4).contains(&seconds_told(&reply)), "{reply:?}");
        // The breaker knew by then: nobody is sent after it.
        let next = call(app.gateway, "ann", 0).await;
        let blocked = next.header("spillway-blocked-by");
        assert!(next.status == 200 || blocked == "user/breaker", "{blocked}");
        app.stop().await;
    }
}
