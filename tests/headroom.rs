//! What callers are told is left, and what becomes of leases that outlive a restart overdue.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use spillway::{
    Answer, Call, Dimension, Ended, Engine, Headroom, Instant, Lane, Layer, Permit, Policy, Scope,
    Settings, Share,
};

const START: Instant = Instant(1_800_000_000_000);
const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };
const HOUR: Dimension = Dimension::Rate {
    window_ms: 3_600_000,
};

/// 60.031 s: a minute, stretched.
const SPAN_MS: u64 = 60_031;

const LEASE_MS: u64 = 120_000;

fn engine(layers: &[(Scope, Dimension, u32)]) -> Engine {
    let settings = Settings {
        users_max: 1_000,
        waiters_max: 100,
        lease_ms: LEASE_MS,
        renewals_ms_max: 900_000,
        probe_ms: 30_000,
        background_turn: 20,
        global: None,
        told_ms_max: u64::MAX,
        hash_seed: 7,
    };
    let layers = layers
        .iter()
        .map(|(scope, dimension, limit)| Layer::new(*scope, *dimension, *limit).expect("legal"));
    let policy = Policy::new(layers.collect(), Share::HALF).expect("legal");
    Engine::new(settings, vec![policy], START)
}

fn call(lane: Lane) -> Call {
    Call {
        workload: 0,
        app: "app".into(),
        tenant: String::new(),
        user: "ann".into(),
        lane,
        weight: 1,
    }
}

fn grant(engine: &mut Engine, at: Instant, lane: Lane) -> Permit {
    match engine.ask(at, &call(lane), at) {
        Answer::Granted(grant) => grant.permit,
        other => panic!("unexpected {other:?}"),
    }
}

fn left(engine: &mut Engine, at: Instant, lane: Lane) -> (Dimension, u32, u32, Option<u64>) {
    let Headroom {
        dimension,
        limit,
        remaining,
        more_in_ms,
        ..
    } = engine.headroom(at, &call(lane)).expect("limited");
    (dimension, limit, remaining, more_in_ms)
}

#[test]
fn the_tightest_rate_is_told_and_when_more_comes_back() {
    let mut engine = engine(&[
        (Scope::User, MINUTE, 10),
        (Scope::User, HOUR, 10),
        (Scope::App, MINUTE, 9),
        (Scope::App, Dimension::Concurrency, 1),
    ]);
    let fresh = engine
        .headroom(START, &call(Lane::Foreground))
        .expect("limited");
    assert_eq!((fresh.scope, fresh.remaining), (Scope::App, 9));
    let permit = grant(&mut engine, START, Lane::Foreground);
    // It runs: nothing can come back before a whole window has passed.
    assert_eq!(
        left(&mut engine, START, Lane::Foreground),
        (MINUTE, 9, 8, Some(SPAN_MS))
    );
    engine.complete(START.plus_ms(500), permit);
    assert_eq!(
        left(&mut engine, START.plus_ms(1_500), Lane::Foreground),
        (MINUTE, 9, 8, Some(SPAN_MS - 1_000))
    );
    // A minute later only the hour remembers it; equally little is left of the app's minute.
    let later = START.plus_ms(500 + SPAN_MS);
    assert_eq!(left(&mut engine, later, Lane::Foreground).0, HOUR);
}

#[test]
fn background_is_told_its_share_and_a_concurrency_only_where_no_rate_limits() {
    let mut rates = engine(&[(Scope::User, MINUTE, 10)]);
    let permit = grant(&mut rates, START, Lane::Background);
    rates.complete(START, permit);
    assert_eq!(
        left(&mut rates, START, Lane::Background),
        (MINUTE, 5, 4, Some(SPAN_MS))
    );
    let mut slots = engine(&[(Scope::User, Dimension::Concurrency, 5)]);
    grant(&mut slots, START, Lane::Foreground);
    assert_eq!(
        left(&mut slots, START, Lane::Foreground),
        (Dimension::Concurrency, 5, 4, None)
    );
}

#[test]
fn lost_counts_leave_nothing_and_asking_charges_nobody() {
    let mut engine = engine(&[(Scope::User, MINUTE, 10)]);
    engine.assume_full(START);
    assert_eq!(
        left(&mut engine, START.plus_ms(31), Lane::Foreground),
        (MINUTE, 10, 0, Some(60_000))
    );
    assert_eq!(engine.view(START, 0, None, 10).users_total, 0);
    assert_eq!(
        left(&mut engine, START.plus_ms(SPAN_MS), Lane::Foreground).2,
        10
    );
}

#[test]
fn an_overdue_lease_that_is_taken_over_lands_once_more_and_only_until_it_is_forgotten() {
    let mut before = engine(&[(Scope::User, MINUTE, 10)]);
    let permit = grant(&mut before, START, Lane::Foreground);
    let expired = START.plus_ms(LEASE_MS);
    before.settle(expired);
    assert_eq!(before.lease(permit), None);
    let overdue = before.overdue(permit).cloned().expect("remembered");

    for (late_ms, ended) in [(0, Ended::Overrun), (15 * 60_000, Ended::Unknown)] {
        let mut after = engine(&[(Scope::User, MINUTE, 10)]);
        after.restore_overdue(overdue.clone());
        let at = expired.plus_ms(late_ms);
        after.settle(at);
        assert_eq!(after.complete(at, permit), ended);
        assert_eq!(after.complete(at, permit), Ended::Unknown, "once");
        let counted = u32::from(ended == Ended::Overrun);
        assert_eq!(left(&mut after, at, Lane::Foreground).2, 10 - counted);
    }
}
