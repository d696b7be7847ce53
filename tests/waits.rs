//! What refused callers are told, and what becomes of them when they do as told.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, Busy, Call, Dimension, Engine, Instant, Lane, Layer, Policy, Refusal, Scope, Share,
};
use support::SETTINGS;

const START: Instant = Instant(1_800_000_000_000);
const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };

/// 60.031 s: a minute, stretched.
const SPAN_MS: u64 = 60_031;

fn engine(scope: Scope, limit: u32) -> Engine {
    let layer = Layer::new(scope, MINUTE, limit).expect("legal");
    let policy = Policy::new(vec![layer], Share::HALF).expect("legal");
    Engine::new(SETTINGS, vec![policy], START)
}

fn call(user: &str) -> Call {
    Call {
        workload: 0,
        app: "app".into(),
        tenant: String::new(),
        user: user.into(),
        lane: Lane::Foreground,
        weight: 1,
    }
}

/// Asks without waiting; a call that goes ends at once.
fn ask(engine: &mut Engine, at: Instant, user: &str) -> Result<(), Busy> {
    match engine.ask(at, &call(user), at) {
        Answer::Granted(grant) => {
            engine.complete(at, grant.permit);
            Ok(())
        }
        Answer::Refused(Refusal::Busy(busy)) => Err(busy),
        other => panic!("unexpected {other:?}"),
    }
}

/// One call a second until the minute is full.
fn fill(engine: &mut Engine, user: &str, limit: u64) -> Instant {
    for second in 0..limit {
        assert_eq!(ask(engine, START.plus_ms(second * 1_000), user), Ok(()));
    }
    START.plus_ms((limit - 1) * 1_000)
}

/// Fifty callers are refused together and return exactly when told.
fn return_as_told(engine: &mut Engine, now: Instant, user: impl Fn(usize) -> String) -> usize {
    let mut told: Vec<_> = (0..50)
        .map(|n| (ask(engine, now, &user(n)).expect_err("full").at, n))
        .collect();
    told.sort_unstable();
    told.into_iter()
        .filter(|(at, n)| ask(engine, *at, &user(*n)).is_ok())
        .count()
}

#[test]
fn fifty_callers_refused_together_find_room_when_they_return_as_told() {
    let mut shared = engine(Scope::App, 60);
    let now = fill(&mut shared, "somebody", 60);
    assert!(return_as_told(&mut shared, now, |n| format!("user{n}")) >= 45);

    let mut own = engine(Scope::User, 60);
    let now = fill(&mut own, "ana", 60);
    assert!(return_as_told(&mut own, now, |_| "ana".to_owned()) >= 45);
}

#[test]
fn the_first_is_told_exactly_and_each_other_one_call_later() {
    let mut engine = engine(Scope::App, 60);
    let now = fill(&mut engine, "somebody", 60);
    for n in 0..10 {
        let busy = ask(&mut engine, now, &format!("user{n}")).expect_err("full");
        assert_eq!(
            (busy.at, busy.exact),
            (START.plus_ms(n * 1_000 + SPAN_MS), n == 0)
        );
    }
}

/// A polls a hundred times a second for ten seconds; B, refused once, stands behind one.
#[test]
fn who_polls_wildly_pushes_nobody() {
    let mut engine = engine(Scope::App, 60);
    let full = fill(&mut engine, "somebody", 60);
    let mut now = full;
    for n in 0..1_000 {
        now = full.plus_ms(n);
        ask(&mut engine, now, "a").expect_err("full");
    }
    let busy = ask(&mut engine, now, "b").expect_err("full");
    assert_eq!(
        busy.at,
        START.plus_ms(1_000 + SPAN_MS),
        "when two more calls fit"
    );
}

#[test]
fn places_never_add_more_than_one_window_and_end_by_themselves() {
    let mut engine = engine(Scope::User, 60);
    let now = fill(&mut engine, "ana", 60);
    for _ in 0..3_000 {
        let busy = ask(&mut engine, now, "ana").expect_err("full");
        assert!(busy.at <= START.plus_ms(2 * SPAN_MS), "{busy:?}");
    }
    let later = START.plus_ms(2 * SPAN_MS + 1);
    assert!(
        (0..60).all(|_| ask(&mut engine, later, "ana").is_ok()),
        "places reserve nothing"
    );
}

/// Five connections broke: the calls may still run, and only their leases' end frees the slots.
#[test]
fn where_only_expiries_free_a_slot_the_wait_is_theirs() {
    let layer = Layer::new(Scope::User, Dimension::Concurrency, 5).expect("legal");
    let policy = Policy::new(vec![layer], Share::HALF).expect("legal");
    let mut engine = Engine::new(SETTINGS, vec![policy], START);
    for second in 0..5 {
        let at = START.plus_ms(second * 1_000);
        let Answer::Granted(grant) = engine.ask(at, &call("ana"), at) else {
            panic!("there is room")
        };
        engine.abandon(at, grant.permit);
    }
    let now = START.plus_ms(10_000);
    let busy = ask(&mut engine, now, "ana").expect_err("full");
    assert_eq!(busy.at, START.plus_ms(120_000));
    let view = engine.view(now, 0, None, 1);
    let layer = view.users[0].layers[0];
    assert_eq!((layer.lingering, layer.frees_at), (5, Some(busy.at)));
    assert_eq!(ask(&mut engine, busy.at, "ana"), Ok(()));
}
