//! The end of the process: whoever waits is told at once, whatever is waited for.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use crate::batches::{Batches, answer_of, batch, part, told};
use crate::breakers::answer;
use crate::calls::{PAGES, PATIENCE, call, five_at_once, gated, until_waiting};
use crate::support::peer::Peer;
use crate::support::{Reply, TestApp, send};

/// How long anybody here would wait, and how soon they are told instead.
const HOLD_MS: u64 = 10_000;
const AT_ONCE: Duration = Duration::from_secs(5);

/// It was sent away by the server, which says when to come back.
fn assert_sent_away(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
    assert_eq!(reply.json()["code"], "closing", "{reply:?}");
    assert_eq!(reply.header("retry-after"), "10");
}

/// A call with a bearer of `ann`'s that nobody has verified.
async fn with_bearer(gateway: SocketAddr, n: usize, wait_ms: u64) -> Reply {
    let request = Request::get(PAGES)
        .header("authorization", format!("Bearer opaque-{n}"))
        .header("spillway-user", "ann")
        .header("spillway-wait-ms", wait_ms);
    send(gateway, request.body(Full::default()).unwrap()).await
}

#[tokio::test]
async fn callers_in_the_line_of_unaccepted_bearers_are_sent_away() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let tried = tokio::spawn(with_bearer(gateway, 0, HOLD_MS));
    peer.until(|counts| counts.in_flight == 1).await;
    let mut waiting = JoinSet::new();
    for n in 1..11 {
        waiting.spawn(with_bearer(gateway, n, HOLD_MS));
    }
    // Behind the ten: when it is told that there is a line, they stand in it.
    let late = with_bearer(gateway, 11, 0).await;
    assert_eq!(late.header("spillway-blocked-by"), "queue", "{late:?}");
    let begun = Instant::now();
    app.begin_shutdown();
    while let Some(reply) = waiting.join_next().await {
        assert_sent_away(&reply.unwrap());
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    // The one that is upstream is served.
    assert_eq!(peer.counts().arrived, 1);
    gate.send_replace(true);
    assert_eq!(tried.await.unwrap().status, StatusCode::OK);
    app.stop().await;
}

#[tokio::test]
async fn callers_who_wait_for_a_permit_are_sent_away() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut served = JoinSet::new();
    for _ in 0..5 {
        served.spawn(async move { call(gateway, "ann", HOLD_MS).await });
    }
    peer.until(|counts| counts.in_flight == 5).await;
    let mut waiting = JoinSet::new();
    for _ in 0..10 {
        waiting.spawn(async move { call(gateway, "ann", HOLD_MS).await });
    }
    until_waiting(&app, "foreground", 10).await;
    let begun = Instant::now();
    app.begin_shutdown();
    while let Some(reply) = waiting.join_next().await {
        assert_sent_away(&reply.unwrap());
    }
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    gate.send_replace(true);
    while let Some(reply) = served.join_next().await {
        assert_eq!(reply.unwrap().status, StatusCode::OK);
    }
    app.stop().await;
}

/// What failed and rests before its next attempt is answered as it was answered.
#[tokio::test]
async fn a_call_that_rests_before_its_next_attempt_gets_the_answer_it_had() {
    let peer = Peer::start(|_| async { answer(503, &[("retry-after", "9")], "down") }).await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let resting = tokio::spawn(async move {
        let request = Request::get("/graph/none").body(Full::default()).unwrap();
        send(gateway, request).await
    });
    peer.until(|counts| counts.arrived == 1 && counts.in_flight == 0)
        .await;
    let begun = Instant::now();
    app.begin_shutdown();
    let reply = timeout(PATIENCE, resting).await.unwrap().unwrap();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!((reply.status.as_u16(), &*reply.text()), (503, "down"));
    assert_eq!(reply.header("retry-after"), "9");
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

#[tokio::test]
async fn parts_of_a_batch_that_rest_get_the_answers_they_had() {
    let down = json!({"status": 503, "headers": {"Retry-After": "9"}, "body": {}});
    let batches = Batches::of_parts(move |_, one| match one["id"].as_str() {
        Some("down") => down.clone(),
        _ => told(one, json!({"status": 200, "body": {}})),
    })
    .await;
    let app = TestApp::start(&batches.rate(100)).await;
    let answered = async {
        let parts = vec![part("down", "GET"), part("up", "GET")];
        batch(&app, "ann", parts).await
    };
    let ends = async {
        batches
            .peer
            .until(|counts| counts.arrived == 1 && counts.in_flight == 0)
            .await;
        app.begin_shutdown();
        Instant::now()
    };
    let (reply, begun) = tokio::join!(answered, ends);
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(answer_of(&reply, "down")["status"], 503, "{reply:?}");
    assert_eq!(answer_of(&reply, "up")["status"], 200, "{reply:?}");
    assert_eq!(batches.rounds().len(), 1);
    app.stop().await;
}
