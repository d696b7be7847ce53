//! What a user's counts cost in memory. See docs/BENCHMARKS.md.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints its result, and ends if it cannot go on"
)]

#[path = "engine/world.rs"]
mod world;

use std::alloc::System;

use cap::Cap;
use world::World;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const USERS: usize = 100_000;
/// The same where each has used up its minute and its hour.
const USERS_SATURATED: usize = 10_000;

fn main() {
    println!("| | bytes for each user | at most |");
    println!("|---|---|---|");
    let calls = world::calls(USERS);
    let used = bytes(|world| {
        for _ in 0..20 {
            // 100 s between two calls of the same user.
            calls
                .iter()
                .for_each(|call| world.grant_and_complete(call, 1));
        }
    });
    println!(
        "| {USERS} users with 20 calls in their windows | {} | 300 |",
        used / USERS
    );
    let calls = world::calls(USERS_SATURATED);
    let used = bytes(|world| world.fill_hours(&calls));
    println!(
        "| {USERS_SATURATED} users with 400 calls in their hour | {} | 2000 |",
        used / USERS_SATURATED
    );
}

/// What the engine has allocated when this has been done to it.
fn bytes(act: impl FnOnce(&mut World)) -> usize {
    let before = ALLOCATOR.allocated();
    let mut world = World::with(world::wide_app());
    act(&mut world);
    let used = ALLOCATOR.allocated() - before;
    drop(world);
    used
}
