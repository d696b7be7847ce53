//! Makes a script that breaks a rule smaller, until nothing can be dropped without losing it.

use std::mem::replace;

use crate::script::{Ending, Script};
use crate::world::{Broken, Outcome};

/// At most so many runs.
const RUNS_MAX: usize = 3_000;

/// The smallest script found that breaks the same rule.
pub fn shrink(
    script: Script,
    broken: Broken,
    run: impl Fn(&Script) -> Outcome,
) -> (Script, Broken) {
    let mut shrinking = Shrinking {
        best: script,
        broken,
        runs: 0,
        run,
    };
    while shrinking.round() && shrinking.runs < RUNS_MAX {}
    (shrinking.best, shrinking.broken)
}

struct Shrinking<R> {
    best: Script,
    broken: Broken,
    runs: usize,
    run: R,
}

impl<R: Fn(&Script) -> Outcome> Shrinking<R> {
    /// Tries everything once; true if something went.
    fn round(&mut self) -> bool {
        let end = self.broken.at_ms.min(self.best.lasts_ms);
        let mut smaller = end < self.best.lasts_ms
            && self.attempt(|script| {
                script.lasts_ms = end;
                true
            });
        smaller |= self.halve(|script| &mut script.lasts_ms);
        smaller |= self.halve(|script| &mut script.asks_each);
        smaller |= self.drop_parts(|script| &mut script.callers);
        smaller |= self.drop_parts(|script| &mut script.faults);
        smaller |= self.drop_layers();
        smaller | self.simplify()
    }

    /// Halves a number, then lowers it by one.
    fn halve(&mut self, number: impl Fn(&mut Script) -> &mut u64) -> bool {
        let mut smaller = false;
        for lower in [
            |n: u64| n / 2,
            |n: u64| n * 7 / 8,
            |n: u64| n.saturating_sub(1),
        ] {
            let mut steps = 0;
            while steps < 40
                && self.attempt(|script| {
                    let number = number(script);
                    let before = replace(number, lower(*number));
                    before != *number
                })
            {
                (smaller, steps) = (true, steps + 1);
            }
        }
        smaller
    }

    /// Drops halves, quarters, and so on to single parts.
    fn drop_parts<T: Clone>(&mut self, parts: impl Fn(&mut Script) -> &mut Vec<T>) -> bool {
        let mut smaller = false;
        let mut size = parts(&mut self.best.clone()).len();
        while size > 0 {
            let mut from = 0;
            while from < parts(&mut self.best.clone()).len() {
                let dropped = self.attempt(|script| {
                    let parts = parts(script);
                    let to = (from + size).min(parts.len());
                    parts.drain(from..to).count() > 0
                });
                smaller |= dropped;
                from += if dropped { 0 } else { size };
            }
            size /= 2;
        }
        smaller
    }

    fn drop_layers(&mut self) -> bool {
        let mut smaller = false;
        for workload in 0..self.best.policies.len() {
            let mut n = 0;
            while n < self.best.policies[workload].layers().len() {
                let dropped = self.attempt(|script| {
                    let policy = &script.policies[workload];
                    let mut layers = policy.layers().to_vec();
                    layers.remove(n);
                    let fewer = spillway::Policy::new(layers, policy.background_share());
                    fewer.map(|fewer| script.policies[workload] = fewer).is_ok()
                });
                smaller |= dropped;
                n += usize::from(!dropped);
            }
        }
        smaller
    }

    /// Makes callers alike and plain.
    fn simplify(&mut self) -> bool {
        let mut smaller = self.attempt(|script| replace(&mut script.timer_lag_ms, 0) != 0);
        for n in 0..self.best.callers.len() {
            smaller |= self.attempt(|script| replace(&mut script.callers[n].latency_ms, 0) != 0);
            smaller |= self.attempt(|script| replace(&mut script.callers[n].starts_ms, 0) != 0);
            smaller |= self.attempt(|script| replace(&mut script.callers[n].weight, 1) != 1);
            smaller |= self.attempt(|script| {
                replace(&mut script.callers[n].ending, Ending::Prompt) != Ending::Prompt
            });
        }
        smaller
    }

    /// Keeps a change if the same rule is still broken.
    fn attempt(&mut self, change: impl FnOnce(&mut Script) -> bool) -> bool {
        let mut script = self.best.clone();
        if self.runs >= RUNS_MAX || !change(&mut script) || script.callers.is_empty() {
            return false;
        }
        self.runs += 1;
        let Some(broken) = (self.run)(&script).broken else {
            return false;
        };
        if broken.invariant != self.broken.invariant {
            return false;
        }
        (self.best, self.broken) = (script, broken);
        true
    }
}
