//! What a grant costs: the engine's full promise (six layers, leases, lanes) beside the
//! peer that people reach for, which keeps one rate layer per key. `make bench` prints both
//! in one run; only their ratio means anything.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot go on ends"
)]

use std::num::NonZeroU32;

use divan::{Bencher, counter::ItemsCount};
use governor::{Quota, RateLimiter};
use spillway::{Answer, Call, Engine, Instant, Lane, Preset, Settings};

fn main() {
    divan::main();
}

/// How many users take turns.
const USERS: [usize; 3] = [1, 1_000, 50_000];

fn users(count: usize) -> Vec<String> {
    (0..count)
        .map(|n| format!("user{n}@contoso.example"))
        .collect()
}

fn engine() -> Engine {
    let settings = Settings {
        users_max: 200_000,
        waiters_max: 10_000,
        lease_ms: 120_000,
        renewals_ms_max: 900_000,
        probe_ms: 30_000,
    };
    Engine::new(
        settings,
        vec![Preset::OneNote.policy().expect("legal")],
        Instant(0),
    )
}

fn call(user: &str) -> Call {
    // An app for each user: the app's own limit would refuse all but the first few.
    Call {
        workload: 0,
        app: user.to_owned(),
        tenant: String::new(),
        user: user.to_owned(),
        lane: Lane::Foreground,
        weight: 1,
    }
}

/// Grant and end of one call, ten seconds after the user's last, so that all fit.
#[divan::bench(args = USERS)]
fn spillway_grant_and_end(bencher: Bencher, count: usize) {
    let calls: Vec<_> = users(count).iter().map(|user| call(user)).collect();
    let (mut engine, mut now, mut n) = (engine(), Instant(0), 0);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        n = (n + 1) % count;
        now = now.plus_ms(if n == 0 { 10_000 } else { 0 });
        match engine.ask(now, calls[n].clone(), now) {
            Answer::Granted(grant) => engine.complete(now, grant.permit),
            other => panic!("it fits: {other:?}"),
        }
    });
}

/// A refusal with its exact instant, against a user's full minute.
#[divan::bench]
fn spillway_refusal(bencher: Bencher) {
    let mut engine = engine();
    let now = Instant(0);
    while let Answer::Granted(grant) = engine.ask(now, call("ana"), now) {
        engine.complete(now, grant.permit);
    }
    let call = call("ana");
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| engine.ask(now, call.clone(), now));
}

/// The peer: GCRA with one rate for each key, no leases, no lanes, no promise about windows.
#[divan::bench(args = USERS)]
fn governor_check_key(bencher: Bencher, count: usize) {
    let quota = Quota::per_second(NonZeroU32::MAX);
    let limiter = RateLimiter::keyed(quota);
    let users = users(count);
    let mut n = 0;
    bencher.counter(ItemsCount::new(1_u32)).bench_local(|| {
        n = (n + 1) % count;
        limiter.check_key(&users[n])
    });
}
