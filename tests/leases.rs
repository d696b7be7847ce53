//! How calls end: late, twice, at another weight, unknown to the upstream; and what holds for
//! all calls of an app.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BlockedBy, Call, Dimension, Ended, Lane, NotRenewed, Permit, Refusal, Remaining, Scope,
    Signal, Verdict,
};
use support::{MINUTE, SETTINGS, World, call, policy};

const PASSED: Signal = Signal {
    verdict: Verdict::Passed,
    retry_after_ms: None,
    named: None,
    percentage_permille: None,
    remaining: None,
    charged_units: None,
    unauthorized: false,
};

fn world() -> World {
    World::of(policy(&[
        (Scope::User, MINUTE, 100),
        (Scope::User, Dimension::Concurrency, 5),
        (Scope::App, MINUTE, 200),
    ]))
}

#[test]
fn a_completion_after_expiry_lands_the_weight_again_once_and_then_is_unknown() {
    let mut world = world();
    let ana = Call {
        weight: 7,
        ..call("ana", Lane::Foreground)
    };
    let permit = world.go(&ana).permit;
    world.pass_ms(120_000);
    assert_eq!(
        (
            world.used(&ana, Scope::User, 0),
            world.used(&ana, Scope::User, 1)
        ),
        (7, 0),
        "landed at its expiry"
    );
    assert_eq!(
        world.engine.renew(world.now, permit),
        Err(NotRenewed::Ended)
    );
    world.pass_ms(59_000);
    assert_eq!(world.engine.complete(world.now, permit), Ended::Overrun);
    assert_eq!(
        world.used(&ana, Scope::User, 0),
        14,
        "until its window ends, the first counts too"
    );
    assert_eq!(world.engine.complete(world.now, permit), Ended::Unknown);
    let other = world.go(&ana).permit;
    world.pass_ms(120_000 + 900_000);
    assert_eq!(
        world.engine.complete(world.now, other),
        Ended::Unknown,
        "15 minutes later nobody remembers"
    );
    assert_eq!(world.engine.complete(world.now, Permit(99)), Ended::Unknown);
}

#[test]
fn what_the_upstream_says_a_call_costs_is_what_counts() {
    let mut world = world();
    let ana = Call {
        weight: 2,
        ..call("ana", Lane::Foreground)
    };
    let (dear, cheap) = (world.go(&ana).permit, world.go(&ana).permit);
    world.engine.report(
        world.now,
        dear,
        &Signal {
            charged_units: Some(150),
            ..PASSED
        },
    );
    world.engine.report(
        world.now,
        cheap,
        &Signal {
            charged_units: Some(1),
            ..PASSED
        },
    );
    assert_eq!(
        world.used(&ana, Scope::User, 0),
        151,
        "also above the limit, and at once"
    );
    world.engine.complete(world.now, dear);
    world.engine.complete(world.now, cheap);
    assert_eq!(
        (
            world.used(&ana, Scope::User, 0),
            world.used(&ana, Scope::App, 0)
        ),
        (151, 151)
    );
    world.pass_ms(60_031);
    assert_eq!(world.used(&ana, Scope::User, 0), 0);
}

#[test]
fn an_unknown_caller_costs_its_user_nothing_and_a_refund_nobody() {
    let mut world = world();
    let ana = call("ana", Lane::Foreground);
    let permit = world.go(&ana).permit;
    world.engine.report(
        world.now,
        permit,
        &Signal {
            unauthorized: true,
            ..PASSED
        },
    );
    world.engine.complete(world.now, permit);
    assert_eq!(
        (
            world.used(&ana, Scope::User, 0),
            world.used(&ana, Scope::App, 0)
        ),
        (0, 1)
    );
    let permit = world.go(&ana).permit;
    assert_eq!(world.engine.refund(world.now, permit), Ended::Landed);
    assert_eq!(
        (
            world.used(&ana, Scope::User, 0),
            world.used(&ana, Scope::App, 0)
        ),
        (0, 1)
    );
}

