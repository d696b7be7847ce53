//! Breakers in the engine: whom a 429 stops, for how long, and that nothing stays wedged.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BlockedBy, Ended, Engine, Instant, Key, Lane, Permit, Preset, Reason, Refusal, Scope,
    Signal, Status, Verdict,
};
use support::SETTINGS;
use support::moods::{
    APP, BOTH, BREAKER_OF_APP, BREAKER_OF_USER, FINE, START, USER, World, call, recover, signal,
    throttled,
};

#[test]
fn a_users_429_leaves_others_untouched_and_an_apps_stops_all() {
    let mut world = World::new();
    assert_eq!(world.call("ana", &throttled(Some(USER), Some(20_000))), 1);
    let busy = world.refused("ana");
    assert_eq!(
        (busy.blocked_by, busy.at, busy.exact),
        (BREAKER_OF_USER, world.now.plus_ms(20_000), true)
    );
    world.call("ben", &FINE);

    assert_eq!(world.call("ben", &throttled(Some(APP), Some(5_000))), 1);
    assert_eq!(world.refused("cid").blocked_by, BREAKER_OF_APP);
    // Both stand in ana's way: she is told the longer wait.
    assert_eq!(world.refused("ana").at, START.plus_ms(20_000));
    world.pass_ms(5_000);
    world.call("cid", &FINE);
    assert_eq!(world.refused("ana").blocked_by, BREAKER_OF_USER);
}

/// The cool-downs of a user whose probes all fail, and the first one again after it recovered.
#[test]
fn cool_downs_grow_by_one_ladder_and_begin_anew() {
    let mut world = World::new();
    for wait_ms in [
        1_000, 2_000, 30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000,
    ] {
        assert_eq!(world.call("ana", &throttled(None, None)), 1);
        assert_eq!(world.refused("ana").at, world.now.plus_ms(wait_ms));
        world.pass_ms(wait_ms - 1);
        world.refused("ana");
        world.pass_ms(1);
    }
    recover(&mut world, "ana");
    world.call("ana", &throttled(None, None));
    assert_eq!(world.refused("ana").at, world.now.plus_ms(1_000));
}

#[test]
fn echoes_of_one_throttling_trip_once_and_only_an_explicit_wait_lengthens_it() {
    let mut world = World::new();
    let permits: Vec<_> = (0..5).map(|_| world.go("ana")).collect();
    assert_eq!(world.answer(permits[0], &throttled(None, None)), 1);
    assert_eq!(world.answer(permits[1], &throttled(None, None)), 0);
    assert_eq!(world.refused("ana").at, START.plus_ms(1_000));
    // A success that was granted before the trip proves nothing.
    world.answer(permits[2], &FINE);
    assert_eq!(world.refused("ana").at, START.plus_ms(1_000));
    assert_eq!(world.answer(permits[3], &throttled(None, Some(7_000))), 0);
    assert_eq!(world.refused("ana").at, START.plus_ms(7_000));
    world.pass_ms(7_000);
    // Half-open: the last echo decides nothing, the probe does.
    world.answer(permits[4], &throttled(None, None));
    let probe = world.go("ana");
    world.answer(probe, &FINE);
    assert_eq!(world.status(Scope::User, "ana"), Status::Recovering);
}

/// Case 42 [opossum#119]: a hundred callers wait when both breakers half-open.
#[test]
fn a_hundred_waiting_users_send_one_probe() {
    for (verdict, out) in [
        (FINE, 1),
        (throttled(Some(APP), None), 0),
        (throttled(Some(USER), None), 1),
    ] {
        let mut world = World::new();
        world.call("user0", &throttled(Some(BOTH), Some(5_000)));
        let waiting = (0..100).map(|n| {
            world.engine.ask(
                world.now,
                &call(&format!("user{n}"), Lane::Foreground),
                world.now.plus_ms(60_000),
            )
        });
        let parked = waiting
            .filter(|answer| matches!(answer, Answer::Parked(_)))
            .count();
        assert_eq!(parked, 100);
        world.pass_ms(5_000);
        let settled = world.engine.take_settled();
        let [probe] = &settled[..] else {
            panic!("one call out, not {settled:?}")
        };
        let probe = probe.outcome.expect("a grant").permit;
        world.pass_ms(1_000);
        assert_eq!(world.engine.take_settled(), [], "nobody before the verdict");
        world.answer(probe, &verdict);
        assert_eq!(world.engine.take_settled().len(), out, "after {verdict:?}");
    }
}

