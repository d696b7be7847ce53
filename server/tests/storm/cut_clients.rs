//! Clients that are cut or never get to their point, and an upstream that dies.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use spillway_server::open_files;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    ALONE, LOG, PATIENCE, SCALE,
    load::{Load, until_idle, until_load},
    memory,
    simulator::{Simulator, free_port},
    support::{Process, config_text},
};

const PAGES: &str = "/graph/v1.0/me/onenote/pages";

/// How much of memory the storm may need, in MiB: up to 2,000 connections at once, with a head or
/// an answer under way.
const GROWTH_MIB_MAX: u64 = 96;

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
    let address = free_port();
    let simulator = Simulator::start(address);
    simulator.stats().await;
    let upstream = format!(
        "[upstreams.graph]\nbase_url = 'http://{address}/'\npresets = ['onenote']\napp = 'note-bridge'\nhold_max_ms = 15000\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let config = config_text(dir.path(), &upstream);
    let server = Process::serve_scaled(dir.path(), &config, LOG, SCALE);
    let (gateway, dashboard) = (server.gateway, server.dashboard);
    let quiet_mib = memory::now_mib(server.id());
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
    let lingering = until_load(dashboard, Load::NONE).await;
    assert!(lingering <= 20, "more than may run at once: {lingering}");
    // They may be all that the app may have at once: then others are served when they are over.
    let mut calls = JoinSet::new();
    for user in 200..220 {
        calls.spawn(patient_client(gateway, user));
    }
    timeout(PATIENCE, calls.join_all()).await.unwrap();
    until_idle(dashboard).await;
    let (now_mib, peak_mib) = (memory::now_mib(server.id()), memory::peak_mib(server.id()));
    println!("{quiet_mib} MiB, at most {peak_mib} MiB, {now_mib} MiB in the end");
    assert!(
        peak_mib - quiet_mib < GROWTH_MIB_MAX,
        "{quiet_mib} MiB became {peak_mib}"
    );
    for stats in [before, simulator.stats().await] {
        assert_eq!(stats["rejected"], 0, "{stats}");
    }
    server.terminate();
    let (status, log) = server.wait();
    assert!(status.success() && !log.contains("panicked"), "{log}");
}
