//! A deterministic simulation: the engine as its driver runs it, callers of many moods and an
//! upstream with counters of its own, on a virtual clock. Everything follows from a seed, so
//! what breaks a rule can be replayed and made small.
//!
//! | variable | meaning |
//! |---|---|
//! | `SPILLWAY_SEED` | run this seed alone |
//! | `SPILLWAY_SEEDS` | how many seeds of the fixed range to run |

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod adapter;
mod answers;
mod generate;
mod invariants;
mod pauses;
mod prng;
mod referee;
mod script;
mod seeds;
mod seen;
mod shrink;
mod upstream;
mod world;

/// Seeds that broke a rule once, whoever was wrong.
const REGRESSIONS: [u64; 33] = [
    1,
    4,
    9,
    22,
    32,
    35,
    57,
    59,
    83,
    89,
    94,
    97,
    111,
    114,
    191,
    230,
    249,
    266,
    286,
    406,
    456,
    741,
    845,
    894,
    978,
    3353,
    9818,
    90_516_202_176_830,
    4_924,
    7_150,
    7_590,
    7_663,
    144_279_614_384_206,
];

/// How many seeds of the fixed range are run, and how many nobody has seen before.
const FIXED: u64 = 1_500;
const FRESH: u64 = 100;

#[test]
fn what_broke_a_rule_once_breaks_none() {
    if seeds::asked_for().is_none() {
        seeds::check(REGRESSIONS);
    }
}

#[test]
fn no_seed_breaks_a_rule() {
    if let Some(seed) = seeds::asked_for() {
        seeds::check([seed]);
        return;
    }
    let sums = seeds::check(0..seeds::how_many(FIXED));
    let enough = |n: u64, each_seed: u64| assert!(n >= sums.seeds * each_seed, "{sums:?}");
    enough(sums.asked, 150);
    enough(sums.granted, 50);
    enough(sums.exact_waits, 5);
}

#[test]
fn no_fresh_seed_breaks_a_rule() {
    if seeds::asked_for().is_none() {
        let first = seeds::fresh();
        println!("fresh seeds from {first} on");
        seeds::check(first..first + FRESH);
    }
}
