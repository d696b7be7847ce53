//! Inputs that break limiters, from public reports; each with the report it comes from.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BlockedBy, Busy, Call, Dimension, Engine, Instant, Key, Lane, Layer, Policy, Preset,
    Refusal, Scope, Share,
};
use support::SETTINGS;

const HOUR_MS: u64 = 3_600_000;
const START: Instant = Instant(1_800_000_000_000);

fn engine(policy: Policy) -> Engine {
    Engine::new(SETTINGS, vec![policy], START)
}

fn onenote() -> Engine {
    engine(Preset::OneNote.policy().expect("legal"))
}

fn limits(layers: &[(Scope, Dimension, u32)]) -> Policy {
    let layers = layers
        .iter()
        .map(|(scope, dimension, limit)| Layer::new(*scope, *dimension, *limit).expect("legal"));
    Policy::new(layers.collect(), Share::HALF).expect("legal")
}

const fn per_minute() -> Dimension {
    Dimension::Rate { window_ms: 60_000 }
}

fn call(user: &str, lane: Lane) -> Call {
    Call {
        workload: 0,
        app: "app".into(),
        tenant: String::new(),
        user: user.into(),
        lane,
        weight: 1,
    }
}

/// Asks without waiting and ends at once; whether it went.
fn goes(engine: &mut Engine, at: Instant, user: &str) -> bool {
    match engine.ask(at, &call(user, Lane::Foreground), at) {
        Answer::Granted(grant) => {
            engine.complete(at, grant.permit);
            true
        }
        Answer::Parked(_) | Answer::Refused(_) => false,
    }
}

