//! `kill -9` in the middle of the work, and what passes after the restart.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod floods;
#[path = "../support/mod.rs"]
mod support;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use support::{Process, config_text, peer::Peer, send};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// How many callers ask at once: some calls are always on their way when the kill comes.
const CALLERS: usize = 8;

const PAGES: &str = "/graph/v1.0/me/onenote/pages";

fn call() -> Request<Full<Bytes>> {
    Request::get(PAGES)
        .header("spillway-user", "ana")
        .header("spillway-wait-ms", "0")
        .body(Full::default())
        .unwrap()
}

/// 400 an hour for each user and nothing else, so that an hour's calls fit into a second.
fn upstream(peer: &Peer) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nuser_from = 'header'\n\
         [[upstreams.graph.workloads]]\nname = 'hourly'\npaths = ['/v1.0/**']\nbackground_share_permille = 500\n\
         layers = [{{ scope = 'user', dimension = 'rate', window_ms = 3600000, limit = 400 }}]\n",
        peer.address
    )
}

/// Case 36 [nvcf#975]: the process dies within milliseconds of the 390th grant of 400 an
/// hour. After the restart at most 10 more pass, whatever was under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kill_9_at_the_390th_grant_at_most_10_more_pass() {
    let peer = Peer::start(|_| async {
        tokio::time::sleep(Duration::from_millis(2)).await;
        Response::new(Full::new(Bytes::from_static(b"{}")).boxed())
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), &upstream(&peer));
    let process = Process::serve(dir.path(), &config);
    let gateway = process.gateway;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        // Until the server is gone.
        callers.spawn(async move { while passes(gateway).await {} });
    }
    peer.until(|counts| counts.arrived >= 390).await;
    let seen = Instant::now();
    process.kill();
    println!(
        "killed {:?} after the upstream saw the 390th call",
        seen.elapsed()
    );
    callers.shutdown().await;
    let before = peer.counts().arrived;

    let restarted = Process::serve(dir.path(), &config);
    let mut passed = 0;
    for _ in 0..100 {
        let reply = send(restarted.gateway, call()).await;
        match reply.status {
            StatusCode::OK => passed += 1,
            StatusCode::TOO_MANY_REQUESTS => {
                assert_eq!(reply.header("spillway-blocked-by"), "user/rate/3600s")
            }
            other => panic!("{other}: {}", reply.text()),
        }
    }
    println!("{before} before, {passed} after");
    assert!(
        passed <= 10 && before + passed <= 400,
        "{before} before, {passed} after"
    );
    restarted.terminate();
    assert!(restarted.wait().0.success());
}

async fn operate(process: &Process, path: &str, body: &str) -> StatusCode {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Full::from(body.to_owned())).unwrap();
    send(process.dashboard, request).await.status
}

async fn blocked_by(process: &Process, lane: &str, user: &str) -> String {
    let mut call = call();
    call.headers_mut()
        .insert("spillway-lane", lane.parse().unwrap());
    call.headers_mut()
        .insert("spillway-user", user.parse().unwrap());
    let reply = send(process.gateway, call).await;
    reply.header("spillway-blocked-by").to_owned()
}

/// What an operator has stopped stays stopped, and what was let go again goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_and_forced_breakers_survive_kill_9() {
    let peer = Peer::start(|_| async { Response::new(Full::default().boxed()) }).await;
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), &upstream(&peer));
    let lane = |what: &str| format!("/api/v1/lanes/graph/background/{what}");
    let breaker = |what: &str| format!("/api/v1/breakers/graph/hourly/{what}");
    let ben = r#"{"scope":"user","user":"ben","reason":"test"}"#;
    let everybody = r#"{"reason":"test"}"#;

    let process = Process::serve(dir.path(), &config);
    for (path, body) in [(lane("pause"), everybody), (breaker("open"), ben)] {
        assert_eq!(operate(&process, &path, body).await, StatusCode::OK);
    }
    process.kill();

    let process = Process::serve(dir.path(), &config);
    assert_eq!(blocked_by(&process, "background", "ana").await, "paused");
    assert_eq!(
        blocked_by(&process, "foreground", "ben").await,
        "user/breaker"
    );
    assert_eq!(blocked_by(&process, "foreground", "ana").await, "");
    let resumed = operate(&process, &lane("resume"), everybody).await;
    assert_eq!(resumed, StatusCode::NO_CONTENT);
    let reset = operate(&process, &breaker("reset"), ben).await;
    assert_eq!(reset, StatusCode::OK);
    process.kill();

    let process = Process::serve(dir.path(), &config);
    for (lane, user) in [("background", "ana"), ("foreground", "ben")] {
        assert_eq!(blocked_by(&process, lane, user).await, "", "{user}");
    }
    assert_eq!(peer.counts().arrived, 3);
    process.terminate();
    let (status, log) = process.wait();
    assert!(status.success(), "{log}");
}

/// Whether a call came back at all: the server may be killed under it.
async fn passes(gateway: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(gateway).await else {
        return false;
    };
    let call = format!(
        "GET {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nSpillway-User: ana\r\nSpillway-Wait-Ms: 0\r\nConnection: close\r\n\r\n"
    );
    let mut answer = Vec::new();
    stream.write_all(call.as_bytes()).await.is_ok()
        && stream.read_to_end(&mut answer).await.is_ok()
        && answer.starts_with(b"HTTP/1.1 200")
}
