//! When a call may go, and what it is told when it may not.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet, time::timeout};

use crate::calls::{
    PAGES, PATIENCE, assert_blocked, begin, call, five_at_once, gated, seconds_told, until_waiting,
};
use crate::support::peer::{Peer, ok};
use crate::support::{TestApp, send};

/// Case 1, and case 10: during a block the upstream is left alone.
#[tokio::test]
async fn the_121st_call_of_a_minute_is_told_when_to_come_and_the_upstream_sees_nothing() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    for _ in 0..120 {
        assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    }
    for _ in 0..10 {
        let refused = call(app.gateway, "ann", 0).await;
        assert_blocked(&refused, "user/rate/60s");
        let seconds = seconds_told(&refused);
        assert!((1..=179).contains(&seconds), "{seconds}");
        assert!(
            refused
                .header("access-control-expose-headers")
                .contains("Retry-After")
        );
        assert_eq!(refused.header("content-type"), "application/json");
        let error = &refused.json()["error"];
        assert_eq!(error["code"], "20166");
        assert_eq!(error["innerError"]["client-request-id"], "mine");
        assert_eq!(
            error["innerError"]["request-id"],
            refused.header("request-id")
        );
        assert_eq!(refused.header("client-request-id"), "mine");
    }
    assert_eq!(peer.counts().arrived, 120);
    assert_eq!(
        call(app.gateway, "bob", 0).await.status,
        StatusCode::OK,
        "others have room"
    );
    app.stop().await;
}

#[tokio::test]
async fn a_wait_beyond_what_clients_obey_is_told_in_part_and_spread() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let upstreams = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'rate', window_ms = 3600000, limit = 1 }}]\n",
        peer.address
    );
    let app = TestApp::start(&upstreams).await;
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    let mut told = std::collections::BTreeSet::new();
    for _ in 0..12 {
        let refused = call(app.gateway, "ann", 0).await;
        assert_blocked(&refused, "user/rate/3600s");
        assert_eq!(refused.header("content-type"), "application/problem+json");
        assert_eq!(refused.json()["code"], "throttled");
        assert!(refused.json()["retry_after_ms"].as_u64().unwrap() > 3_590_000);
        told.insert(seconds_told(&refused));
    }
    assert!(
        told.iter().all(|seconds| (120..=179).contains(seconds)),
        "{told:?}"
    );
    assert!(told.len() > 8, "{told:?}");
    app.stop().await;
}

#[tokio::test]
async fn a_call_that_can_never_fit_is_400_without_a_wait() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    let request = Request::get(PAGES)
        .header("spillway-user", "ann")
        .header("spillway-weight", "121");
    let reply = send(app.gateway, request.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(
        (reply.status, &reply.json()["code"]),
        (StatusCode::BAD_REQUEST, &"impossible".into())
    );
    assert!(!reply.headers.contains_key("retry-after"));
    app.stop().await;
}

#[tokio::test]
async fn a_call_is_held_until_there_is_room_and_refused_where_there_is_none_in_time() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        calls.spawn(async move { call(gateway, "ann", 0).await });
    }
    peer.until(|counts| counts.in_flight == 5).await;
    assert_blocked(&call(gateway, "ann", 0).await, "user/concurrency");
    assert_blocked(&call(gateway, "ann", 50).await, "user/concurrency");
    calls.spawn(async move { call(gateway, "ann", 10_000).await });
    assert_eq!(peer.counts().arrived, 5);
    gate.send_replace(true);
    while let Some(reply) = calls.join_next().await {
        assert_eq!(reply.unwrap().status, StatusCode::OK);
    }
    assert_eq!((peer.counts().arrived, peer.counts().peak), (6, 5));
    app.stop().await;
}

/// Case 34 [rreading-glasses#452].
#[tokio::test]
async fn one_of_a_hundred_waiters_gets_the_slot_when_the_others_have_left() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut busy = Vec::new();
    for _ in 0..5 {
        busy.push(begin(gateway, "ann").await);
    }
    peer.until(|counts| counts.in_flight == 5).await;
    let mut waiters = Vec::new();
    for _ in 0..99 {
        waiters.push(begin(gateway, "ann").await);
    }
    let last = tokio::spawn(async move { call(gateway, "ann", 10_000).await });
    drop(waiters);
    gate.send_replace(true);
    assert_eq!(
        timeout(PATIENCE, last).await.unwrap().unwrap().status,
        StatusCode::OK
    );
    app.stop().await;
}

/// What a client had sent before it left must not become a call that nobody waits for:
/// the client may have sent it again.
#[tokio::test]
async fn a_held_call_with_a_body_whose_client_has_left_never_goes_upstream() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut busy = Vec::new();
    for _ in 0..5 {
        busy.push(begin(gateway, "ann").await);
    }
    peer.until(|counts| counts.in_flight == 5).await;
    for framing in [
        "Content-Length: 3\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Content-Length: 10\r\n\r\nabc",
    ] {
        let mut client = TcpStream::connect(gateway).await.unwrap();
        let request =
            format!("POST {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nSpillway-User: ann\r\n{framing}");
        client.write_all(request.as_bytes()).await.unwrap();
    }
    let last = tokio::spawn(async move { call(gateway, "ann", 10_000).await });
    // The first one's end is seen at once: its body came in one piece.
    until_waiting(&app, "foreground", 3).await;
    gate.send_replace(true);
    assert_eq!(
        timeout(PATIENCE, last).await.unwrap().unwrap().status,
        StatusCode::OK
    );
    for _ in 0..20 {
        assert_eq!(call(gateway, "ann", 10_000).await.status, StatusCode::OK);
    }
    let posts = peer
        .seen()
        .into_iter()
        .filter(|seen| seen.method == Method::POST);
    assert_eq!(posts.count(), 0);
    app.stop().await;
}

#[tokio::test]
async fn a_held_call_with_a_body_arrives_whole() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut busy = Vec::new();
    for _ in 0..5 {
        busy.push(begin(gateway, "ann").await);
    }
    peer.until(|counts| counts.in_flight == 5).await;
    let large: Bytes = (0..300_007_u32).map(|n| (n % 251) as u8).collect();
    let mut calls = JoinSet::new();
    for body in [large.clone(), Bytes::from_static(b"small")] {
        let request = Request::post(PAGES).header("spillway-user", "ann");
        let request = request.body(Full::new(body.clone())).unwrap();
        calls.spawn(async move { (send(gateway, request).await, body) });
    }
    until_waiting(&app, "foreground", 2).await;
    gate.send_replace(true);
    while let Some(call) = calls.join_next().await {
        let (reply, body) = call.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.body == body, "the body came back changed");
    }
    for seen in peer
        .seen()
        .iter()
        .filter(|seen| seen.method == Method::POST)
    {
        assert!(seen.headers.contains_key("content-length"));
    }
    app.stop().await;
}
