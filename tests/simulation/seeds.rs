//! Which seeds are run, and what is said of one that breaks a rule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::generate::script;
use crate::prng::mix;
use crate::script::Script;
use crate::shrink::shrink;
use crate::world::{Broken, Outcome, run};

/// One seed in so many is run a second time, with another hash seed, to see the same decisions.
const SAME_EACH: u64 = 8;

/// What all runs together did: a simulation in which nothing happens proves nothing.
#[derive(Debug, Default)]
pub struct Sums {
    pub seeds: u64,
    pub asked: u64,
    pub granted: u64,
    pub trips: u64,
    pub restarts: u64,
    pub exact_waits: u64,
}

/// Runs each seed; panics with the smallest script if one breaks a rule.
pub fn check(seeds: impl IntoIterator<Item = u64>) -> Sums {
    let mut sums = Sums::default();
    for seed in seeds {
        let script = script(seed);
        let outcome = caught(&script);
        if let Some(broken) = &outcome.broken {
            report(seed, script, broken);
        }
        if seed.is_multiple_of(SAME_EACH) {
            let again = run(&script, mix(seed));
            assert_eq!(
                outcome.trace.hash, again.trace.hash,
                "seed {seed}: decided otherwise"
            );
        }
        sums.seeds += 1;
        sums.asked += outcome.asked;
        sums.granted += outcome.granted;
        sums.trips += outcome.trips;
        sums.restarts += outcome.restarts;
        sums.exact_waits += outcome.exact_waits;
    }
    println!("{sums:?}");
    sums
}

/// `SPILLWAY_SEED`: this seed alone.
pub fn asked_for() -> Option<u64> {
    number("SPILLWAY_SEED")
}

/// `SPILLWAY_SEEDS`: how many, else `default`.
pub fn how_many(default: u64) -> u64 {
    number("SPILLWAY_SEEDS").unwrap_or(default)
}

/// A number that nobody knows before.
pub fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    mix(since.map_or(0, |since| since.as_nanos() as u64)) >> 16
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("a whole number"))
}

fn report(seed: u64, script: Script, broken: &Broken) -> ! {
    println!("seed {seed} breaks a rule, shrinking: {broken:?}");
    let (script, broken) = shrink(script, broken.clone(), caught);
    let last = caught(&script).trace;
    panic!(
        "seed {seed} breaks '{}' after {} ms: {}\nsmallest script: {script:#?}\nits last \
         decisions:\n{last:?}replay: SPILLWAY_SEED={seed} cargo test -p spillway --test simulation",
        broken.invariant, broken.at_ms, broken.why
    );
}

/// A panic of the engine breaks a rule too.
pub fn caught(script: &Script) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| run(script, 0))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let why = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let broken = Broken {
            invariant: "no panic",
            why: why.unwrap_or("the engine panicked").to_owned(),
            at_ms: script.lasts_ms,
        };
        Outcome {
            broken: Some(broken),
            ..Outcome::default()
        }
    })
}
