//! Those who follow the live state: one that reads nothing delays nobody else, and finds what is
//! true when it reads again.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use crate::lists::post;
use crate::support::TestApp;

/// As wide that all of it can change all the time.
const WIDE: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'rate', window_ms = 3600000, limit = 1000000 },\n\
    { scope = 'app', dimension = 'rate', window_ms = 3600000, limit = 10000000 }]\n";

/// As many as the state names.
const USERS: usize = 50;

/// How many readers there are that read.
const READERS: usize = 20;

/// How many events each of them gets before the other reads on: ten seconds' worth.
const EVENTS: usize = 40;

/// Four events a second are to come; on a busy machine one may be late.
const GAP_MAX: Duration = Duration::from_millis(2_000);

const PATIENCE: Duration = Duration::from_secs(60);

/// A stream of events.
struct Reader(BufReader<TcpStream>);

impl Reader {
    /// Opens it. Few bytes find room between the two ends, so that a reader who sleeps is noticed.
    async fn open(to: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(to).await.unwrap();
        let request = format!("GET /api/v1/live HTTP/1.1\r\nHost: {to}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event's name and what it says.
    async fn event(&mut self) -> (String, Value) {
        let (mut name, mut line) = (String::new(), Vec::new());
        loop {
            line.clear();
            let read = timeout(PATIENCE, self.0.read_until(b'\n', &mut line)).await;
            assert_ne!(read.unwrap().unwrap(), 0, "the stream ended");
            let line = String::from_utf8_lossy(&line);
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim_end().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap());
            }
        }
    }
}

/// Takes permits for all users, again and again.
async fn stir(to: &TestApp, mut done: watch::Receiver<bool>) {
    let wanted = |n| json!({ "upstream": "graph", "workload": "pages", "user": user(n) });
    let wanted = Value::from_iter((0..USERS).map(wanted)).to_string();
    while !*done.borrow_and_update() {
        let reply = post(to, "/api/v1/permits", &[], &wanted).await;
        assert!(reply.status.is_success(), "{reply:?}");
        // Every look finds all of it changed.
        let _ = timeout(Duration::from_millis(100), done.changed()).await;
    }
}

/// A name that makes events long.
fn user(n: usize) -> String {
    format!("{n:02}-{}", "x".repeat(190))
}

async fn read(to: SocketAddr) -> Duration {
    let mut reader = Reader::open(to).await;
    assert_eq!(reader.event().await.0, "snapshot");
    let (mut last, mut gap) = (Instant::now(), Duration::ZERO);
    for _ in 0..EVENTS {
        let (name, _) = reader.event().await;
        assert_eq!(name, "delta", "who reads all gets what changes");
        gap = gap.max(last.elapsed());
        last = Instant::now();
    }
    gap
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_reads_nothing_delays_nobody_and_finds_what_is_true_when_it_reads_again() {
    let app = TestApp::start(WIDE).await;
    let mut sleeper = Reader::open(app.dashboard).await;
    let (name, first) = sleeper.event().await;
    assert_eq!(name, "snapshot");
    let (tell, done) = watch::channel(false);
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        readers.spawn(read(app.dashboard));
    }
    let reading = async {
        let mut worst = Duration::ZERO;
        while let Some(gap) = readers.join_next().await {
            worst = worst.max(gap.unwrap());
        }
        tell.send(true).unwrap();
        worst
    };
    let (worst, ()) = tokio::join!(reading, stir(&app, done));
    assert!(worst <= GAP_MAX, "somebody waited {worst:?} for an event");

    // Whatever it missed, it gets to what is true now by itself.
    let now = app.get("/api/v1/state").await.json();
    let now = now["as_of"].as_str().unwrap();
    let mut events = 0;
    loop {
        let (_, state) = sleeper.event().await;
        if state["as_of"].as_str().unwrap() >= now {
            break;
        }
        events += 1;
    }
    println!("{events} events were on their way; the others waited {worst:?} at most");
    assert!(now > first["as_of"].as_str().unwrap());
    app.stop().await;
}
