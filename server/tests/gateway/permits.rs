//! When a call's permit is free again: at the end of the upstream's work, whatever its
//! client does meanwhile.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{mpsc, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::calls::{PAGES, PATIENCE, assert_blocked, begin, call, five_at_once, gated};
use crate::support::TestApp;
use crate::support::peer::{Peer, ok};

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
                let frame = Frame::data(Bytes::from_static(b"chunk"));
                (n < 3).then_some((Ok::<_, Infallible>(frame), n + 1))
            });
            Response::new(StreamBody::new(Box::pin(chunks)).boxed())
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
async fn a_call_whose_body_was_cut_never_looks_whole_and_its_slot_comes_back() {
    let (told, mut tells) = mpsc::channel(8);
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
    // The upstream may not have noticed.
    assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
    assert_eq!(
        call(app.gateway, "ann", 10_000).await.status,
        StatusCode::OK
    );
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

#[tokio::test]
async fn a_slot_is_taken_until_the_body_has_ended_whether_anyone_reads_it_or_not() {
    let gate = watch::Sender::new(false);
    let opens = gate.clone();
    let peer = Peer::start(move |_| {
        let mut gate = opens.subscribe();
        async move {
            let chunks =
                futures_util::stream::once(async { Ok(Frame::data(Bytes::from("first"))) });
            let rest = futures_util::stream::once(async move {
                gate.wait_for(|open| *open).await.unwrap();
                Ok::<_, Infallible>(Frame::data(Bytes::from("last")))
            });
            let chunks = futures_util::StreamExt::chain(chunks, rest);
            Response::new(StreamBody::new(Box::pin(chunks)).boxed())
        }
    })
    .await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        let mut client = begin(app.gateway, "ann").await;
        let mut answer = Vec::new();
        while !answer.ends_with(b"first\r\n") {
            assert_ne!(client.read_buf(&mut answer).await.unwrap(), 0);
        }
        clients.push(client);
    }
    assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
    drop(clients);
    for _ in 0..20 {
        assert_blocked(&call(app.gateway, "ann", 0).await, "user/concurrency");
    }
    gate.send_replace(true);
    let reply = timeout(PATIENCE, call(app.gateway, "ann", 10_000))
        .await
        .unwrap();
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (StatusCode::OK, "firstlast")
    );
    app.stop().await;
}
