//! What the engine's full promise costs (six layers, leases, lanes, exact waits) beside the
//! peer that people reach for: one `check_key` of the crate governor for each layer. All in
//! one run on one thread, round by round in turn, so that whatever else the machine does
//! meets all alike; only the ratios mean anything. See docs/BENCHMARKS.md.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints its result, and ends if it cannot go on"
)]

mod contest;
mod peer;
mod shuffle;
mod world;

use contest::{Contest, Entry};
use peer::Peer;
use spillway::{Answer, Call, Refusal};
use world::World;

/// How many users take turns when the memory is cold, and how often one does when it is hot.
const USERS: usize = 100_000;

/// The same where each has a thousand places, which take 100 MB.
const USERS_WORST: usize = 1_000;

/// As many refused callers as a budget keeps in line.
const PLACES: usize = 1_000;

/// Below what one user may have in a minute.
const NARROW_APP: [u32; 3] = [110, 800, 20];

fn main() {
    for (title, users, worst) in [
        ("hot: one user", 1, 1),
        ("cold: 100,000 users in random order", USERS, USERS_WORST),
    ] {
        let mut contest = Contest::new(title);
        contest.enter("six `check_key` of governor", six_checks(users));
        contest.enter(
            "grant + completion over six layers, at most 1.0",
            grant_and_completion(users),
        );
        let refusal = if users == 1 {
            refusal_by_app()
        } else {
            refusal_by_user()
        };
        contest.enter("refusal with its exact wait, at most 1.0", refusal);
        contest.enter(
            "refusal, all full, 1,000 places ahead (cold: 1,000 users), at most 2.0",
            refusal_behind_places(worst),
        );
        contest.print();
    }
}

fn six_checks(users: usize) -> Entry {
    let (peer, calls) = (Peer::new(), world::calls(users));
    let order = shuffle::order(users, USERS);
    Entry::of(USERS, move || {
        for n in &order {
            std::hint::black_box(peer.six_checks(&calls[*n]));
        }
    })
}

fn grant_and_completion(users: usize) -> Entry {
    let (mut world, calls) = (World::with(world::wide_app()), world::calls(users));
    let order = shuffle::order(users, USERS);
    // So that all fit: ten seconds between two calls of the same user, and more among many.
    let apart_ms = if users == 1 { 10_000 } else { 1 };
    Entry::of(USERS, move || {
        for n in &order {
            world.grant_and_complete(&calls[*n], apart_ms);
        }
    })
}

/// One user polls, and the app's shared budget has no room: its own place stands in nobody's way.
fn refusal_by_app() -> Entry {
    let (mut world, calls) = (World::with(NARROW_APP), world::calls(1));
    fill(&mut world, &calls[0], NARROW_APP[0]);
    Entry::of(USERS, move || {
        (0..USERS).for_each(|_| refuse(&mut world, &calls[0]))
    })
}

/// Each of many users has used up its minute, and asks once more; nobody is in line.
fn refusal_by_user() -> Entry {
    let (mut full, calls) = (World::with(world::wide_app()), world::calls(USERS));
    calls.iter().for_each(|call| fill(&mut full, call, 120));
    let order = shuffle::order(USERS, USERS);
    let fresh = full.clone();
    Entry::prepared(
        USERS,
        fresh,
        move || full.clone(),
        move |world| {
            order.iter().for_each(|user| refuse(world, &calls[*user]));
        },
    )
}

/// Minute and hour are used up, and as many stand in line as a budget keeps.
fn refusal_behind_places(users: usize) -> Entry {
    let (mut world, calls) = (World::with(world::wide_app()), world::calls(users));
    world.fill_hours(&calls);
    for call in &calls {
        (0..PLACES).for_each(|_| refuse(&mut world, call));
    }
    let order = shuffle::order(users, USERS);
    Entry::of(USERS, move || {
        order
            .iter()
            .for_each(|user| refuse(&mut world, &calls[*user]))
    })
}

/// So many calls go and end, one after the other; nobody is refused.
fn fill(world: &mut World, call: &Call, calls: u32) {
    (0..calls).for_each(|_| world.grant_and_complete(call, 0));
}

fn refuse(world: &mut World, call: &Call) {
    match std::hint::black_box(world.ask(call)) {
        Answer::Refused(Refusal::Busy(_)) => {}
        other => panic!("it does not fit: {other:?}"),
    }
}
