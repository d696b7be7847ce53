//! Who goes next where several wait: users, tenants, lanes, and full queues.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::collections::BTreeMap;

use spillway::{Answer, BlockedBy, Call, Dimension, Lane, Refusal, Scope, Settled, Ticket, Whose};
use support::{HOUR, MINUTE, SETTINGS, World, call, policy};

const FAR_MS: u64 = 10_000_000;

/// One slot for the whole app, and what waits for it.
struct Slot {
    world: World,
    names: BTreeMap<Ticket, String>,
}

impl Slot {
    fn taken() -> (Self, spillway::Permit) {
        let mut world = World::of(policy(&[(Scope::App, Dimension::Concurrency, 1)]));
        let first = world.go(&call("first", Lane::Foreground)).permit;
        let names = BTreeMap::new();
        (Self { world, names }, first)
    }

    fn park(&mut self, name: &str, call: &Call) {
        let ticket = self.world.park(call, FAR_MS);
        self.names.insert(ticket, name.to_owned());
    }

    /// In which order those that wait go, each as soon as the one before has ended.
    fn order(&mut self, mut running: spillway::Permit) -> Vec<String> {
        let mut order = Vec::new();
        loop {
            self.world.pass_ms(1);
            self.world.engine.complete(self.world.now, running);
            let settled = self.world.settled();
            let Some(Settled {
                ticket,
                outcome: Ok(grant),
            }) = settled.first()
            else {
                return order;
            };
            assert_eq!(settled.len(), 1, "one slot, one at a time");
            order.push(self.names[ticket].clone());
            running = grant.permit;
        }
    }
}

#[test]
fn turns_go_round_the_tenants_and_then_round_their_users() {
    let (mut slot, first) = Slot::taken();
    for (tenant, user, calls) in [
        ("big", "a", 3),
        ("big", "b", 2),
        ("big", "c", 1),
        ("small", "z", 3),
    ] {
        for n in 0..calls {
            let of = Call {
                tenant: tenant.into(),
                ..call(user, Lane::Foreground)
            };
            slot.park(&format!("{user}{n}"), &of);
        }
    }
    let order = slot.order(first);
    assert_eq!(
        order,
        ["a0", "z0", "b0", "z1", "c0", "z2", "a1", "b1", "a2"]
    );
}

/// [case 38]
#[test]
fn a_users_one_call_is_served_within_one_round_of_anothers_thousand() {
    let (mut slot, first) = Slot::taken();
    (0..1_000).for_each(|n| slot.park(&format!("many{n}"), &call("many", Lane::Foreground)));
    slot.park("one", &call("one", Lane::Foreground));
    let order = slot.order(first);
    assert_eq!(order.iter().position(|name| name == "one"), Some(1));
    assert_eq!(order.len(), 1_001);
}

#[test]
fn with_equal_room_foreground_waits_less_than_background_in_every_mix() {
    for foreground_percent in [10, 30, 50, 70, 90] {
        let layers = [
            (Scope::User, Dimension::Concurrency, 1),
            (Scope::App, Dimension::Concurrency, 4),
        ];
        let mut world = World::of(policy(&layers));
        let mut since = BTreeMap::new();
        let (mut waited_ms, mut counts) = ([0_u64; 2], [0_u64; 2]);
        let mut running = Vec::new();
        for step in 0..4_000_u64 {
            world.pass_ms(10);
            // Eight users at 1.25 times what the app can serve; each call takes 80 ms.
            if step % 2 == 0 || step % 10 == 1 {
                let lane = if step * 37 % 100 < foreground_percent {
                    Lane::Foreground
                } else {
                    Lane::Background
                };
                let asks = call(&format!("user{}", step * 7 % 8), lane);
                match world
                    .engine
                    .ask(world.now, &asks, world.now.plus_ms(FAR_MS))
                {
                    Answer::Granted(grant) => {
                        running.push((world.now.plus_ms(80), grant.permit));
                        counts[lane as usize] += 1;
                    }
                    Answer::Parked(ticket) => drop(since.insert(ticket, (world.now, lane))),
                    other @ Answer::Refused(_) => panic!("it may wait: {other:?}"),
                }
            }
            let (over, on): (Vec<_>, Vec<_>) =
                running.into_iter().partition(|(at, _)| *at <= world.now);
            running = on;
            over.into_iter().for_each(|(_, permit)| {
                world.engine.complete(world.now, permit);
            });
            for Settled { ticket, outcome } in world.settled() {
                let (from, lane) = since.remove(&ticket).expect("it waited");
                running.push((
                    world.now.plus_ms(80),
                    outcome.expect("its hold is long").permit,
                ));
                waited_ms[lane as usize] += world.now.ms_since(from);
                counts[lane as usize] += 1;
            }
        }
        let mean = |lane: Lane| waited_ms[lane as usize] / counts[lane as usize].max(1);
        let (foreground, background) = (mean(Lane::Foreground), mean(Lane::Background));
        assert!(
            foreground < background,
            "{foreground_percent} % foreground: {foreground} ms against {background} ms"
        );
    }
}

