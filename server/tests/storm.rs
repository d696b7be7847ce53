//! Crowds of bad clients and an upstream that dies: nothing is left behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener},
    process::{Child, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use spillway_server::open_files;
use support::{
    Process, TestApp, config_text,
    peer::{Peer, ok},
    send, spillway,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Mutex, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

/// Longer than any single step may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// One storm at a time: each needs the machine for itself.
static ALONE: Mutex<()> = Mutex::const_new(());

const PAGES: &str = "/graph/v1.0/me/onenote/pages";

/// How many times faster than the wall clock limits and permits run in the storm.
const SCALE: u32 = 300;

/// The real lookalike, in a process of its own; killed when dropped.
struct Simulator {
    child: Child,
    address: SocketAddr,
}

impl Simulator {
    fn start(address: SocketAddr) -> Self {
        let child = spillway()
            .args(["simulate", "--listen", &address.to_string()])
            .args(["--time-scale", &SCALE.to_string(), "--log", "warn"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address }
    }

    /// Its score, as soon as it answers.
    async fn stats(&self) -> Value {
        let asked = async {
            while TcpStream::connect(self.address).await.is_err() {
                sleep(Duration::from_millis(10)).await;
            }
            let request = Request::get("/_sim/stats").body(Full::default()).unwrap();
            send(self.address, request).await.json()
        };
        timeout(PATIENCE, asked).await.unwrap()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free, and was not used before.
fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Xorshift: the same storm every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A call of user `n`, its head without the end.
fn head(gateway: SocketAddr, method: &str, n: u64) -> String {
    let bearer = spillway_simulator::bearer(&format!("user-{n}"), "tenant", "note-bridge");
    format!("{method} {PAGES} HTTP/1.1\r\nHost: {gateway}\r\nAuthorization: Bearer {bearer}\r\n")
}

async fn say(gateway: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Clients that never get to their point, each in its own way: they say nothing, begin
/// HTTP/2, half a head, half a body (half of what the app may have at once), or do not read.
async fn slow_loris(gateway: SocketAddr) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for n in 0..1_000 {
        let text = match n {
            0..10 => head(gateway, "POST", 1_000 + n % 2) + "Content-Length: 1000\r\n\r\nhalf",
            10..50 => head(gateway, "GET", 1_002 + n % 8) + "\r\n",
            50..350 => head(gateway, "GET", n),
            350..650 => "PRI * HTTP/2.0\r\n".to_owned(),
            _ => String::new(),
        };
        all.push(say(gateway, &text).await);
    }
    all
}

/// What the overview says of the only workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    /// Calls of the app that run.
    running: u64,
    /// Its calls whose end nobody knows: their permits are kept until they expire.
    lingering: u64,
    /// Callers who wait.
    waiting: u64,
}

impl Load {
    const NONE: Self = Self::of(0, 0);

    const fn of(running: u64, waiting: u64) -> Self {
        Self {
            running,
            lingering: 0,
            waiting,
        }
    }
}

async fn load(dashboard: SocketAddr) -> Load {
    let request = Request::get("/api/v1/state").body(Full::default()).unwrap();
    let state = send(dashboard, request).await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let workload = workloads.iter().find(|it| it["name"] != "_global").unwrap();
    let budgets = workload["budgets"].as_array().unwrap();
    let app = budgets.iter().find(|it| it["scope"] == "app");
    let layers = app.map_or(&[][..], |app| app["layers"].as_array().unwrap());
    let at_once = layers.iter().find(|it| it["dimension"] == "concurrency");
    let count = |name: &str| at_once.map_or(0, |it| it[name].as_u64().unwrap_or(0));
    let waiting = |lane: &str| workload["lanes"][lane]["waiting"].as_u64().unwrap();
    Load {
        running: count("used") - count("lingering"),
        lingering: count("lingering"),
        waiting: waiting("foreground") + waiting("background"),
    }
}

/// Waits for calls that run and callers who wait; says how many permits linger then.
async fn until_load(dashboard: SocketAddr, wanted: Load) -> u64 {
    let mut seen = Load::NONE;
    let reached = async {
        loop {
            seen = load(dashboard).await;
            if (seen.running, seen.waiting) == (wanted.running, wanted.waiting) {
                return seen.lingering;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = timeout(PATIENCE, reached).await;
    reached.unwrap_or_else(|_| panic!("{seen:?}, not {wanted:?}"))
}

/// A call that is cut after `cut`, or read to its end: its answer's status, if it was read.
async fn client(gateway: SocketAddr, user: u64, cut: Option<Duration>) -> Option<u16> {
    let head = head(gateway, "GET", user) + "Connection: close\r\n\r\n";
    let mut stream = say(gateway, &head).await;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    match cut {
        Some(after) => drop(timeout(after, read).await),
        None => drop(read.await.unwrap()),
    }
    let answer = String::from_utf8_lossy(&answer);
    let status = || answer.get(9..12)?.parse().ok();
    let status = cut.is_none().then(status)?;
    assert!(
        status != Some(429) || answer.contains("\r\nretry-after: "),
        "{answer}"
    );
    Some(status.unwrap_or_default())
}

/// A client that comes again until it is served.
async fn patient_client(gateway: SocketAddr, user: u64) {
    while client(gateway, user, None).await != Some(200) {
        sleep(Duration::from_millis(100)).await;
    }
}

/// How many panics there will have been in this process, those of tasks included.
fn count_panics() -> &'static AtomicUsize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        told(panic);
    }));
    &PANICS
}

fn tally(statuses: impl Iterator<Item = u16>) -> BTreeMap<u16, usize> {
    let mut tally = BTreeMap::new();
    for status in statuses {
        *tally.entry(status).or_default() += 1;
    }
    tally
}

/// Case 39 [conjure-java-runtime#1147] and worse: the upstream dies while calls run, and a
/// thousand slow clients hold on to whatever they can get.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cut_clients_and_a_killed_upstream_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    open_files::raise();
    let panics = count_panics();
    let address = free_port();
    let simulator = Simulator::start(address);
    simulator.stats().await;
    let upstream = format!(
        "[upstreams.graph]\nbase_url = 'http://{address}/'\npresets = ['onenote']\napp = 'note-bridge'\nhold_max_ms = 15000\n"
    );
    let app = TestApp::start_scaled(tempfile::tempdir().unwrap(), &upstream, SCALE).await;
    let gateway = app.gateway;
    let loris = slow_loris(gateway).await;

    let mut random = Random(39);
    let mut clients = JoinSet::new();
    for n in 0..1_000 {
        let cut = (n % 2 == 0).then(|| Duration::from_millis(random.below(300)));
        let begins = Duration::from_millis(random.below(4_000));
        clients.spawn(async move {
            sleep(begins).await;
            client(gateway, n % 100, cut).await
        });
    }
    sleep(Duration::from_secs(2)).await;
    let before = simulator.stats().await;
    drop(simulator);
    sleep(Duration::from_millis(300)).await;
    let simulator = Simulator::start(address);
    let ended = timeout(PATIENCE, clients.join_all()).await.unwrap();
    let answers = tally(ended.into_iter().flatten());
    println!("{answers:?}");
    // How many are served depends on when the upstream is tried again. The others are told
    // when to come, or that the upstream is gone; nobody is just cut off.
    assert!(answers.contains_key(&200), "{answers:?}");
    let told = [200, 429, 502, 503, 504];
    assert!(answers.keys().all(|it| told.contains(it)), "{answers:?}");

    drop(loris);
    // Nothing runs and nobody waits. Of the bodies that were cut, and of the calls that ran
    // when the upstream died, nobody knows the end: two minutes, as for every such call.
    let lingering = until_load(app.dashboard, Load::NONE).await;
    assert!(lingering <= 10 + 20, "{lingering}");
    // Every slot that does not linger is usable.
    let mut calls = JoinSet::new();
    for user in 200..220 {
        calls.spawn(patient_client(gateway, user));
    }
    timeout(PATIENCE, calls.join_all()).await.unwrap();
    let still = until_load(app.dashboard, Load::NONE).await;
    assert!(still <= lingering, "{still}");
    assert_eq!(panics.load(Ordering::Relaxed), 0, "somebody panicked");
    for stats in [before, simulator.stats().await] {
        assert_eq!(stats["rejected"], 0, "{stats}");
    }
    app.stop().await;
}

/// What a process holds in memory, in MiB.
fn memory_mib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() / 1_024
}

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
    let server = Process::serve_logging(dir.path(), &config, "warn,spillway_server::serve=info");
    let (gateway, dashboard) = (server.gateway, server.dashboard);
    let before = memory_mib(server.id());

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
    let full = memory_mib(server.id());
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
    assert!(memory_mib(server.id()) <= full + 20, "it grows with use");

    server.terminate();
    let (status, log) = server.wait();
    assert!(status.success() && !log.contains("panicked"), "{log}");
}
