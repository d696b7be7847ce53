//! Policies that change while permits are out and calls wait.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, Call, Dimension, Instant, Lane, Permit, Policy, Preset, Refusal, Scope, Settled, Share,
};
use support::{HOUR, World, call, policy};

/// Asks as often as it can, and remembers each grant's whole life.
struct Greedy {
    world: World,
    running: Vec<(Instant, Permit)>,
    /// When each was granted and has ended.
    calls: Vec<(Instant, Option<Instant>)>,
}

impl Greedy {
    fn new(policy: Policy) -> Self {
        Self {
            world: World::of(policy),
            running: Vec::new(),
            calls: Vec::new(),
        }
    }

    fn run(&mut self, for_ms: u64, limits: &[(u64, u64)], in_force_since: Instant) {
        let until = self.world.now.plus_ms(for_ms);
        while self.world.now < until {
            self.world.pass_ms(250);
            let now = self.world.now;
            let (over, on): (Vec<_>, Vec<_>) =
                self.running.drain(..).partition(|(at, _)| *at <= now);
            self.running = on;
            for (_, permit) in over {
                self.world.engine.complete(now, permit);
                let n = usize::try_from(permit.0 - 1).expect("few");
                self.calls[n].1 = Some(now);
            }
            if let Answer::Granted(grant) = self.world.ask(&call("ana", Lane::Foreground)) {
                self.calls.push((now, None));
                self.running.push((now.plus_ms(700), grant.permit));
                self.check(limits, in_force_since);
            }
        }
    }

    /// No window, as long as the policy has been in force at the most, holds more than its limit.
    fn check(&self, limits: &[(u64, u64)], since: Instant) {
        let now = self.world.now;
        for (window_ms, limit) in limits {
            let window_ms = (*window_ms).min(now.ms_since(since).max(1));
            let counts = |(_, ended): &&(Instant, Option<Instant>)| {
                ended.is_none_or(|at| at.plus_ms(window_ms) > now)
            };
            let counted = self.calls.iter().filter(counts).count() as u64;
            assert!(
                counted <= *limit,
                "{counted} of {limit} within {window_ms} ms"
            );
        }
    }
}

fn users(layers: &[(u64, u32)]) -> Policy {
    let layers: Vec<_> = layers
        .iter()
        .map(|(window_ms, limit)| {
            (
                Scope::User,
                Dimension::Rate {
                    window_ms: *window_ms,
                },
                *limit,
            )
        })
        .collect();
    policy(&layers)
}

#[test]
fn limits_go_down_and_up_with_permits_out_and_no_grant_breaks_the_one_in_force() {
    let mut greedy = Greedy::new(users(&[(600_000, 400)]));
    let began = greedy.world.now;
    greedy.run(90_000, &[(600_000, 400)], began);
    let before = greedy.calls.len();
    assert!(before > 300 && !greedy.running.is_empty());
    greedy
        .world
        .engine
        .change_policy(greedy.world.now, 0, users(&[(600_000, 100)]));
    greedy.run(500_000, &[(600_000, 100)], began);
    assert_eq!(
        greedy.calls.len(),
        before,
        "three times the limit is used: nothing goes"
    );
    greedy.run(120_000, &[(600_000, 100)], began);
    assert!(greedy.calls.len() > before, "nothing is stuck");
    greedy
        .world
        .engine
        .change_policy(greedy.world.now, 0, users(&[(600_000, 400)]));
    let raised = greedy.calls.len();
    greedy.run(90_000, &[(600_000, 400)], began);
    assert!(greedy.calls.len() > raised + 100, "raised at once");
}

#[test]
fn a_shorter_window_holds_at_once_and_a_longer_one_a_window_later() {
    let mut greedy = Greedy::new(users(&[(60_000, 50)]));
    let began = greedy.world.now;
    greedy.run(120_000, &[(60_000, 50)], began);
    greedy
        .world
        .engine
        .change_policy(greedy.world.now, 0, users(&[(30_000, 50)]));
    greedy.run(90_000, &[(30_000, 50)], began);
    let longer_since = greedy.world.now;
    greedy
        .world
        .engine
        .change_policy(greedy.world.now, 0, users(&[(60_000, 50)]));
    greedy.run(60_000, &[(30_000, 50)], began);
    greedy.run(120_000, &[(60_000, 50)], longer_since);
    assert!(greedy.calls.len() > 200);
}

#[test]
fn six_layers_four_and_six_again_with_permits_out() {
    let six = Preset::OneNote.policy().expect("legal");
    let four = Policy::new(six.layers()[..4].to_vec(), Share::HALF).expect("legal");
    let mut world = World::of(six.clone());
    let ana = call("ana", Lane::Foreground);
    let permits: Vec<_> = (0..5).map(|_| world.go(&ana).permit).collect();
    world.refused(&ana);
    world.engine.change_policy(world.now, 0, four);
    // The app's minute (layer 3 of four) has seen all five, and the user's slots stay.
    assert_eq!(
        (
            world.used(&ana, Scope::User, 2),
            world.used(&ana, Scope::App, 0)
        ),
        (5, 5)
    );
    let ben = world.go(&call("ben", Lane::Foreground)).permit;
    world.engine.change_policy(world.now, 0, six);
    // The added layers count what runs at once.
    assert_eq!(
        [0, 1, 2].map(|layer| world.used(&ana, Scope::App, layer)),
        [6, 6, 6]
    );
    world.refused(&ana);
    permits.into_iter().chain([ben]).for_each(|permit| {
        world.engine.complete(world.now, permit);
    });
    assert_eq!(
        [0, 1, 2].map(|layer| world.used(&ana, Scope::App, layer)),
        [6, 6, 0]
    );
    assert_eq!(
        [0, 1, 2].map(|layer| world.used(&ana, Scope::User, layer)),
        [5, 5, 0]
    );
}

#[test]
fn raising_wakes_who_waits_and_what_became_impossible_is_told() {
    let mut world = World::of(users(&[(600_000, 10)]));
    let heavy = Call {
        weight: 8,
        ..call("ana", Lane::Foreground)
    };
    world.pass(&heavy);
    let waits = world.park(&heavy, 10_000_000);
    world
        .engine
        .change_policy(world.now, 0, users(&[(600_000, 16)]));
    let told = world.settled();
    assert!(
        matches!(&told[..], [Settled { ticket, outcome: Ok(_) }] if *ticket == waits),
        "{told:?}"
    );
    let waits = world.park(&heavy, 10_000_000);
    world
        .engine
        .change_policy(world.now, 0, users(&[(600_000, 7)]));
    let told = world.settled();
    let impossible =
        |outcome: &Result<_, Refusal>| matches!(outcome, Err(Refusal::Impossible { cap: 7, .. }));
    assert!(
        matches!(&told[..], [Settled { ticket, outcome }] if *ticket == waits && impossible(outcome)),
        "{told:?}"
    );
}

#[test]
fn a_layer_of_another_length_takes_over_what_the_longest_one_knows() {
    let mut world = World::of(policy(&[(Scope::User, HOUR, 400)]));
    let ana = call("ana", Lane::Foreground);
    (0..50).for_each(|_| {
        world.pass_ms(10_000);
        world.pass(&ana);
    });
    let added = [
        (Scope::User, HOUR, 400),
        (Scope::User, Dimension::Rate { window_ms: 100_000 }, 20),
    ];
    world.engine.change_policy(world.now, 0, policy(&added));
    assert_eq!(
        [0, 1].map(|layer| world.used(&ana, Scope::User, layer)),
        [50, 11]
    );
}
