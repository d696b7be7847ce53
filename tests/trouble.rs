//! Which breakers stop calls, as somebody is told of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{Lane, NAMED_MAX, Scope, Status, Stopped};
use support::moods::{APP, FINE, USER, World, call, throttled};

/// What is wrong now, looked for so many budgets at a time.
fn trouble(world: &mut World, steps: usize) -> Stopped {
    let mut found = [Stopped::default()];
    let mut next = Some(0);
    while let Some(first) = next {
        next = world
            .engine
            .find_trouble(world.now, &mut found, first, steps);
    }
    let [found] = found;
    found
}

#[test]
fn apps_are_named_with_their_breakers_and_users_counted() {
    let mut world = World::new();
    world.call("ana", &throttled(Some(USER), Some(20_000)));
    world.call("ben", &throttled(Some(USER), Some(20_000)));
    world.call("cid", &FINE);
    assert_eq!(
        trouble(&mut world, 1),
        Stopped {
            users: 2,
            ..Stopped::default()
        }
    );

    world.call("cid", &throttled(Some(APP), Some(5_000)));
    for steps in [1, 7, usize::MAX] {
        let found = trouble(&mut world, steps);
        let [(key, view)] = &found.named[..] else {
            panic!("{found:?}");
        };
        assert_eq!((key.scope, key.app.as_str()), (Scope::App, "app"));
        assert_eq!(view.status, Status::Open);
        assert_eq!(view.until, Some(world.now.plus_ms(5_000)));
        assert_eq!(view.drift, 1, "it throttled although everything fitted");
        assert_eq!((found.users, found.unnamed), (2, 0), "{steps}");
    }
}

/// Time is brought up to date although nobody calls: a user whose wait is over is stopped no more.
#[test]
fn what_is_over_is_no_trouble_although_nobody_calls() {
    let mut world = World::new();
    world.call("ana", &throttled(Some(USER), Some(20_000)));
    world.now = world.now.plus_ms(20_000);
    assert_eq!(trouble(&mut world, 3), Stopped::default());
    world.call("ana", &throttled(Some(APP), Some(20_000)));
    world.now = world.now.plus_ms(20_000);
    assert_eq!(trouble(&mut world, 3).named[0].1.status, Status::HalfOpen);
    // Ten minutes without a call.
    world.now = world.now.plus_ms(600_000);
    assert_eq!(trouble(&mut world, 3), Stopped::default());
}

#[test]
fn of_many_apps_some_are_named_and_the_others_counted() {
    let mut world = World::new();
    for n in 0..NAMED_MAX + 9 {
        let mut call = call("ana", Lane::Foreground);
        call.app = format!("app{n}");
        let spillway::Answer::Granted(grant) = world.engine.ask(world.now, &call, world.now) else {
            panic!("there is room");
        };
        let signal = throttled(Some(APP), Some(5_000));
        world.engine.report(world.now, grant.permit, &signal);
        world.engine.complete(world.now, grant.permit);
    }
    let mut found = trouble(&mut world, 10);
    assert_eq!((found.named.len(), found.unnamed), (NAMED_MAX, 9));
    // Two shards of the same upstream.
    found.add(found.clone());
    assert_eq!(
        found.named.len() as u64 + found.unnamed,
        2 * (NAMED_MAX as u64 + 9)
    );
    assert_eq!(found.named.len(), NAMED_MAX);
}
