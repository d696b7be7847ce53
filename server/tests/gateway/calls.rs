//! Calls as clients make them, and upstreams that hold them.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::watch,
    time::{sleep, timeout},
};

use crate::support::peer::{Peer, ok};
use crate::support::{Reply, TestApp, send};

pub const PAGES: &str = "/graph/v1.0/me/onenote/pages";

/// Longer than anything here may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One call of `user` that bears to be held for `wait_ms`.
pub async fn call(gateway: SocketAddr, user: &str, wait_ms: u64) -> Reply {
    let request = Request::get(PAGES)
        .header("spillway-user", user)
        .header("spillway-wait-ms", wait_ms)
        .header("client-request-id", "mine");
    send(gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

/// An upstream whose only limit is five calls of one user at once.
pub fn five_at_once(peer: &Peer) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = 10000\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'concurrency', limit = 5 }}]\n",
        peer.address
    )
}

/// An upstream that answers nothing before its gate is open, and then what it was sent.
pub async fn gated() -> (watch::Sender<bool>, Peer) {
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
}

/// A call whose client can leave; the answer is not read.
pub async fn begin(gateway: SocketAddr, user: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let request =
        format!("GET {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nSpillway-User: {user}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

pub fn assert_blocked(reply: &Reply, by: &str) {
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS, "{reply:?}");
    assert_eq!(reply.header("spillway-blocked-by"), by);
}

/// `Retry-After`, in seconds.
pub fn seconds_told(refused: &Reply) -> u32 {
    refused.header("retry-after").parse().unwrap()
}

/// Until so many calls of a lane wait, and have for long enough to count as held.
pub async fn until_waiting(app: &TestApp, lane: &str, calls: u64) {
    let waiting = async || {
        let state = app.get("/api/v1/state").await.json();
        state["upstreams"][0]["workloads"][0]["lanes"][lane]["waiting"].as_u64()
    };
    let reached = async {
        while waiting().await.unwrap() != calls {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, reached).await.unwrap();
    sleep(Duration::from_millis(60)).await;
}