fn refused(answer: Answer) -> Busy {
    match answer {
        Answer::Refused(Refusal::Busy(busy)) => busy,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// Case 1 [graph-docs#3299], the engine's part: the 121st call of one user within 60 s.
#[test]
fn the_121st_call_of_a_minute_waits_for_the_minute() {
    let mut engine = onenote();
    assert!((0..120).all(|n| goes(&mut engine, START.plus_ms(n), "ana")));
    let at = START.plus_ms(200);
    let busy = refused(engine.ask(at, &call("ana", Lane::Foreground), at));
    assert_eq!(
        busy.blocked_by,
        BlockedBy::Layer {
            scope: Scope::User,
            dimension: per_minute()
        }
    );
    assert_eq!((busy.at, busy.exact), (START.plus_ms(60_031), true));
}

/// Case 29 [symfony#40705]: the user has room, the app does not.
#[test]
fn fifty_refusals_by_the_app_leave_the_users_budget_untouched() {
    let mut engine = engine(limits(&[
        (Scope::User, per_minute(), 60),
        (Scope::App, per_minute(), 10),
    ]));
    assert!((0..10).all(|_| goes(&mut engine, START, "other")));
    for n in 0..50 {
        let at = START.plus_ms(n);
        let busy = refused(engine.ask(at, &call("ana", Lane::Foreground), at));
        assert_eq!(
            busy.blocked_by,
            BlockedBy::Layer {
                scope: Scope::App,
                dimension: per_minute()
            }
        );
    }
    let view = engine.view(START.plus_ms(50), 0, None, 10);
    assert_eq!(
        view.users
            .iter()
            .map(|user| user.key.user.as_str())
            .collect::<Vec<_>>(),
        ["other"]
    );
}

/// Case 30 [plausible#6497, governor#219]: 120 calls at 59.9 s and 120 at 60.1 s; and as
/// fast as allowed from a cold start.
#[test]
fn no_sixty_seconds_ever_hold_more_than_the_limit() {
    let mut engine = onenote();
    let burst = |engine: &mut Engine, at_ms| {
        (0..120)
            .filter(|_| goes(engine, START.plus_ms(at_ms), "ana"))
            .count()
    };
    assert_eq!(burst(&mut engine, 59_900), 120);
    assert_eq!(burst(&mut engine, 60_100), 0);

    let mut cold = onenote();
    let first_minute = (0..60_000)
        .filter(|ms| goes(&mut cold, START.plus_ms(*ms), "ana"))
        .count();
    assert_eq!(first_minute, 120);
}

/// Case 31 [governor#136]: a weight above the limit hangs nobody; a limit of 0 cannot be made.
#[test]
fn what_can_never_fit_is_refused_at_once() {
    let mut engine = onenote();
    let heavy = |lane, weight| Call {
        weight,
        ..call("ana", lane)
    };
    let far = START.plus_ms(HOUR_MS);
    for (lane, weight, cap) in [(Lane::Foreground, 121, 120), (Lane::Background, 61, 60)] {
        let answer = engine.ask(START, &heavy(lane, weight), far);
        let expected = Refusal::Impossible {
            weight,
            lane,
            scope: Scope::User,
            dimension: per_minute(),
            cap,
        };
        assert_eq!(answer, Answer::Refused(expected));
    }
    assert!(matches!(
        engine.ask(START, &heavy(Lane::Background, 60), START),
        Answer::Granted(_)
    ));
    assert!(Layer::new(Scope::User, per_minute(), 0).is_err());
}

/// Case 32 [go-limiter#41]: the clock steps back two hours.
#[test]
fn a_clock_that_steps_back_frees_nothing() {
    let mut engine = onenote();
    assert!((0..120).all(|_| goes(&mut engine, START, "ana")));
    assert!(!goes(&mut engine, Instant(START.0 - 2 * HOUR_MS), "ana"));
    assert!(!goes(&mut engine, START.plus_ms(60_030), "ana"));
    assert!(goes(&mut engine, START.plus_ms(60_031), "ana"));
}

/// Case 33 [limitador#71, mcp-ts-core#405]: more users than may hold counts.
#[test]
fn a_flood_of_users_is_bounded_and_live_users_keep_their_counts() {
    let mut engine = engine(limits(&[(Scope::User, per_minute(), 5)]));
    let went = (0..5_000)
        .filter(|n| goes(&mut engine, START, &format!("user{n}")))
        .count();
    assert_eq!(went, 1_000);
    let at = START.plus_ms(1);
    let stranger = engine.ask(at, &call("stranger", Lane::Foreground), at);
    assert_eq!(
        stranger,
        Answer::Refused(Refusal::Capacity { users_max: 1_000 })
    );
    assert!(
        (0..4).all(|_| goes(&mut engine, at, "user7")),
        "a known user has the rest of its 5"
    );
    assert!(!goes(&mut engine, at, "user7"));
    assert!(
        goes(&mut engine, START.plus_ms(60_032), "stranger"),
        "idle keys have gone"
    );
    assert_eq!(
        engine.view(START.plus_ms(60_032), 0, None, 10).users_total,
        1
    );
}

/// Case 34 [rreading-glasses#452]: 100 waiters, 99 hang up.
#[test]
fn the_live_one_of_a_hundred_waiters_gets_the_next_unit() {
    let mut engine = engine(limits(&[(Scope::App, per_minute(), 1)]));
    assert!(goes(&mut engine, START, "first"));
    let parked: Vec<_> = (0..100)
        .map(|n| {
            engine.ask(
                START,
                &call(&format!("user{n}"), Lane::Foreground),
                START.plus_ms(HOUR_MS),
            )
        })
        .collect();
    for answer in &parked[..99] {
        let Answer::Parked(ticket) = answer else {
            panic!("expected to wait, got {answer:?}")
        };
        assert!(engine.cancel(START.plus_ms(10), *ticket));
    }
    engine.settle(START.plus_ms(60_031));
    let settled = engine.take_settled();
    assert!(
        matches!(&settled[..], [one] if Answer::Parked(one.ticket) == parked[99] && one.outcome.is_ok())
    );
}

/// Case 35 [envoy ratelimit#185]: a client at twice its limit is admitted at its limit.
#[test]
fn a_client_at_twice_its_limit_is_not_starved_by_its_refusals() {
    let mut engine = engine(limits(&[(Scope::User, per_minute(), 120)]));
    let went = (0..10 * 240)
        .filter(|n| goes(&mut engine, START.plus_ms(n * 250), "ana"))
        .count();
    assert!(
        (1_190..=1_200).contains(&went),
        "{went} of 1,200 in ten minutes"
    );
}

/// Case 38 [gradient#111]: one user queues 1,000 calls, another one.
#[test]
fn a_users_one_call_is_not_behind_anothers_thousand() {
    let mut engine = engine(limits(&[(Scope::App, per_minute(), 10)]));
    assert!((0..10).all(|_| goes(&mut engine, START, "first")));
    let far = START.plus_ms(HOUR_MS);
    (0..1_000).for_each(|_| {
        assert!(matches!(
            engine.ask(START, &call("many", Lane::Foreground), far),
            Answer::Parked(_)
        ))
    });
    let Answer::Parked(one) = engine.ask(START, &call("one", Lane::Foreground), far) else {
        panic!("it waits")
    };
    engine.settle(START.plus_ms(60_031));
    let order: Vec<_> = engine
        .take_settled()
        .into_iter()
        .map(|settled| settled.ticket)
        .collect();
    assert_eq!(order.len(), 10);
    assert_eq!(order[1], one, "served within a round");
}

/// The design's rule that foreground demand never starves jobs: of 20 turns one is theirs.
#[test]
fn of_twenty_turns_one_is_the_backgrounds() {
    let mut engine = engine(limits(&[(Scope::App, Dimension::Concurrency, 4)]));
    let far = START.plus_ms(HOUR_MS);
    let running: Vec<_> = (0..4)
        .map(|_| engine.ask(START, &call("first", Lane::Foreground), START))
        .collect();
    for _ in 0..200 {
        let answer = engine.ask(START, &call("person", Lane::Foreground), far);
        assert!(matches!(answer, Answer::Parked(_)));
    }
    let jobs: Vec<_> = (0..20)
        .map(|_| engine.ask(START, &call("job", Lane::Background), far))
        .collect();
    let mut order = Vec::new();
    let mut permits: Vec<_> = running
        .iter()
        .map(|answer| {
            if let Answer::Granted(grant) = answer {
                grant.permit
            } else {
                panic!("room")
            }
        })
        .collect();
    for ms in 1..=100 {
        engine.complete(START.plus_ms(ms), permits.remove(0));
        engine.settle(START.plus_ms(ms));
        for settled in engine.take_settled() {
            order.push(jobs.contains(&Answer::Parked(settled.ticket)));
            permits.push(settled.outcome.expect("granted").permit);
        }
    }
    let turns: Vec<usize> = order
        .iter()
        .enumerate()
        .filter(|(_, job)| **job)
        .map(|(n, _)| n)
        .collect();
    assert_eq!(turns, [19, 39, 59, 79, 99]);
}

/// Lost counts: every key, seen or not, is full for one window.
#[test]
fn after_a_loss_everything_is_full_for_one_window() {
    let mut engine = onenote();
    engine.assume_full(START);
    let busy = refused(engine.ask(START, &call("ana", Lane::Foreground), START));
    assert_eq!(busy.at, START.plus_ms(HOUR_MS + 1_800 + 1));
    let view = engine.view(START, 0, None, 10);
    assert_eq!(view.full_until, Some(busy.at));
    let app = Key {
        workload: 0,
        scope: Scope::App,
        app: "app".into(),
        tenant: String::new(),
        user: String::new(),
    };
    let app = engine.budget_view(START, &app).expect("known");
    let used: Vec<_> = app
        .layers
        .iter()
        .map(|layer| (layer.used.total(), layer.frees_at.is_some()))
        .collect();
    assert_eq!(used, [(240, true), (800, true), (20, true)]);
    assert!(!goes(&mut engine, Instant(busy.at.0 - 1), "unseen"));
    assert!(goes(&mut engine, busy.at, "unseen"));
    assert_eq!(engine.view(busy.at, 0, None, 10).full_until, None);
}