#[test]
fn saturating_foreground_leaves_background_one_turn_in_twenty() {
    let (mut slot, first) = Slot::taken();
    (0..400).for_each(|n| {
        slot.park(
            &format!("f{n}"),
            &call(&format!("u{}", n % 7), Lane::Foreground),
        )
    });
    (0..10).for_each(|n| slot.park(&format!("b{n}"), &call(&format!("j{n}"), Lane::Background)));
    let order = slot.order(first);
    let background = order
        .iter()
        .enumerate()
        .filter(|(_, name)| name.starts_with('b'));
    let turns: Vec<_> = background.map(|(turn, _)| turn + 1).collect();
    assert_eq!(turns, (1..=10).map(|n| n * 20).collect::<Vec<_>>());
}

#[test]
fn strict_lanes_give_background_nothing_while_foreground_waits() {
    let settings = spillway::Settings {
        background_turn: 0,
        ..SETTINGS
    };
    let world = World::with(
        settings,
        vec![policy(&[(Scope::App, Dimension::Concurrency, 1)])],
    );
    let mut slot = Slot {
        world,
        names: BTreeMap::new(),
    };
    let first = slot.world.go(&call("first", Lane::Foreground)).permit;
    slot.park("b", &call("job", Lane::Background));
    (0..50).for_each(|n| slot.park(&format!("f{n}"), &call("person", Lane::Foreground)));
    assert_eq!(slot.order(first).last().map(String::as_str), Some("b"));
}

#[test]
fn in_a_full_queue_the_longest_users_newest_call_makes_room() {
    let settings = spillway::Settings {
        waiters_max: 4,
        ..SETTINGS
    };
    let mut world = World::with(
        settings,
        vec![policy(&[(Scope::App, Dimension::Concurrency, 1)])],
    );
    world.go(&call("first", Lane::Foreground));
    let greedy: Vec<_> = (0..4)
        .map(|_| world.park(&call("greedy", Lane::Foreground), FAR_MS))
        .collect();
    world.park(&call("modest", Lane::Foreground), FAR_MS);
    let told = world.settled();
    let [
        Settled {
            ticket,
            outcome: Err(Refusal::Busy(busy)),
        },
    ] = &told[..]
    else {
        panic!("one makes room: {told:?}");
    };
    assert_eq!((*ticket, busy.blocked_by), (greedy[3], BlockedBy::Queue));
    // Its own next call is the newest of the longest: refused, and nobody else.
    let deadline = world.now.plus_ms(FAR_MS);
    let answer = world
        .engine
        .ask(world.now, &call("greedy", Lane::Foreground), deadline);
    assert!(
        matches!(answer, Answer::Refused(Refusal::Busy(busy)) if busy.blocked_by == BlockedBy::Queue)
    );
    assert_eq!(world.settled(), []);
}

#[test]
fn who_cannot_fit_within_its_hold_is_told_as_soon_as_that_is_known() {
    let mut world = World::of(policy(&[
        (Scope::User, MINUTE, 1),
        (Scope::User, Dimension::Concurrency, 1),
    ]));
    let ana = call("ana", Lane::Foreground);
    let running = world.go(&ana).permit;
    let ticket = world.park(&ana, 60_500);
    world.pass_ms(1_000);
    // From now on it is known: the minute is used up for 60 s.
    world.engine.complete(world.now, running);
    let told = world.settled();
    let [
        Settled {
            ticket: of,
            outcome: Err(Refusal::Busy(busy)),
        },
    ] = &told[..]
    else {
        panic!("it cannot fit any more: {told:?}");
    };
    assert_eq!(
        (*of, busy.exact, busy.at),
        (ticket, true, world.now.plus_ms(60_031))
    );
}

#[test]
fn a_pause_stops_background_calls_alone_and_ends_by_itself() {
    let mut world = World::of(policy(&[(Scope::User, MINUTE, 100)]));
    let (job, person) = (call("ana", Lane::Background), call("ana", Lane::Foreground));
    let running = world.go(&job).permit;
    for whose in [
        Whose::Upstream,
        Whose::App { app: "app".into() },
        Whose::Tenant {
            app: "app".into(),
            tenant: "tenant".into(),
        },
        Whose::User {
            app: "app".into(),
            tenant: "tenant".into(),
            user: "ana".into(),
        },
    ] {
        let until = world.now.plus_ms(60_000);
        world
            .engine
            .pause(world.now, whose.clone(), until)
            .expect("few are");
        let busy = world.refused(&job);
        assert_eq!(
            (busy.at, busy.exact, busy.blocked_by),
            (until, true, BlockedBy::Paused),
            "{whose:?}"
        );
        world.pass(&person);
        // One whose hold is too short is refused at once, the other waits and goes at the end.
        let deadline = world.now.plus_ms(59_999);
        assert!(matches!(
            world.engine.ask(world.now, &job, deadline),
            Answer::Refused(_)
        ));
        let ticket = world.park(&job, 60_000);
        assert_eq!(world.engine.wake_at(), Some(until));
        world.now = until;
        let told = world.settled();
        assert!(
            matches!(&told[..], [Settled { ticket: of, outcome: Ok(_) }] if *of == ticket),
            "{whose:?}: {told:?}"
        );
    }
    world.engine.complete(world.now, running);
    let elsewhere = Whose::User {
        app: "app".into(),
        tenant: "tenant".into(),
        user: "ben".into(),
    };
    world
        .engine
        .pause(world.now, elsewhere.clone(), world.now.plus_ms(60_000))
        .expect("few are");
    world.pass(&job);
    assert!(
        world.engine.resume(world.now, &elsewhere) && !world.engine.resume(world.now, &elsewhere)
    );
}