/// What a probe of two half-open budgets does to each: every verdict there is.
#[test]
fn a_probe_is_judged_for_each_budget_by_itself() {
    use Status::{HalfOpen, Open, Recovering};
    let table = [
        (Some(FINE), Recovering, Recovering),
        (Some(signal(Verdict::Final)), Recovering, Recovering),
        (Some(throttled(Some(USER), None)), Open, HalfOpen),
        (Some(throttled(Some(APP), None)), HalfOpen, Open),
        (Some(throttled(Some(BOTH), None)), Open, Open),
        (Some(throttled(None, None)), Open, HalfOpen),
        (Some(signal(Verdict::Outage)), Recovering, Recovering),
        (
            Some(Signal {
                percentage_permille: Some(1_000),
                ..FINE
            }),
            Open,
            Recovering,
        ),
        (None, HalfOpen, HalfOpen),
    ];
    for (verdict, user, app) in table {
        let mut world = World::new();
        world.call("ana", &throttled(Some(BOTH), Some(5_000)));
        world.pass_ms(5_000);
        let probe = world.go("ana");
        assert_eq!(world.refused("ben").blocked_by, BREAKER_OF_APP);
        match &verdict {
            Some(signal) => assert!(world.answer(probe, signal) <= 2),
            None => assert_eq!(world.engine.refund(world.now, probe), Ended::Landed),
        }
        let seen = (
            world.status(Scope::User, "ana"),
            world.status(Scope::App, ""),
        );
        assert_eq!(seen, (user, app), "after {verdict:?}");
    }
}

/// Case 41 [resilience4j#544, smallrye#320]: a probe that ends in any way wedges nothing.
#[test]
fn no_end_of_a_probe_wedges_a_budget() {
    let ends: [fn(&mut World, Permit); 5] = [
        |world, _| world.pass_ms(30_000),
        |world, permit| assert_eq!(world.engine.refund(world.now, permit), Ended::Landed),
        |world, permit| assert_eq!(world.engine.complete(world.now, permit), Ended::Landed),
        |world, permit| assert_eq!(world.answer(permit, &FINE), 0),
        |world, permit| {
            world.answer(permit, &throttled(None, None));
            world.pass_ms(2_000);
        },
    ];
    for end in ends {
        let mut world = World::new();
        world.call("ana", &throttled(None, None));
        world.pass_ms(1_000);
        let probe = world.go("ana");
        assert!(
            world.engine.renew(world.now, probe).is_err(),
            "a probe's lease cannot be renewed"
        );
        end(&mut world, probe);
        world.call("ana", &FINE);
    }
}

/// Case 37 [go-concurrency-limits#117], case 12's first half.
#[test]
fn after_half_an_hour_of_quiet_the_rate_is_full() {
    let mut world = World::new();
    for _ in 0..4 {
        world.call("ana", &throttled(None, None));
        world.pass_ms(60_000);
    }
    world.pass_ms(30 * 60_000);
    assert_eq!(world.status(Scope::User, "ana"), Status::Closed);
    for _ in 0..24 {
        let five: Vec<_> = (0..5).map(|_| world.go("ana")).collect();
        for permit in five {
            world.answer(permit, &FINE);
        }
    }
    assert_eq!(world.refused("ana").blocked_by.to_string(), "user/rate/60s");
}

#[test]
fn twelve_users_each_at_an_own_limit_never_stop_the_app() {
    let mut world = World::new();
    for round in 0..20 {
        for n in 0..12 {
            if let Answer::Granted(grant) = world.ask(&format!("user{n}"), Lane::Foreground) {
                world.answer(grant.permit, &throttled(None, Some(60_000)));
            }
            // Somebody else is served.
            if n % 2 == 0
                && let Answer::Granted(grant) =
                    world.ask(&format!("other{round}"), Lane::Foreground)
            {
                world.answer(grant.permit, &FINE);
            }
            world.pass_ms(1_500);
        }
        assert_eq!(
            world.status(Scope::App, ""),
            Status::Closed,
            "round {round}"
        );
        world.pass_ms(120_000);
    }
}

#[test]
fn three_users_throttled_together_and_nobody_served_stop_the_app() {
    let mut world = World::new();
    world.call("ana", &throttled(None, None));
    world.call("ben", &throttled(None, None));
    assert_eq!(world.status(Scope::App, ""), Status::Closed);
    world.pass_ms(9_000);
    world.call("cid", &throttled(None, None));
    assert_eq!(world.status(Scope::App, ""), Status::Open);

    let mut slow = World::new();
    for user in ["ana", "ben", "cid"] {
        slow.call(user, &throttled(None, None));
        slow.pass_ms(5_001);
    }
    assert_eq!(
        slow.status(Scope::App, ""),
        Status::Closed,
        "not within ten seconds"
    );
}

