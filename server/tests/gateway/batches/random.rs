//! Two thousand random batches with dependencies against a lookalike that fails by chance.
//!
//! Time runs a hundred times faster on both sides. The lookalike counts what arrives and what
//! it had to refuse by code that it shares with nobody; each written page has a title of its
//! own, so that a write that was done twice shows.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use spillway_simulator::{
    Latency, Limits, Rate, Rejected, ScopeLimits, Settings, Simulator, Windows, bearer, serve,
};
use tokio::{net::TcpListener, task::JoinSet};

use super::batch_with;
use crate::support::{Reply, TestApp, send};

const BATCHES: usize = 2_000;
const SENDERS: usize = 64;
const USERS: u64 = 100;
const SCALE: u32 = 100;
const DAY_MS: u64 = 86_400_000;

/// splitmix64: what it yields depends on the seed alone.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// `SPILLWAY_BATCH_SEED` replays one.
fn seed() -> u64 {
    let given = std::env::var("SPILLWAY_BATCH_SEED");
    let seed = given.map_or(20_261_130, |seed| seed.parse().expect("a number"));
    println!("SPILLWAY_BATCH_SEED={seed}");
    seed
}

fn limits(minute: u32, day: u32, concurrent: u32) -> ScopeLimits {
    let rate = |limit, window_ms| Rate { limit, window_ms };
    ScopeLimits {
        rates: vec![rate(minute, 60_000), rate(day, DAY_MS)],
        concurrent,
    }
}

/// The limits that both sides keep: a user's 60 a minute bind, and so do the app's 600.
fn settings(seed: u64) -> Settings {
    Settings {
        time_scale: SCALE,
        windows: Windows::Sliding,
        rejected: Rejected::Count,
        seed,
        latency: Latency {
            min_ms: 50,
            max_ms: 900,
        },
        limits: Limits {
            user: limits(60, 50_000, 25),
            app: Some(limits(600, 90_000, 600)),
        },
        faults_permille: 25,
        pages_per_section: (0, 0),
        ..Settings::default()
    }
}

fn upstream(address: std::net::SocketAddr) -> String {
    let layer = |scope: &str, limit: u32, window_ms: u64| {
        format!(
            "{{ scope = '{scope}', dimension = 'rate', window_ms = {window_ms}, limit = {limit} }}"
        )
    };
    let calls = |scope: &str, limit: u32| {
        format!("{{ scope = '{scope}', dimension = 'concurrency', limit = {limit} }}")
    };
    // The app's day comes first in its budget: it tells all that was ever charged.
    let layers = [
        layer("app", 90_000, DAY_MS),
        layer("app", 600, 60_000),
        calls("app", 600),
        layer("user", 60, 60_000),
        layer("user", 50_000, DAY_MS),
        calls("user", 25),
    ];
    format!(
        "[upstreams.graph]\nbase_url = 'http://{address}/'\npresets = ['onenote']\nhold_max_ms = 5000\n\
         [[upstreams.graph.workloads]]\nname = 'all'\npaths = ['/v1.0']\nlayers = [{}]\n",
        layers.join(", ")
    )
}

/// A batch of 1 to 20 parts; each may depend on up to two that come before it in a shuffled line.
fn random_batch(dice: &mut Dice, number: usize) -> Vec<Value> {
    let most = if dice.below(8) == 0 { 20 } else { 6 };
    let count = 1 + dice.below(most);
    let mut parts: Vec<Value> = (0..count).map(|n| random_part(dice, number, n)).collect();
    for n in 1..parts.len() {
        let on = dice.below(6).saturating_sub(3);
        let ids: BTreeSet<String> = (0..on)
            .map(|_| {
                parts[dice.below(n as u64) as usize]["id"]
                    .as_str()
                    .unwrap()
                    .to_uppercase()
            })
            .collect();
        if !ids.is_empty() {
            parts[n]["dependsOn"] = json!(ids);
        }
    }
    for n in (1..parts.len()).rev() {
        parts.swap(n, dice.below(n as u64 + 1) as usize);
    }
    parts
}

fn random_part(dice: &mut Dice, number: usize, n: u64) -> Value {
    let id = format!("b{number}-Part{n}");
    let get = |url: &str| json!({"id": id, "method": "GET", "url": url});
    match dice.below(10) {
        0..3 => get("/me/onenote/notebooks"),
        3..5 => get("/me/onenote/sections?$top=3"),
        5 => get("/me/onenote/pages/1-unknown"),
        6 => json!({"id": id, "method": "DELETE", "url": "/me/onenote/pages/1-unknown"}),
        _ => json!({
            "id": id, "method": "POST", "url": "/me/onenote/pages",
            "headers": {"Content-Type": "text/html"},
            "body": format!("<html><head><title>{id}</title></head><body></body></html>"),
        }),
    }
}

/// What became of all parts.
#[derive(Default)]
struct Tally {
    by_status: BTreeMap<u64, usize>,
    created: BTreeSet<String>,
}

