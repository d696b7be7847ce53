//! Own limits of single keys, layers that only count, and rules of breakers, as policies have them:
//! at once, under way, and across a restart.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BlockedBy, BreakerRules, Call, Dimension, Engine, Lane, Layer, Override, OwnLimit,
    Policy, Refusal, Scope, Share, Signal, Status, Verdict,
};
use support::{HOUR, MINUTE, SETTINGS, World, call, policy};

fn own(scope: Scope, names: [&str; 3], limits: &[(Dimension, u32)]) -> Override {
    let limits = limits.iter();
    let limits = limits.map(|(dimension, limit)| OwnLimit {
        dimension: *dimension,
        limit: *limit,
    });
    Override::new(scope, names.map(str::to_owned), limits.collect()).expect("legal")
}

fn with(policy: Policy, overrides: &[Override]) -> Policy {
    policy.with_overrides(overrides.to_vec()).expect("legal")
}

fn ann(limits: &[(Dimension, u32)]) -> Override {
    own(Scope::User, ["app", "tenant", "ann"], limits)
}

fn user(name: &str) -> Call {
    call(name, Lane::Foreground)
}

fn signal(verdict: Verdict, percentage_permille: Option<u32>) -> Signal {
    Signal {
        verdict,
        retry_after_ms: None,
        named: None,
        percentage_permille,
        remaining: None,
        charged_units: None,
        unauthorized: false,
    }
}

/// How many calls go at once.
fn go(world: &mut World, call: &Call) -> usize {
    let goes = |world: &mut World| matches!(world.ask(call), Answer::Granted(_));
    (0..1_000).take_while(|_| goes(world)).count()
}

#[test]
fn who_has_own_limits_has_those_and_all_others_the_workload_s() {
    let base = policy(&[(Scope::User, MINUTE, 10), (Scope::App, MINUTE, 100)]);
    let mut world = World::of(with(base, &[ann(&[(MINUTE, 3)])]));
    assert_eq!(
        (go(&mut world, &user("ann")), go(&mut world, &user("ben"))),
        (3, 10)
    );
    // In another tenant she is somebody else.
    let elsewhere = Call {
        tenant: "other".into(),
        ..user("ann")
    };
    assert_eq!(go(&mut world, &elsewhere), 10);
    // Background has its share of it.
    let mut world = World::of(with(
        policy(&[(Scope::User, MINUTE, 10)]),
        &[ann(&[(MINUTE, 30)])],
    ));
    assert_eq!(go(&mut world, &call("ann", Lane::Background)), 15);
    assert_eq!(go(&mut world, &user("ann")), 15);
}

#[test]
fn what_no_layer_limits_can_be_limited_for_one_key() {
    let base = policy(&[(Scope::User, MINUTE, 10)]);
    let tenant = own(Scope::Tenant, ["app", "tenant", ""], &[(HOUR, 12)]);
    let mut world = World::of(with(base, &[tenant]));
    assert_eq!(
        (go(&mut world, &user("ann")), go(&mut world, &user("ben"))),
        (10, 2)
    );
    let busy = world.refused(&user("cleo"));
    assert!(
        matches!(
            busy.blocked_by,
            BlockedBy::Layer {
                scope: Scope::Tenant,
                ..
            }
        ),
        "{busy:?}"
    );
    let elsewhere = Call {
        tenant: "other".into(),
        ..user("cleo")
    };
    assert_eq!(go(&mut world, &elsewhere), 10);
}

#[test]
fn what_one_key_can_never_do_is_refused_at_once() {
    let base = policy(&[(Scope::User, MINUTE, 10)]);
    let mut world = World::of(with(base, &[ann(&[(MINUTE, 3)])]));
    let heavy = |name| Call {
        weight: 5,
        ..user(name)
    };
    let refused = world.ask(&heavy("ann"));
    assert!(
        matches!(refused, Answer::Refused(Refusal::Impossible { cap: 3, .. })),
        "{refused:?}"
    );
    world.pass(&heavy("ben"));
}

#[test]
fn an_override_holds_under_way_and_is_gone_again_without_forgetting_counts() {
    let base = policy(&[(Scope::User, MINUTE, 10)]);
    let mut world = World::of(base.clone());
    for _ in 0..5 {
        world.pass(&user("ann"));
    }
    let now = world.now;
    let lower = with(base.clone(), &[ann(&[(MINUTE, 6)])]);
    world.engine.change_policy(now, 0, lower);
    assert_eq!(go(&mut world, &user("ann")), 1);
    let waits = world.park(&user("ann"), 300_000);
    let raised = with(base.clone(), &[ann(&[(MINUTE, 7)])]);
    world.engine.change_policy(now, 0, raised);
    let settled = world.settled();
    assert_eq!(settled.len(), 1);
    assert!(settled[0].ticket == waits && settled[0].outcome.is_ok());
    world.engine.change_policy(now, 0, base);
    assert_eq!(go(&mut world, &user("ann")), 3);
}