#[test]
fn what_the_upstream_has_left_corrects_what_is_used_upward_alone() {
    let mut world = world();
    world.engine.trust_remaining(0, Scope::App, MINUTE);
    let ana = call("ana", Lane::Foreground);
    let told = |remaining| Signal {
        remaining: Some(Remaining {
            remaining,
            limit: None,
            reset_ms: None,
        }),
        ..PASSED
    };
    for (remaining, used) in [(30, 170), (100, 171), (0, 200)] {
        let permit = world.go(&ana).permit;
        world.engine.report(world.now, permit, &told(remaining));
        world.engine.complete(world.now, permit);
        assert_eq!(world.used(&ana, Scope::App, 0), used, "{remaining} left");
    }
    assert!(matches!(
        world.refused(&ana).blocked_by,
        BlockedBy::Layer {
            scope: Scope::App,
            ..
        }
    ));
    assert_eq!(
        world.used(&ana, Scope::User, 0),
        3,
        "it speaks of the app's"
    );
}

#[test]
fn what_limits_all_calls_of_an_app_is_charged_beside_each_workload() {
    let settings = spillway::Settings {
        global: Some(2),
        ..SETTINGS
    };
    let own = policy(&[(Scope::User, MINUTE, 100)]);
    let global = policy(&[(Scope::App, MINUTE, 3)]);
    let mut world = World::with(settings, vec![own.clone(), own, global]);
    let of = |workload, user: &str| Call {
        workload,
        ..call(user, Lane::Foreground)
    };
    for (workload, user) in [(0, "ana"), (1, "ana"), (2, "ben")] {
        world.pass(&of(workload, user));
    }
    for workload in 0..3 {
        let busy = world.refused(&of(workload, "cid"));
        assert!(
            matches!(
                busy.blocked_by,
                BlockedBy::Layer {
                    scope: Scope::App,
                    ..
                }
            ),
            "{workload}"
        );
        assert_eq!(
            (busy.at, busy.exact),
            (world.now.plus_ms(60_031), true),
            "{workload}"
        );
    }
    assert_eq!(world.used(&of(2, "ben"), Scope::App, 0), 3);
    let heavy = Call {
        weight: 4,
        ..of(0, "ana")
    };
    assert!(matches!(
        world.ask(&heavy),
        Answer::Refused(Refusal::Impossible { cap: 3, .. })
    ));
    let elsewhere = Call {
        app: "other".into(),
        ..of(0, "ana")
    };
    world.pass(&elsewhere);
    // One that waits for the upstream's room goes as soon as there is some.
    let ticket = world.park(&of(1, "ana"), 100_000);
    world.now = world.engine.wake_at().expect("it waits");
    assert!(
        world
            .settled()
            .iter()
            .any(|settled| settled.ticket == ticket && settled.outcome.is_ok())
    );
}

/// [case 33]
#[test]
fn a_million_users_seen_once_take_bounded_memory_and_live_ones_keep_their_counts() {
    let settings = spillway::Settings {
        users_max: 10_000,
        ..SETTINGS
    };
    let mut world = World::with(settings, vec![policy(&[(Scope::User, MINUTE, 10)])]);
    let live = call("live", Lane::Foreground);
    (0..10).for_each(|_| world.pass(&live));
    let (mut served, mut turned_away) = (0, 0);
    for n in 0..1_000_000 {
        match world.ask(&call(&format!("spoofed{n}"), Lane::Foreground)) {
            Answer::Granted(grant) => {
                world.engine.complete(world.now, grant.permit);
                served += 1;
            }
            Answer::Refused(Refusal::Capacity { users_max: 10_000 }) => turned_away += 1,
            other => panic!("{other:?}"),
        }
        // All of them stay for the window.
        if n == 20_000 {
            world.pass_ms(30_000);
        }
    }
    assert_eq!((served, turned_away), (9_999, 990_001));
    assert_eq!(world.used(&live, Scope::User, 0), 10);
    assert_eq!(world.engine.view(world.now, 0, None, 0).users_total, 10_000);
    world.pass_ms(60_031);
    world.pass(&call("new", Lane::Foreground));
}
