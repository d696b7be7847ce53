//! What an upstream's own refusals do to the calls after them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::calls::{assert_blocked, call, seconds_told};
use crate::support::TestApp;
use crate::support::peer::{Peer, PeerBody, ok};

/// Answers the first `count` calls so, and the rest well.
async fn failing_first(count: usize, fail: fn() -> Response<PeerBody>) -> Peer {
    let calls = Arc::new(AtomicUsize::new(0));
    Peer::start(move |_| {
        let n = calls.fetch_add(1, Ordering::Relaxed);
        async move { if n < count { fail() } else { ok("well") } }
    })
    .await
}

/// An answer of a test's own.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &'static str) -> Response<PeerBody> {
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// The budgets of OneNote's users and app, as they are shown.
pub async fn state(app: &TestApp) -> serde_json::Value {
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let onenote = workloads.iter().find(|it| it["name"] == "onenote").unwrap();
    onenote["budgets"].clone()
}

/// Case 10 [sdk-dotnet#250]: during a block the gateway makes no upstream call at all.
#[tokio::test]
async fn a_users_429_is_passed_on_once_and_then_answered_here() {
    let fail = || {
        answer(
            429,
            &[("retry-after", "30"), ("x-ms-throttle-scope", "User")],
            "{}",
        )
    };
    let peer = failing_first(1, fail).await;
    let app = TestApp::start(&peer.onenote()).await;
    let first = call(app.gateway, "ann", 0).await;
    assert_eq!(
        (first.status, first.header("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, "30")
    );
    for _ in 0..20 {
        let refused = call(app.gateway, "ann", 0).await;
        assert_blocked(&refused, "user/breaker");
        let seconds = seconds_told(&refused);
        assert!((28..=30).contains(&seconds), "{seconds}");
    }
    assert_eq!(peer.counts().arrived, 1);
    assert_eq!(
        call(app.gateway, "bob", 0).await.status,
        StatusCode::OK,
        "others are untouched"
    );

    let budgets = state(&app).await;
    let user = budgets
        .as_array()
        .unwrap()
        .iter()
        .find(|budget| budget["user"] == "ann")
        .unwrap();
    assert_eq!(
        (&user["breaker"]["state"], &user["breaker"]["reason"]),
        (&"open".into(), &"throttled".into())
    );
    assert!(
        user["breaker"]["until"].is_string() && user["breaker"]["drift"] == 1,
        "{user}"
    );
    assert_eq!(budgets[0]["breaker"]["state"], "closed");
}

#[tokio::test]
async fn an_apps_429_stops_everybody_and_a_restart_changes_nothing() {
    let fail = || {
        answer(
            429,
            &[
                ("retry-after", "60"),
                ("x-ms-throttle-scope", "Application"),
            ],
            "",
        )
    };
    let peer = failing_first(1, fail).await;
    let app = TestApp::start(&peer.onenote()).await;
    assert_eq!(
        call(app.gateway, "ann", 0).await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_blocked(&call(app.gateway, "bob", 0).await, "app/breaker");
    let app = TestApp::start_in(app.stop().await, &peer.onenote()).await;
    assert_blocked(&call(app.gateway, "cid", 0).await, "app/breaker");
    assert_eq!(peer.counts().arrived, 1);
}

/// Case 3 [obsidian-importer#225]: a throttling body in four shapes, and OneNote's code
/// under another status; each opens for the first cool-down, and is over after it.
#[tokio::test]
async fn throttling_in_any_shape_opens_the_users_breaker_and_it_recovers() {
    let shapes: [fn() -> Response<PeerBody>; 5] = [
        || {
            answer(
                429,
                &[],
                r#"{"error":{"code":"20166","message":"too many"}}"#,
            )
        },
        || answer(429, &[], r#"{"code":"20166"}"#),
        || answer(429, &[], ""),
        || {
            answer(
                429,
                &[("content-type", "text/html")],
                "<html>Too many requests</html>",
            )
        },
        || answer(503, &[], r#"{"error":{"code":"20166"}}"#),
    ];
    for shape in shapes {
        let peer = failing_first(1, shape).await;
        let app = TestApp::start(&peer.onenote()).await;
        let status = call(app.gateway, "ann", 0).await.status;
        assert!(
            status.is_client_error() || status.is_server_error(),
            "{status}"
        );
        let refused = call(app.gateway, "ann", 0).await;
        assert_blocked(&refused, "user/breaker");
        assert_eq!(refused.header("retry-after"), "1");
        // Held until the cool-down of a second is over, this one is the probe.
        assert_eq!(call(app.gateway, "ann", 5_000).await.status, StatusCode::OK);
        assert_eq!(
            call(app.gateway, "ann", 0).await.status,
            StatusCode::OK,
            "it recovers"
        );
        assert_eq!(peer.counts().arrived, 3);
    }
}

/// Case 41 [resilience4j#544, smallrye#320]: the probe answers 404.
#[tokio::test]
async fn a_probe_that_finds_nothing_is_an_answer() {
    let peer = {
        let calls = Arc::new(AtomicUsize::new(0));
        Peer::start(move |_| {
            let n = calls.fetch_add(1, Ordering::Relaxed);
            async move {
                if n == 0 {
                    answer(429, &[], "")
                } else {
                    answer(404, &[], "{}")
                }
            }
        })
        .await
    };
    let app = TestApp::start(&peer.onenote()).await;
    assert_eq!(
        call(app.gateway, "ann", 0).await.status,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_eq!(
        call(app.gateway, "ann", 5_000).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        call(app.gateway, "ann", 0).await.status,
        StatusCode::NOT_FOUND
    );
}
