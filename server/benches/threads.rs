//! What a second thread brings: calls of two apps on two threads beside those of one app on
//! one thread, through the whole driver (engine, journal on disk, waking), and on the engine
//! alone. See `limiter/shards.rs`.
//!
//! The machine may be busy with other things: what a thread waited for a processor is not
//! counted, what it waited for another's lock or for the disk is.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints its result, and ends if it cannot go on"
)]

use std::{
    fs,
    sync::Barrier,
    thread,
    time::{Duration, Instant as Clock},
};

use spillway::{
    Answer, Call, Dimension, Engine, Instant, Lane, Layer, Policy, Scope, Settings, Share,
};
use spillway_server::{
    config::Config,
    limiter::{Ask, Limiter, Limiters, Recovery},
    store::Store,
};

/// Each figure is the median of so many rounds.
const ROUNDS: usize = 15;

/// So many calls are made on each thread in a round.
const CALLS: usize = 20_000;

/// So many users of each app take turns.
const USERS: usize = 1_000;

/// Two threads have to make this many times the calls of one (at least).
const BAR: f64 = 1.7;

/// What nobody reaches here.
const WIDE: u32 = 1_000_000_000;

fn main() {
    println!("Medians of {ROUNDS} rounds of {CALLS} calls on each thread, grant and completion\n");
    println!("| | one thread, one app | two threads, two apps | two threads, one app |");
    println!("|---|---|---|---|");
    let (alone, apart, together) = driver();
    row("driver, journal on disk", [alone, apart, together]);
    let engines = [&["a"][..], &["a", "b"]].map(engines);
    println!(
        "| engine alone | {} | {} | |",
        shown(engines[0]),
        shown(engines[1])
    );
    println!();
    for (name, ratio) in [
        ("driver", apart / alone),
        ("engine", engines[1] / engines[0]),
    ] {
        println!("{name}: two apps on two threads {ratio:.2} x one (at least {BAR})");
    }
}

fn row(name: &str, figures: [f64; 3]) {
    let [alone, apart, together] = figures.map(shown);
    println!("| {name} | {alone} | {apart} | {together} |");
}

fn shown(calls_per_s: f64) -> String {
    format!("{calls_per_s:.0} calls/s")
}

/// Calls per second on one thread, on two apart, and on two that share an app.
fn driver() -> (f64, f64, f64) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let limiters = runtime.block_on(open(&folder.path().display().to_string()));
    let limiter = &limiters.all()[0];
    let mut figures = [const { Vec::new() }; 3];
    for _ in 0..=ROUNDS {
        // In turns, so that all meet the same weather.
        for (figures, apps) in figures
            .iter_mut()
            .zip([&["a"][..], &["a", "b"], &["a", "a"]])
        {
            figures.push(calls_per_s(apps, |app| drive(limiter, app)));
        }
    }
    let [alone, apart, together] = figures.map(median);
    (alone, apart, together)
}

async fn open(folder: &str) -> Limiters {
    let config = Config::parse(&format!(
        "[server]\ndatabase_url = 'sqlite://{folder}/spillway.db'\nstate_dir = '{folder}'\n\
         [upstreams.it]\nbase_url = 'http://127.0.0.1:9/'\n\
         [[upstreams.it.workloads]]\nname = 'all'\npaths = ['/']\n\
         layers = [{}]\n",
        ["user", "app"]
            .map(|scope| format!(
                "{{ scope = '{scope}', dimension = 'rate', window_ms = 60000, limit = {WIDE} }},
                 {{ scope = '{scope}', dimension = 'rate', window_ms = 3600000, limit = {WIDE} }},
                 {{ scope = '{scope}', dimension = 'concurrency', limit = 1000 }}"
            ))
            .join(", ")
            .replace('\n', " ")
    ))
    .expect("a configuration");
    let store = Store::open(&config.server.database_url)
        .await
        .expect("a database");
    Limiters::open(&config, &store, Recovery::AssumeFull, 1)
        .await
        .expect("limiters")
}

fn drive(limiter: &Limiter, app: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        for n in 0..CALLS {
            let ask = Ask {
                call: call(app, n),
                account: None,
            };
            let permit = limiter.acquire(&ask, Duration::ZERO).await;
            permit.expect("room").complete();
        }
    });
}

/// Each app's calls on an engine and a thread of its own.
fn engines(apps: &[&str]) -> f64 {
    let round = |_| {
        calls_per_s(apps, |app| {
            let (mut engine, now) = (engine(), Instant(0));
            for n in 0..CALLS {
                match engine.ask(now, &call(app, n), now) {
                    Answer::Granted(grant) => drop(engine.complete(now, grant.permit)),
                    other => panic!("it does not fit: {other:?}"),
                }
            }
        })
    };
    median((0..=ROUNDS).map(round).collect())
}

fn engine() -> Engine {
    let (minute, hour) = (60_000, 3_600_000);
    let layers = [Scope::User, Scope::App].map(|scope| {
        [
            (Dimension::Rate { window_ms: minute }, WIDE),
            (Dimension::Rate { window_ms: hour }, WIDE),
            (Dimension::Concurrency, 1_000),
        ]
        .map(|(dimension, limit)| Layer::new(scope, dimension, limit).expect("legal"))
    });
    let policy = Policy::new(layers.concat(), Share::HALF).expect("legal");
    let settings = Settings {
        users_max: 200_000,
        waiters_max: 10_000,
        lease_ms: 120_000,
        renewals_ms_max: 900_000,
        probe_ms: 30_000,
        background_turn: 20,
        global: None,
        told_ms_max: u64::MAX,
        hash_seed: 0x5eed,
    };
    Engine::new(settings, vec![policy], Instant(0))
}

fn call(app: &str, n: usize) -> Call {
    Call {
        workload: 0,
        app: app.to_owned(),
        tenant: "contoso".to_owned(),
        user: format!("{:036}", n % USERS),
        lane: Lane::Foreground,
        weight: 1,
    }
}

/// How many calls all threads make in a second, each making those of one app; what they
/// waited for a processor is no time.
fn calls_per_s(apps: &[&str], drive: impl Fn(&str) + Sync) -> f64 {
    let start = Barrier::new(apps.len());
    let timed = |app| {
        start.wait();
        let (begun, idle) = (Clock::now(), waited_for_processor());
        drive(app);
        // In this order, so that no wait is taken off that is outside the time measured.
        let waited = waited_for_processor().saturating_sub(idle);
        begun.elapsed().saturating_sub(waited)
    };
    let timed = &timed;
    let longest = thread::scope(|scope| {
        let threads: Vec<_> = apps
            .iter()
            .map(|app| scope.spawn(move || timed(app)))
            .collect();
        let times = threads.into_iter().map(|it| it.join().expect("no panic"));
        times.max().unwrap_or_default()
    });
    (apps.len() * CALLS) as f64 / longest.as_secs_f64()
}

/// How long this thread could have run, but others did. Only Linux tells; elsewhere it takes
/// an idle machine.
fn waited_for_processor() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = told.split_whitespace().nth(1);
    Duration::from_nanos(waited.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Without the first round, which fills tables and caches.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.remove(0);
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
