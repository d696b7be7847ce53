//! When a call may go, and when its permit is free again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use support::peer::{Peer, ok};
use support::{Reply, TestApp, send};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

const PAGES: &str = "/graph/v1.0/me/onenote/pages";

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// One call of `user` that bears to be held for `wait_ms`.
async fn call(gateway: SocketAddr, user: &str, wait_ms: u64) -> Reply {
    let request = Request::get(PAGES)
        .header("spillway-user", user)
        .header("spillway-wait-ms", wait_ms)
        .header("client-request-id", "mine");
    send(gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

/// An upstream whose only limit is five calls of one user at once.
fn five_at_once(peer: &Peer) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = 10000\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'concurrency', limit = 5 }}]\n",
        peer.address
    )
}

/// An upstream that answers nothing before its gate is open.
async fn gated() -> (watch::Sender<bool>, Peer) {
    let gate = watch::Sender::new(false);
    let opens = gate.clone();
    let peer = Peer::start(move |_| {
        let mut gate = opens.subscribe();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            ok("answer")
        }
    })
    .await;
    (gate, peer)
}

/// A call whose client can leave; the answer is not read.
async fn begin(gateway: SocketAddr, user: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let request =
        format!("GET {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nSpillway-User: {user}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

fn assert_blocked(reply: &Reply, by: &str) {
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{reply:?}");
    assert_eq!(reply.header("spillway-blocked-by"), by);
}

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
        let seconds: u32 = refused.header("retry-after").parse().unwrap();
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
        told.insert(refused.header("retry-after").parse::<u32>().unwrap());
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

/// Case 40, with a gate in place of the ten seconds.
#[tokio::test]
async fn clients_that_time_out_free_no_slot_before_the_upstream_has_ended() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(begin(app.gateway, "ann").await);
    }
    peer.until(|counts| counts.in_flight == 5).await;
    drop(clients);
    for _ in 0..20 {
        // Each is a chance for a slot to come free too early.
        assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
        drop(begin(app.gateway, "ann").await);
    }
    assert_eq!((peer.counts().in_flight, peer.counts().peak), (5, 5));
    gate.send_replace(true);
    assert_eq!(
        call(app.gateway, "ann", 10_000).await.status,
        StatusCode::OK
    );
    assert_eq!(peer.until(|counts| counts.in_flight == 0).await.peak, 5);
    app.stop().await;
}

/// Case 39.
#[tokio::test(flavor = "multi_thread")]
async fn of_calls_cut_at_random_moments_every_slot_comes_back() {
    let (gate, peer) = storm_and_gate().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let mut random = Random(39);
    let mut clients = JoinSet::new();
    for n in 0..600 {
        let user = ["ann", "bob", "cem"][n % 3];
        let cut = (n % 2 == 0).then(|| Duration::from_micros(random.below(9_000)));
        clients.spawn(async move {
            let mut stream = begin(gateway, user).await;
            let mut answer = Vec::new();
            match cut {
                Some(after) => drop(timeout(after, stream.read_to_end(&mut answer)).await),
                None => {
                    while !answer.ends_with(b"0\r\n\r\n") {
                        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
                    }
                    assert!(
                        answer.starts_with(b"HTTP/1.1 200"),
                        "{}",
                        String::from_utf8_lossy(&answer)
                    );
                }
            }
        });
        if n % 60 == 59 {
            clients = finished(clients).await;
        }
    }
    finished(clients).await;
    peer.until(|counts| counts.in_flight == 0).await;

    gate.send_replace(true);
    let mut calls = JoinSet::new();
    for user in ["ann", "bob", "cem"].repeat(5) {
        calls.spawn(async move { call(gateway, user, 10_000).await.status });
    }
    // Only if all fifteen are there at once has no slot been lost.
    timeout(PATIENCE, peer.until(|counts| counts.in_flight == 15))
        .await
        .expect("a slot was lost");
    assert_eq!(peer.counts().peak, 15);
    gate.send_replace(false);
    while let Some(status) = calls.join_next().await {
        assert_eq!(status.unwrap(), StatusCode::OK);
    }
    app.stop().await;
}

async fn finished(mut clients: JoinSet<()>) -> JoinSet<()> {
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    clients
}

/// Answers within milliseconds and in chunks; while its gate is shut, not at all.
async fn storm_and_gate() -> (watch::Sender<bool>, Peer) {
    let gate = watch::Sender::new(false);
    let shut = gate.clone();
    let peer = Peer::start(move |_| {
        let mut shut = shut.subscribe();
        async move {
            sleep(Duration::from_millis(2)).await;
            shut.wait_for(|shut| !shut).await.unwrap();
            let chunks = futures_util::stream::unfold(0, |n| async move {
                sleep(Duration::from_millis(1)).await;
                let frame = http_body::Frame::data(Bytes::from_static(b"chunk"));
                (n < 3).then_some((Ok::<_, std::convert::Infallible>(frame), n + 1))
            });
            Response::new(http_body_util::StreamBody::new(Box::pin(chunks)).boxed())
        }
    })
    .await;
    (gate, peer)
}