#[test]
fn an_override_holds_across_a_restart_and_shows_in_the_state() {
    let lower = with(policy(&[(Scope::User, MINUTE, 10)]), &[ann(&[(MINUTE, 3)])]);
    let mut world = World::of(lower.clone());
    world.pass(&user("ann"));
    world.pass(&user("ann"));
    let mut restarted = Engine::new(SETTINGS, vec![lower], world.now);
    let records = world.engine.records(world.now);
    records
        .iter()
        .for_each(|record| restarted.restore_budget(record));
    restarted.restored(world.engine.next_permit(), |_| false);
    world.engine = restarted;
    assert_eq!(go(&mut world, &user("ann")), 1);
    let key = spillway::Key::of(&user("ann"), Scope::User);
    let view = world
        .engine
        .budget_view(world.now, &key)
        .expect("a workload");
    assert_eq!((view.layers[0].limit, view.layers[0].used.total()), (3, 3));
    assert_eq!(view.closeness_permille, 1_000);
}

#[test]
fn what_only_counts_lets_everything_go_and_counts_what_it_would_not_have() {
    let minute = Layer::new(Scope::User, MINUTE, 3)
        .expect("legal")
        .counting_only();
    let hour = Layer::new(Scope::User, HOUR, 8).expect("legal");
    let policy = Policy::new(vec![minute, hour], Share::HALF).expect("legal");
    let mut world = World::of(policy.clone());
    assert_eq!(go(&mut world, &user("ann")), 8);
    assert_eq!(go(&mut world, &call("ben", Lane::Background)), 4);
    let shadows = |world: &mut World| world.engine.view(world.now, 0, None, 0).shadows;
    let counted = shadows(&mut world)[0];
    // Ann's fourth to eighth; of Ben's, whose part is one, all but the first.
    assert_eq!(
        (
            counted.would_refuse.foreground,
            counted.would_refuse.background
        ),
        (5, 3)
    );
    // Refused by the hour, they count no more.
    assert_eq!((counted.limit, counted.since), (3, world.now));
    // No gauge shows it, and a change of something else does not make it forget.
    let key = spillway::Key::of(&user("ann"), Scope::User);
    let view = world
        .engine
        .budget_view(world.now, &key)
        .expect("a workload");
    assert_eq!(view.layers.len(), 1);
    let other = policy
        .with_overrides(vec![ann(&[(HOUR, 9)])])
        .expect("legal");
    world.engine.change_policy(world.now, 0, other);
    assert_eq!(shadows(&mut world)[0], counted);
    assert_eq!(go(&mut world, &user("ann")), 1);
    assert_eq!(shadows(&mut world)[0].would_refuse.foreground, 6);
}

#[test]
fn the_soft_threshold_is_the_policy_s() {
    for (soft_permille, reported, refused) in [
        (800, 799, false),
        (800, 800, true),
        (600, 600, true),
        (950, 900, false),
    ] {
        let rules = BreakerRules {
            soft_permille,
            ..BreakerRules::DEFAULT
        };
        let policy = policy(&[(Scope::User, MINUTE, 100)]);
        let mut world = World::of(policy.with_breakers(rules).expect("legal"));
        let grant = world.go(&user("ann"));
        let said = signal(Verdict::Passed, Some(reported));
        world.engine.report(world.now, grant.permit, &said);
        let background = world.ask(&call("ann", Lane::Background));
        let is_refused = matches!(background, Answer::Refused(_));
        assert_eq!(is_refused, refused, "{soft_permille} {reported}");
        world.go(&user("ann"));
    }
}

#[test]
fn the_cool_down_s_ends_are_the_policy_s() {
    let rules = BreakerRules {
        cool_down_ms_min: 5_000,
        ..BreakerRules::DEFAULT
    };
    let policy = policy(&[(Scope::User, MINUTE, 100)]);
    let mut world = World::of(policy.with_breakers(rules).expect("legal"));
    let grant = world.go(&user("ann"));
    world
        .engine
        .report(world.now, grant.permit, &signal(Verdict::Throttled, None));
    world.engine.complete(world.now, grant.permit);
    assert_eq!(world.refused(&user("ann")).at, world.now.plus_ms(5_000));
    world.go(&user("ben"));
}

#[test]
fn an_outage_is_what_the_policy_says() {
    let rules = BreakerRules {
        outage_failures: 2,
        outage_ms: 0,
        outage_users: 1,
        ..BreakerRules::DEFAULT
    };
    let policy = policy(&[(Scope::App, MINUTE, 100)]);
    let mut world = World::of(policy.with_breakers(rules).expect("legal"));
    for expected in [Status::Closed, Status::Open] {
        let grant = world.go(&user("ann"));
        world.engine.report_failure(world.now, grant.permit);
        world.engine.complete(world.now, grant.permit);
        let key = spillway::Key::of(&user("ann"), Scope::App);
        let view = world
            .engine
            .budget_view(world.now, &key)
            .expect("a workload");
        assert_eq!(view.breaker.status, expected);
    }
}
