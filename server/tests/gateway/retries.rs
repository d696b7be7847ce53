//! Calls that failed and go again, and those that must not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::breakers::answer;
use crate::calls::{PAGES, PATIENCE, begin, call, five_at_once, seconds_told, until_waiting};
use crate::support::peer::{Peer, PeerBody, ok};
use crate::support::{Reply, TestApp, send};

type Answer = fn() -> Response<PeerBody>;

/// Answers the calls in turn, and those after them well; a good answer repeats the body.
async fn answering(script: &'static [Answer]) -> Peer {
    let calls = Arc::new(AtomicUsize::new(0));
    Peer::start(move |request: Request<Incoming>| {
        let scripted = script.get(calls.fetch_add(1, Ordering::Relaxed));
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            scripted.map_or_else(|| ok(body), |answer| answer())
        }
    })
    .await
}

async fn sent(app: &TestApp, method: Method, wait_ms: u64, body: impl Into<Bytes>) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(PAGES)
        .header("spillway-user", "ann")
        .header("spillway-wait-ms", wait_ms);
    let request = request.body(Full::new(body.into())).unwrap();
    timeout(PATIENCE, send(app.gateway, request)).await.unwrap()
}

const UNAVAILABLE: Answer = || answer(503, &[], "down");
const TIMED_OUT: Answer = || answer(504, &[], "");
const THROTTLED: Answer = || answer(429, &[], r#"{"error":{"code":"20166"}}"#);
const THROTTLED_1S: Answer = || answer(429, &[("retry-after", "1")], "");

/// Case 11 [sdk-design#2]: a bare 504.
#[tokio::test]
async fn a_call_that_nobody_answered_goes_again_if_its_method_allows() {
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let peer = answering(&[TIMED_OUT, UNAVAILABLE]).await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = sent(&app, method.clone(), 10_000, "body").await;
        assert_eq!(
            (reply.status, &*reply.body),
            (StatusCode::OK, &b"body"[..]),
            "{method}"
        );
        assert_eq!(peer.counts().arrived, 3);
        app.stop().await;
    }
}

/// Case 11 and case 18 [learn answers 5529013]: what may have acted is never sent twice.
#[tokio::test]
async fn a_create_is_sent_once_whatever_it_is_answered() {
    for method in [Method::POST, Method::PATCH] {
        for (status, script) in [
            (503, &[UNAVAILABLE] as &[_]),
            (504, &[TIMED_OUT]),
            (429, &[THROTTLED]),
            (429, &[THROTTLED_1S]),
        ] {
            let peer = answering(script).await;
            let app = TestApp::start(&peer.onenote()).await;
            let reply = sent(&app, method.clone(), 10_000, "body").await;
            assert_eq!(reply.status.as_u16(), status);
            assert_eq!(
                reply.body,
                script[0]().into_body().collect().await.unwrap().to_bytes()
            );
            if status == 429 {
                assert_eq!(
                    reply.header("retry-after"),
                    "1",
                    "SDKs repeat it themselves"
                );
            }
            app.stop().await;
            assert_eq!(peer.counts().arrived, 1);
        }
    }
}

