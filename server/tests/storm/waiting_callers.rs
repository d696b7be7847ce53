//! More callers than anybody serves.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, sync::watch, task::JoinSet, time::timeout};

use crate::{
    ALONE, LOG, PATIENCE,
    load::{Load, until_load},
    memory,
    support::{
        Process, config_text,
        peer::{Peer, ok},
    },
};

/// One client with a hundred calls on one HTTP/2 connection.
async fn connect(gateway: SocketAddr) -> SendRequest<Full<Bytes>> {
    let io = TokioIo::new(TcpStream::connect(gateway).await.unwrap());
    let opened = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (sender, connection) = opened.unwrap();
    tokio::spawn(connection);
    sender
}

async fn held_call(
    mut to: SendRequest<Full<Bytes>>,
    gateway: SocketAddr,
    user: usize,
) -> StatusCode {
    let request = Request::get(format!("http://{gateway}/graph/v1.0/x"))
        .header("spillway-user", format!("user-{user}"));
    let request = request.body(Full::default()).unwrap();
    to.ready().await.unwrap();
    let response = to.send_request(request).await.unwrap();
    let status = response.status();
    drop(response.into_body().collect().await);
    status
}

/// The connections that stay, and those that leave.
const STAYING: usize = 10;
const LEAVING: usize = 90;
const CALLS_EACH: usize = 100;

/// How much of memory ten thousand waiting callers may need, in MiB: 15 KiB for each with its
/// share of a connection were measured without optimisation.
const WAITERS_MIB_MAX: u64 = 256;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_callers_wait_and_cost_little_and_whoever_is_left_is_served() {
    let _alone = ALONE.lock().await;
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
    let upstream = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nuser_from = 'header'\nhold_max_ms = 120000\n\
         [[upstreams.graph.workloads]]\nname = 'all'\npaths = ['/']\n\
         layers = [{{ scope = 'app', dimension = 'concurrency', limit = 20 }}]\n",
        peer.address
    );
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), &upstream);
    let server = Process::serve_logging(dir.path(), &config, LOG);
    let (gateway, dashboard) = (server.gateway, server.dashboard);
    let before = memory::now_mib(server.id());

    let mut waiting = [JoinSet::new(), JoinSet::new()];
    let mut leaving = Vec::new();
    for n in 0..STAYING + LEAVING {
        let client = connect(gateway).await;
        let stays = usize::from(n >= STAYING);
        for call in 0..CALLS_EACH {
            // Those who stay are users of their own, so that nobody's turn is another's.
            waiting[stays].spawn(held_call(client.clone(), gateway, n * CALLS_EACH + call));
        }
        leaving.push(client);
    }
    until_load(dashboard, Load::of(20, 9_980)).await;
    let full = memory::now_mib(server.id());
    println!("{before} MiB, with 10,000 callers {full} MiB");
    assert!(
        full - before < WAITERS_MIB_MAX,
        "{before} MiB became {full}"
    );

    let [staying, mut left] = waiting;
    left.abort_all();
    while left.join_next().await.is_some() {}
    drop(leaving);
    let staying_calls = (STAYING * CALLS_EACH) as u64;
    until_load(dashboard, Load::of(20, staying_calls - 20)).await;
    gate.send_replace(true);
    let served = timeout(PATIENCE, staying.join_all()).await.unwrap();
    assert!(served.iter().all(|status| *status == StatusCode::OK));
    assert_eq!(until_load(dashboard, Load::NONE).await, 0);
    assert_eq!(peer.counts().peak, 20);
    assert!(
        memory::now_mib(server.id()) <= full + 20,
        "it grows with use"
    );

    server.terminate();
    let (status, log) = server.wait();
    assert!(status.success() && !log.contains("panicked"), "{log}");
}