/// Each part is answered once, under its own id, by a success or an explicit failure.
fn check(sent: &[Value], reply: &Reply, tally: &mut Tally) {
    assert_eq!(reply.status, 200, "{reply:?}");
    let json = reply.json();
    let responses = json["responses"].as_array().unwrap();
    let ids = |parts: &[Value]| {
        parts
            .iter()
            .map(|part| part["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(responses), ids(sent));
    for (part, told) in sent.iter().zip(responses) {
        let status = told["status"].as_u64().unwrap();
        assert!((200..600).contains(&status), "{told}");
        let created = status == 201;
        assert!(
            created == (status < 300 && part["method"] == "POST"),
            "{told}"
        );
        if created {
            assert_eq!(told["body"]["title"], part["id"]);
            tally
                .created
                .insert(part["id"].as_str().unwrap().to_owned());
        }
        if status == 429 {
            let seconds: u64 = told["headers"]["Retry-After"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=179).contains(&seconds), "{told}");
        }
        *tally.by_status.entry(status).or_default() += 1;
    }
}

/// A batch that failed as a whole is an explicit failure of each of its parts, too.
fn check_all(sent: &[Value], reply: &Reply, tally: &mut Tally) {
    if reply.status == 200 {
        return check(sent, reply, tally);
    }
    let status = u64::from(reply.status.as_u16());
    assert!(status == 429 || status >= 500, "{reply:?}");
    *tally.by_status.entry(status).or_default() += sent.len();
}

fn token(user: u64) -> String {
    format!("Bearer {}", bearer(&format!("user{user}"), "t", "app"))
}

/// How often each page was written, over all users.
async fn written(lookalike: std::net::SocketAddr) -> BTreeMap<String, usize> {
    let calm = http::Request::delete("/_sim/faults");
    let calm = send(lookalike, calm.body(Default::default()).unwrap()).await;
    assert_eq!(calm.status, 204);
    let mut titles = BTreeMap::new();
    for user in 0..USERS {
        let mut skip = 0;
        loop {
            let path = format!("/v1.0/me/onenote/pages?$top=100&$skip={skip}");
            let request = http::Request::get(path).header("authorization", token(user));
            let reply = send(lookalike, request.body(Default::default()).unwrap()).await;
            assert_eq!(reply.status, 200);
            let pages = reply.json()["value"].as_array().unwrap().clone();
            for page in &pages {
                let title = page["title"].as_str().unwrap().to_owned();
                *titles.entry(title).or_default() += 1;
            }
            skip += 100;
            if pages.len() < 100 {
                break;
            }
        }
    }
    titles
}

/// All that was ever charged to the app.
async fn charged(app: &TestApp) -> u64 {
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"]
        .as_array()
        .unwrap()
        .clone();
    let all = workloads
        .into_iter()
        .find(|it| it["name"] == "all")
        .unwrap();
    let budgets = all["budgets"].as_array().unwrap();
    let budget = budgets
        .iter()
        .find(|budget| budget["scope"] == "app")
        .unwrap();
    assert_eq!(budget["layers"][0]["window_ms"], DAY_MS);
    budget["layers"][0]["used"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_thousand_random_batches_each_part_is_answered_once_and_none_is_too_many() {
    let seed = seed();
    let simulator = Simulator::new(settings(seed)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, simulator.clone(), pending()));
    let app = Arc::new(
        TestApp::start_scaled(tempfile::tempdir().unwrap(), &upstream(address), SCALE).await,
    );

    let next = Arc::new(AtomicUsize::new(0));
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        let (app, next) = (Arc::clone(&app), Arc::clone(&next));
        senders.spawn(async move {
            let mut tally = Tally::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= BATCHES {
                    return tally;
                }
                let mut dice = Dice(seed ^ ((number as u64) << 20));
                let (user, wait_ms) = (dice.below(USERS), dice.below(1_200).to_string());
                let parts = random_batch(&mut dice, number);
                let headers = [
                    ("authorization", &*token(user)),
                    ("spillway-wait-ms", &*wait_ms),
                ];
                let reply = batch_with(&app, &headers, parts.clone()).await;
                check_all(&parts, &reply, &mut tally);
            }
        });
    }
    let mut tally = Tally::default();
    while let Some(one) = senders.join_next().await {
        let one = one.unwrap();
        for (status, count) in one.by_status {
            *tally.by_status.entry(status).or_default() += count;
        }
        tally.created.extend(one.created);
    }

    let stats = simulator.stats();
    println!(
        "{:?}; {} batches, {} parts, {} run, {} faults upstream",
        tally.by_status, stats.batches, stats.parts, stats.arrived, stats.faulted
    );
    assert_eq!(stats.rejected, 0, "no call too many");
    for budget in &stats.budgets {
        assert!(
            budget.layers.iter().all(|layer| layer.peak <= layer.limit),
            "{budget:?}"
        );
    }
    assert!(
        stats.faulted > 40 && tally.by_status[&200] > 500,
        "it was put to the test"
    );
    assert_eq!(
        charged(&app).await,
        stats.parts,
        "each part that was sent is charged once"
    );
    let written = written(address).await;
    assert!(
        written.values().all(|times| *times == 1),
        "no write is repeated: {written:?}"
    );
    let missing: Vec<_> = tally
        .created
        .iter()
        .filter(|title| !written.contains_key(*title))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    Arc::into_inner(app).unwrap().stop().await;
}