#[test]
fn those_that_wait_are_told_when_a_pause_outlasts_their_hold_and_go_when_it_is_ended() {
    let mut world = World::of(policy(&[(Scope::App, Dimension::Concurrency, 2)]));
    let running = world.go(&call("first", Lane::Background)).permit;
    let short = world.park(&call("short", Lane::Background), 10_000);
    let long = world.park(&call("long", Lane::Background), 100_000);
    world
        .engine
        .pause(world.now, Whose::Upstream, world.now.plus_ms(50_000))
        .expect("few are");
    world.engine.complete(world.now, running);
    let told = world.settled();
    assert!(
        matches!(&told[..], [Settled { ticket, outcome: Err(_) }] if *ticket == short),
        "{told:?}"
    );
    world.pass_ms(20_000);
    assert!(world.engine.resume(world.now, &Whose::Upstream));
    let told = world.settled();
    assert!(
        matches!(&told[..], [Settled { ticket, outcome: Ok(_) }] if *ticket == long),
        "{told:?}"
    );
}

/// The first of its user's needs more than frees in its hold; it is turned away at its end.
#[test]
fn who_stood_behind_a_call_whose_hold_is_over_goes_in_that_instant() {
    let mut world = World::of(policy(&[(Scope::User, MINUTE, 2)]));
    world.pass(&call("ana", Lane::Foreground));
    let _running = world.go(&call("ana", Lane::Foreground));
    let heavy = Call {
        weight: 2,
        ..call("ana", Lane::Foreground)
    };
    let heavy = world.park(&heavy, 100_000);
    let light = world.park(&call("ana", Lane::Foreground), 110_000);
    world.pass_ms(100_000);
    let told = world.settled();
    assert!(
        matches!(&told[..], [
            Settled { ticket: first, outcome: Err(_) },
            Settled { ticket: second, outcome: Ok(_) },
        ] if (*first, *second) == (heavy, light)),
        "{told:?}"
    );
}

#[test]
fn a_call_turned_away_leaves_others_of_its_user_their_time_to_wake() {
    let mut world = World::of(policy(&[(Scope::Tenant, MINUTE, 2)]));
    world.pass(&call("ana", Lane::Background));
    world.pass(&call("ana", Lane::Foreground));
    let frees_at = world.now.plus_ms(60_031);
    let click = world.park(&call("ana", Lane::Foreground), 100_000);
    let job = world.park(&call("ana", Lane::Background), 70_000);
    assert_eq!(world.engine.wake_at(), Some(frees_at));
    world
        .engine
        .pause(world.now, Whose::Upstream, world.now.plus_ms(90_000))
        .expect("few are");
    let told = world.settled();
    assert!(
        matches!(&told[..], [Settled { ticket, outcome: Err(_) }] if *ticket == job),
        "{told:?}"
    );
    assert_eq!(world.engine.wake_at(), Some(frees_at));
    world.pass_ms(60_031);
    let told = world.settled();
    assert!(
        matches!(&told[..], [Settled { ticket, outcome: Ok(_) }] if *ticket == click),
        "{told:?}"
    );
}

/// Both of a user's and its app's hours are used up, the app's later: the wait is the longer one.
#[test]
fn where_two_scopes_are_saturated_the_wait_is_the_longer_one() {
    let mut world = World::of(policy(&[(Scope::User, HOUR, 1), (Scope::App, HOUR, 2)]));
    world.pass(&call("ana", Lane::Foreground));
    world.pass_ms(1_000_000);
    world.pass(&call("ben", Lane::Foreground));
    let first_frees = world.now.0 - 1_000_000 + 3_601_801;
    let busy = world.refused(&call("cid", Lane::Foreground));
    assert_eq!(
        (busy.at.0, busy.exact),
        (first_frees, true),
        "one slot of the app is enough"
    );
    let busy = world.refused(&call("ben", Lane::Foreground));
    assert_eq!(
        busy.at.0,
        world.now.0 + 3_601_801,
        "its own hour lasts longer than the app's"
    );
    assert!(matches!(
        busy.blocked_by,
        BlockedBy::Layer {
            scope: Scope::User,
            ..
        }
    ));
}