#[tokio::test]
async fn a_throttled_call_waits_as_long_as_the_upstream_or_the_breaker_says() {
    for script in [&[THROTTLED_1S] as &[_], &[THROTTLED]] {
        let peer = answering(script).await;
        let app = TestApp::start(&peer.onenote()).await;
        let begun = Instant::now();
        let reply = sent(&app, Method::GET, 10_000, "").await;
        assert_eq!(reply.status, StatusCode::OK);
        assert!(begun.elapsed() >= Duration::from_secs(1));
        assert_eq!(peer.counts().arrived, 2);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_into_the_hold_ends_the_matter_at_once() {
    let scripts: [(&[Answer], _); 4] = [
        (&[|| answer(429, &[("retry-after", "30")], "mine")], 28..=30),
        (
            &[|| answer(429, &[("retry-after", "90000")], "mine")],
            120..=179,
        ),
        (&[|| answer(503, &[("retry-after", "7.5")], "mine")], 7..=8),
        (
            &[|| {
                answer(
                    429,
                    &[("x-ms-throttle-scope", "User"), ("retry-after", "600")],
                    "mine",
                )
            }],
            120..=179,
        ),
    ];
    for (script, seconds) in scripts {
        let peer = answering(script).await;
        let app = TestApp::start(&peer.onenote()).await;
        let begun = Instant::now();
        let reply = sent(&app, Method::GET, 6_000, "").await;
        assert_eq!(reply.text(), "mine", "it is the upstream's answer");
        assert!(!reply.headers.contains_key("spillway-blocked-by"));
        assert!(seconds.contains(&seconds_told(&reply)), "{reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(6));
        assert_eq!(peer.counts().arrived, 1);
        app.stop().await;
    }
}

#[tokio::test]
async fn who_does_not_want_to_be_held_gets_the_first_answer() {
    let script: &[Answer] = &[|| answer(429, &[("retry-after", "0.249")], "first")];
    let peer = answering(script).await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = sent(&app, Method::GET, 0, "").await;
    assert_eq!((reply.status.as_u16(), &*reply.text()), (429, "first"));
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

/// Each attempt is a call to the upstream, and so is charged as one.
#[tokio::test]
async fn a_repeat_needs_a_permit_of_its_own() {
    let peer = answering(&[UNAVAILABLE]).await;
    let upstreams = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 1 }}]\n",
        peer.address
    );
    let app = TestApp::start(&upstreams).await;
    let reply = sent(&app, Method::GET, 10_000, "").await;
    assert_eq!((reply.status.as_u16(), &*reply.text()), (503, "down"));
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

#[tokio::test]
async fn calls_without_limits_go_again_after_what_the_upstream_says() {
    let peer = answering(&[THROTTLED_1S]).await;
    let app = TestApp::start(&peer.onenote()).await;
    let begun = Instant::now();
    let request = Request::get("/graph/v1.0/me")
        .body(Full::default())
        .unwrap();
    assert_eq!(send(app.gateway, request).await.status, StatusCode::OK);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(peer.counts().arrived, 2);
    app.stop().await;
}

#[tokio::test]
async fn repeats_end_and_the_last_answer_is_the_caller_s() {
    let peer = Peer::start(|_| async { UNAVAILABLE() }).await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = sent(&app, Method::GET, 3_000, "").await;
    assert_eq!((reply.status.as_u16(), &*reply.text()), (503, "down"));
    // At least 0.25, 0.5 and 1 s: the fourth, of at least 2 s, does not fit into the hold.
    assert!(
        (2..=4).contains(&peer.counts().arrived),
        "{:?}",
        peer.counts()
    );
    app.stop().await;
}

#[tokio::test]
async fn a_block_for_good_is_not_tried_again() {
    let blocked: &[Answer] = &[|| {
        let body = r#"{"code":"rate_limited","additional_data":{"rate_limit_reason":"public_api_request_blocked"}}"#;
        answer(429, &[], body)
    }];
    let peer = answering(blocked).await;
    let app = TestApp::start(&peer.onenote()).await;
    assert_eq!(
        sent(&app, Method::GET, 10_000, "").await.status.as_u16(),
        429
    );
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

#[tokio::test]
async fn only_bodies_up_to_64_kib_are_sent_again() {
    for (bytes, arrived, status) in [(64 * 1024, 2, 200), (64 * 1024 + 1, 1, 503)] {
        let peer = answering(&[UNAVAILABLE]).await;
        let app = TestApp::start(&peer.onenote()).await;
        let body: Bytes = (0..bytes).map(|n| (n % 251) as u8).collect();
        let reply = sent(&app, Method::PUT, 10_000, body.clone()).await;
        assert_eq!(reply.status.as_u16(), status);
        assert!(status != 200 || reply.body == body, "it arrived changed");
        assert_eq!(peer.counts().arrived, arrived);
        let lengths = peer.seen();
        let lengths = lengths.iter().map(|seen| &seen.headers["content-length"]);
        assert!(
            lengths
                .into_iter()
                .all(|length| *length == bytes.to_string())
        );
        app.stop().await;
    }
}

#[tokio::test]
async fn a_failure_s_long_body_passes_whole() {
    const LONG: usize = 300_000;
    let peer = Peer::start(|_| async {
        let mut answer = ok(vec![b'x'; LONG]);
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        answer
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = sent(&app, Method::GET, 10_000, "").await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (503, LONG));
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

const SERVED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell";

/// Reads a call's head, and what has come of its body.
async fn read_call(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.read_buf(&mut read).await.unwrap();
    }
    String::from_utf8(read).unwrap()
}

#[tokio::test]
async fn a_broken_connection_is_replaced_for_a_get_and_not_for_a_post() {
    for (method, arrived, status) in [(Method::GET, 3, 200), (Method::POST, 1, 502)] {
        let calls = Arc::new(AtomicUsize::new(0));
        let peer = Peer::raw(move |mut stream| {
            let n = calls.fetch_add(1, Ordering::Relaxed);
            async move {
                read_call(&mut stream).await;
                // The first breaks before its answer, the second within one that failed.
                let answer: &[u8] = match n {
                    0 => b"",
                    1 => b"HTTP/1.1 503 Down\r\nContent-Length: 10\r\n\r\ncut",
                    _ => SERVED,
                };
                stream.write_all(answer).await.unwrap();
            }
        })
        .await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = sent(&app, method, 10_000, "").await;
        assert_eq!(reply.status.as_u16(), status);
        assert_eq!(peer.counts().arrived, arrived);
        app.stop().await;
    }
}

#[tokio::test]
async fn what_was_never_written_goes_again_whatever_its_method() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let upstreams = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = 10000\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'concurrency', limit = 5 }}]\n",
        socket.local_addr().unwrap()
    );
    let app = TestApp::start(&upstreams).await;
    let gateway = app.gateway;
    let post = tokio::spawn(async move {
        let request = Request::post(PAGES).header("spillway-user", "ann");
        let request = request.body(Full::new(Bytes::from_static(b"a page")));
        send(gateway, request.unwrap()).await
    });
    // Bound but not listening, it refuses connections. A first one has been refused when the
    // call's permit is out and given back.
    let counted = async || {
        let state = app.get("/api/v1/state").await.json();
        let lane = &state["upstreams"][0]["workloads"][0]["lanes"]["foreground"];
        lane["admitted"].as_u64().unwrap()
    };
    timeout(PATIENCE, async {
        while counted().await < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    let listener = socket.listen(8).unwrap();
    let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    let call = read_call(&mut stream).await;
    assert!(call.ends_with("a page"), "{call}");
    stream.write_all(SERVED).await.unwrap();
    let reply = timeout(PATIENCE, post).await.unwrap().unwrap();
    assert_eq!((reply.status, &*reply.text()), (StatusCode::OK, "well"));
    app.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_repeats() {
    let script: &[Answer] = &[|| answer(429, &[("retry-after", "3")], "")];
    let peer = answering(script).await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let client = begin(app.gateway, "ann").await;
    until_waiting(&app, "foreground", 1).await;
    assert_eq!(peer.counts().arrived, 1);
    drop(client);
    until_waiting(&app, "foreground", 0).await;
    // The next call is the first to go when the block ends.
    assert_eq!(
        call(app.gateway, "ann", 10_000).await.status,
        StatusCode::OK
    );
    assert_eq!(peer.counts().arrived, 2);
    app.stop().await;
}
