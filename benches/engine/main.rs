//! What the engine's full promise costs (six layers, leases, lanes, exact waits) beside the
//! peer that people reach for: one `check_key` of the crate governor for each layer. All in
//! one run on one thread; only the ratios mean anything. See docs/BENCHMARKS.md.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints its result, and ends if it cannot go on"
)]

mod peer;
mod shuffle;
mod world;

use std::time::Instant as Clock;

use peer::Peer;
use spillway::{Answer, Refusal};
use world::World;

/// How many users take turns when the memory is cold, and how often one does when it is hot.
const USERS: usize = 100_000;

/// The same where each has a thousand places, which take 100 MB.
const USERS_WORST: usize = 1_000;

/// As many refused callers as a budget keeps in line.
const PLACES: usize = 1_000;

/// Below what one user may have in a minute.
const NARROW_APP: [u32; 3] = [110, 800, 20];

/// Each figure is the median of so many rounds.
const ROUNDS: usize = 9;

fn main() {
    println!("Medians of {ROUNDS} rounds, nanoseconds for each call; keys of 36 bytes\n");
    println!("| | hot: one user | cold: {USERS} users in random order |");
    println!("|---|---|---|");
    let peer = [1, USERS].map(six_checks);
    row("six `check_key` of governor", &peer);
    let grants = [1, USERS].map(grant_and_completion);
    row("grant + completion, six layers", &grants);
    let refusals = [refusal_by_app(), refusal_by_user()];
    row("refusal with its exact wait", &refusals);
    let worst = [1, USERS_WORST].map(refusal_behind_places);
    row("the same behind 1,000 places, everything full", &worst);
    println!("\nthe last line's cold figure: {USERS_WORST} users");
    for (name, figures, bar) in [
        ("grant + completion", grants, 1.0),
        ("refusal", refusals, 1.0),
        ("refusal, worst case", worst, 2.0),
    ] {
        let ratio = |n: usize| figures[n] / peer[n];
        println!(
            "{name}: {:.2} x hot, {:.2} x cold (at most {bar})",
            ratio(0),
            ratio(1)
        );
    }
}

fn row(name: &str, figures: &[f64; 2]) {
    println!("| {name} | {:.0} | {:.0} |", figures[0], figures[1]);
}

/// The median over the rounds of what a round costs for each of its calls.
fn median(mut round: impl FnMut(usize), calls: usize) -> f64 {
    let mut figures: Vec<f64> = (0..ROUNDS + 1)
        .map(|n| {
            let begun = Clock::now();
            round(n);
            begun.elapsed().as_nanos() as f64 / calls as f64
        })
        // The first one fills tables and caches.
        .skip(1)
        .collect();
    figures.sort_by(f64::total_cmp);
    figures[ROUNDS / 2]
}

fn six_checks(users: usize) -> f64 {
    let (peer, calls) = (Peer::new(), world::calls(users));
    let order = shuffle::order(users, USERS);
    median(
        |_| {
            for n in &order {
                std::hint::black_box(peer.six_checks(&calls[*n]));
            }
        },
        order.len(),
    )
}

fn grant_and_completion(users: usize) -> f64 {
    let (mut world, calls) = (World::with(world::wide_app()), world::calls(users));
    let order = shuffle::order(users, USERS);
    // So that all fit: ten seconds between two calls of the same user, and more among many.
    let apart_ms = if users == 1 { 10_000 } else { 1 };
    median(
        |_| {
            for n in &order {
                world.grant_and_complete(&calls[*n], apart_ms);
            }
        },
        order.len(),
    )
}

/// One user polls, and the app's shared budget has no room: its own place stands in nobody's way.
fn refusal_by_app() -> f64 {
    let (mut world, calls) = (World::with(NARROW_APP), world::calls(1));
    world.fill(&calls[0]);
    let round = |_| (0..USERS).for_each(|_| refuse(&mut world, &calls[0]));
    median(round, USERS)
}

/// Each of many users has used up its minute, and asks once more.
fn refusal_by_user() -> f64 {
    let (mut full, calls) = (World::with(world::wide_app()), world::calls(USERS));
    calls.iter().for_each(|call| full.fill(call));
    let order = shuffle::order(USERS, USERS);
    // Each round begins with nobody in line.
    let mut worlds: Vec<_> = (0..=ROUNDS).map(|_| full.clone()).collect();
    median(
        |n| {
            order
                .iter()
                .for_each(|user| refuse(&mut worlds[n], &calls[*user]))
        },
        order.len(),
    )
}

/// Minute and hour are used up, and as many stand in line as a budget keeps.
fn refusal_behind_places(users: usize) -> f64 {
    let (mut world, calls) = (World::with(world::wide_app()), world::calls(users));
    world.fill_hours(&calls);
    for call in &calls {
        (0..PLACES).for_each(|_| refuse(&mut world, call));
    }
    let order = shuffle::order(users, USERS);
    median(
        |_| {
            order
                .iter()
                .for_each(|user| refuse(&mut world, &calls[*user]))
        },
        order.len(),
    )
}

fn refuse(world: &mut World, call: &spillway::Call) {
    match std::hint::black_box(world.ask(call)) {
        Answer::Refused(Refusal::Busy(_)) => {}
        other => panic!("it does not fit: {other:?}"),
    }
}