/// The same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

#[tokio::test]
async fn a_call_that_was_never_written_costs_nothing() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let upstreams =
        format!("[upstreams.graph]\nbase_url = 'http://{closed}/'\npresets = ['onenote']\n");
    let app = TestApp::start(&upstreams).await;
    // More than the minute's limit: none of them was charged.
    for _ in 0..130 {
        let reply = call(app.gateway, "ann", 0).await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (StatusCode::BAD_GATEWAY, &"upstream_unreachable".into())
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn a_call_that_broke_off_keeps_its_slot_since_it_may_still_run() {
    let peer = Peer::raw(|mut stream| async move {
        drop(stream.read_u8().await);
    })
    .await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    for _ in 0..5 {
        assert_eq!(
            call(app.gateway, "ann", 0).await.status,
            StatusCode::BAD_GATEWAY
        );
    }
    for _ in 0..5 {
        assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
    }
    assert_eq!(peer.counts().arrived, 5);
    app.stop().await;
}

#[tokio::test]
async fn a_call_whose_body_was_cut_never_looks_whole_and_keeps_its_slot() {
    let (told, mut tells) = tokio::sync::mpsc::channel(8);
    let peer = Peer::start(move |request: Request<Incoming>| {
        let told = told.clone();
        async move {
            let whole = request.into_body().collect().await.is_ok();
            told.send(whole).await.unwrap();
            ok("")
        }
    })
    .await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    for framing in [
        "Content-Length: 10\r\n\r\nabc",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ]
    .repeat(3)
    .split_last()
    .unwrap()
    .1
    {
        let mut client = TcpStream::connect(app.gateway).await.unwrap();
        let request = format!(
            "POST {PAGES} HTTP/1.1\r\nHost: {}\r\nSpillway-User: ann\r\n{framing}",
            app.gateway
        );
        client.write_all(request.as_bytes()).await.unwrap();
        let arrived = peer.counts().arrived;
        peer.until(|counts| counts.arrived > arrived || counts.arrived == 5)
            .await;
        drop(client);
        assert!(!timeout(PATIENCE, tells.recv()).await.unwrap().unwrap());
    }
    for _ in 0..5 {
        assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
    }
    app.stop().await;
}

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
    // Long enough to be a hold; what matters is that all three are asked for by then.
    sleep(Duration::from_millis(100)).await;
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
        .filter(|seen| seen.method == http::Method::POST);
    assert_eq!(posts.count(), 0);
    app.stop().await;
}

#[tokio::test]
async fn a_held_call_with_a_body_arrives_whole() {
    let (gate, peer) = {
        let gate = watch::Sender::new(false);
        let opens = gate.clone();
        let peer = Peer::start(move |request: Request<Incoming>| {
            let mut gate = opens.subscribe();
            async move {
                gate.wait_for(|open| *open).await.unwrap();
                ok(request.into_body().collect().await.unwrap().to_bytes())
            }
        })
        .await;
        (gate, peer)
    };
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
    sleep(Duration::from_millis(100)).await;
    gate.send_replace(true);
    while let Some(call) = calls.join_next().await {
        let (reply, body) = call.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.body == body, "the body came back changed");
    }
    for seen in peer
        .seen()
        .iter()
        .filter(|seen| seen.method == http::Method::POST)
    {
        assert!(seen.headers.contains_key("content-length"));
    }
    app.stop().await;
}

/// A call whose client has left is finished before the process ends, and its permit with it.
#[tokio::test]
async fn shutting_down_waits_for_calls_that_are_upstream() {
    let (gate, peer) = gated().await;
    let upstreams = five_at_once(&peer);
    let app = TestApp::start(&upstreams).await;
    let gateway = app.gateway;
    let heard = tokio::spawn(async move { call(gateway, "ann", 0).await });
    let left = begin(gateway, "ann").await;
    peer.until(|counts| counts.in_flight == 2).await;
    drop(left);
    app.begin_shutdown();
    gate.send_replace(true);
    assert_eq!(
        timeout(PATIENCE, heard).await.unwrap().unwrap().status,
        StatusCode::OK
    );
    let dir = app.stop().await;

    gate.send_replace(false);
    let app = TestApp::start_in(dir, &upstreams).await;
    let gateway = app.gateway;
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        calls.spawn(async move { call(gateway, "ann", 0).await.status });
    }
    peer.until(|counts| counts.in_flight == 5).await;
    gate.send_replace(true);
    while let Some(status) = calls.join_next().await {
        assert_eq!(status.unwrap(), StatusCode::OK);
    }
    app.stop().await;
}
