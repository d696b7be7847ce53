//! A budget that recovers waits for the answers that will come, and for no others.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BlockedBy, Dimension, Engine, Instant, Lane, Permit, Preset, Scope, Status,
};
use support::SETTINGS;
use support::moods::{APP, BREAKER_OF_APP, BREAKER_OF_USER, FINE, USER, World, call, throttled};

const CONCURRENCY_OF_USER: BlockedBy = BlockedBy::Layer {
    scope: Scope::User,
    dimension: Dimension::Concurrency,
};

/// A connection that broke says nothing more: its lease lasts two minutes, the recovery goes on.
#[test]
fn a_call_whose_end_nobody_will_tell_keeps_no_recovery_waiting() {
    let mut world = World::new();
    world.call("ana", &throttled(Some(USER), Some(1_000)));
    world.pass_ms(1_000);
    world.call("ana", &FINE);
    let broken = world.go("ana");
    assert_eq!(
        world.refused("ana").blocked_by,
        BREAKER_OF_USER,
        "one at once"
    );
    let hold = world.now.plus_ms(30_000);
    let waits = world
        .engine
        .ask(world.now, &call("ana", Lane::Foreground), hold);
    let Answer::Parked(ticket) = waits else {
        panic!("it may be held: {waits:?}");
    };
    world.engine.abandon(world.now, broken);
    world.engine.settle(world.now);
    let settled = world.engine.take_settled();
    assert_eq!(settled.len(), 1);
    let next = &settled[0];
    assert_eq!(next.ticket, ticket);
    let next = next
        .outcome
        .expect("the call that waited goes at once")
        .permit;
    world.refused("ana");
    world.answer(next, &FINE);
    for calls in [2, 4] {
        let round: Vec<_> = (0..calls).map(|_| world.go("ana")).collect();
        world.refused("ana");
        for permit in round {
            world.answer(permit, &FINE);
        }
    }
    assert_eq!(world.status(Scope::User, "ana"), Status::Closed);
    // It may still run upstream: of five places it keeps one.
    for _ in 0..4 {
        world.go("ana");
    }
    assert_eq!(world.refused("ana").blocked_by, CONCURRENCY_OF_USER);
}

#[test]
fn a_broken_call_of_one_user_keeps_no_recovery_of_the_app_waiting() {
    let mut world = World::new();
    let broken = world.go("ana");
    world.call("ben", &throttled(Some(APP), Some(1_000)));
    world.engine.abandon(world.now, broken);
    world.pass_ms(1_000);
    world.call("cid", &FINE);
    assert_eq!(world.status(Scope::App, ""), Status::Recovering);
    let first = world.go("dan");
    assert_eq!(world.refused("eve").blocked_by, BREAKER_OF_APP);
    world.answer(first, &FINE);
    let (_, _) = (world.go("dan"), world.go("eve"));
}

/// The call in flight is renewed and renewed; who waits behind it wakes when the recovery ends.
#[test]
fn a_recovery_without_answers_is_over_after_ten_minutes_for_those_who_wait_too() {
    let mut world = World::new();
    world.call("ana", &throttled(Some(USER), Some(1_000)));
    world.pass_ms(1_000);
    world.call("ana", &FINE);
    let over_at = world.now.plus_ms(600_000);
    let slow = world.go("ana");
    for _ in 0..6 {
        world.pass_ms(95_000);
        world.engine.renew(world.now, slow).expect("it still runs");
    }
    let hold = world.now.plus_ms(60_000);
    let waits = world
        .engine
        .ask(world.now, &call("ana", Lane::Foreground), hold);
    assert!(matches!(waits, Answer::Parked(_)), "{waits:?}");
    assert_eq!(world.engine.wake_at(), Some(over_at));
    world.pass_ms(30_000);
    let settled = world.engine.take_settled();
    assert!(
        matches!(&settled[..], [one] if one.outcome.is_ok()),
        "{settled:?}"
    );
}

/// Of the calls that ran when the server was killed, those of its own connections are broken;
/// a program that took a permit tells the end of its call to the next server.
#[test]
fn after_a_restart_a_recovery_waits_for_those_outside_alone() {
    let mut world = World::new();
    let (own, outside) = (world.go("ana"), world.go("ben"));
    world.call("cid", &throttled(Some(APP), Some(1_000)));
    world.pass_ms(1_000);
    world.call("cid", &FINE);
    assert_eq!(world.status(Scope::App, ""), Status::Recovering);
    let mut restarted = restarted(&mut world, |permit| permit == outside);
    assert_eq!(restarted.refused("dan").blocked_by, BREAKER_OF_APP);
    restarted.engine.complete(restarted.now, outside);
    restarted.go("dan");
    assert_eq!(restarted.refused("dan").blocked_by, BREAKER_OF_APP);
    assert!(restarted.engine.lease(own).is_some(), "it may still run");
}

fn restarted(world: &mut World, tells: impl Fn(Permit) -> bool) -> World {
    let policy = Preset::OneNote.policy().expect("legal");
    let mut engine = Engine::new(SETTINGS, vec![policy], Instant(0));
    for record in world.engine.records(world.now) {
        engine.restore_budget(&record);
    }
    for lease in world.engine.leases() {
        engine.restore_lease(&lease);
    }
    engine.restored(world.engine.next_permit(), tells);
    let now = world.now;
    World { engine, now }
}