#[test]
fn an_outage_is_many_failures_of_several_users_and_nobody_served() {
    let failing = |users: &[&str], served: bool| {
        let mut world = World::new();
        for n in 0..12 {
            if let Answer::Granted(grant) = world.ask(users[n % users.len()], Lane::Foreground) {
                world.answer(grant.permit, &signal(Verdict::Outage));
            }
            if served {
                world.call("lucky", &FINE);
            }
            world.pass_ms(2_000);
        }
        world.status(Scope::App, "")
    };
    assert_ne!(failing(&["ana", "ben"], false), Status::Closed);
    assert_eq!(
        failing(&["ana"], false),
        Status::Closed,
        "one user's endpoint"
    );
    assert_eq!(
        failing(&["ana", "ben"], true),
        Status::Closed,
        "one endpoint that fails for ever"
    );
}

#[test]
fn an_outage_ends_by_a_probe_that_is_answered() {
    let mut world = World::new();
    for n in 0..6 {
        let permit = world.go(if n % 2 == 0 { "ana" } else { "ben" });
        world.engine.report_failure(world.now, permit);
        world.engine.complete(world.now, permit);
        world.pass_ms(2_100);
    }
    assert_eq!(
        world.status(Scope::App, ""),
        Status::HalfOpen,
        "open for a second, then it may be probed"
    );
    let probe = world.go("cid");
    assert_eq!(world.refused("ana").blocked_by, BREAKER_OF_APP);
    world.answer(probe, &signal(Verdict::Final));
    assert_eq!(world.status(Scope::App, ""), Status::Recovering);
}

/// Case 12 [graph-docs#15823, #15227], its second half: a percentage of 1.3 is 130 %.
#[test]
fn a_reported_percentage_stops_background_and_at_full_everybody() {
    let mut world = World::new();
    let reported = |permille| Signal {
        percentage_permille: Some(permille),
        ..FINE
    };
    world.call("ana", &reported(799));
    assert_eq!(world.status(Scope::User, "ana"), Status::Closed);
    world.call("ana", &reported(850));
    assert_eq!(world.status(Scope::User, "ana"), Status::Soft);
    let background = world.ask("ana", Lane::Background);
    let Answer::Refused(Refusal::Busy(busy)) = background else {
        panic!("{background:?}")
    };
    assert_eq!(
        (busy.blocked_by, busy.at),
        (
            BlockedBy::Soft { scope: Scope::User },
            world.now.plus_ms(60_000)
        )
    );
    world.call("ana", &FINE);
    world.pass_ms(60_000);
    assert_eq!(
        world.status(Scope::User, "ana"),
        Status::Closed,
        "an absent header is no report"
    );

    assert_eq!(world.call("ana", &reported(1_300)), 1);
    assert_eq!(world.refused("ana").at, world.now.plus_ms(1_000));
}

#[test]
fn what_is_forced_ends_by_itself_and_reset_forgets() {
    let mut world = World::new();
    let app = Key {
        workload: 0,
        scope: Scope::App,
        app: "app".into(),
        tenant: String::new(),
        user: String::new(),
    };
    let until = world.now.plus_ms(600_000);
    world.engine.force(world.now, &app, true, until);
    assert_eq!(world.refused("ana").at, until);
    let view = world.engine.view(world.now, 0, None, 1);
    assert_eq!(view.shared[0].breaker.reason, Some(Reason::Forced));
    world.pass_ms(600_000);
    world.call("ana", &throttled(Some(APP), Some(60_000)));
    world
        .engine
        .force(world.now, &app, false, world.now.plus_ms(10_000));
    world.call("ben", &FINE);
    world.pass_ms(10_000);
    assert_eq!(world.refused("ben").blocked_by, BREAKER_OF_APP);
    world.engine.reset(world.now, &app);
    world.call("ben", &FINE);
}

#[test]
fn breakers_survive_a_restart() {
    let mut world = World::new();
    world.call("ana", &throttled(Some(USER), Some(60_000)));
    let records = world.engine.records(world.now);
    let policy = Preset::OneNote.policy().expect("legal");
    let mut engine = Engine::new(SETTINGS, vec![policy], Instant(0));
    records
        .iter()
        .for_each(|record| engine.restore_budget(record));
    let mut restarted = World {
        engine,
        now: world.now.plus_ms(1),
    };
    assert_eq!(restarted.refused("ana").at, START.plus_ms(60_000));
    restarted.pass_ms(60_000);
    restarted.call("ana", &throttled(Some(USER), None));
    assert_eq!(
        restarted.refused("ana").at,
        restarted.now.plus_ms(2_000),
        "the ladder goes on"
    );
}
