//! Refusing: the limits of one budget, enforced in the plainest way that is right.
//!
//! A fixed window is a counter that starts again at each boundary. A sliding one is a list of
//! instants: a call counts at `t` and at every instant before `t + window`.

use std::collections::VecDeque;

use crate::settings::{ScopeLimits, Windows};

/// The limits of one budget and what counts against them.
#[derive(Debug)]
pub(crate) struct Gate {
    rates: Vec<RateGate>,
    concurrent: u32,
    in_flight: u32,
}

impl Gate {
    /// An untouched budget. `phase_us` gives the offset of a fixed window of the given length.
    pub(crate) fn new(
        limits: &ScopeLimits,
        windows: Windows,
        phase_us: impl Fn(u64) -> u64,
    ) -> Self {
        let gate = |rate: &crate::Rate| {
            let window_us = rate.window_ms * 1000;
            let count = match windows {
                Windows::Fixed => Count::fixed(phase_us(window_us)),
                Windows::Sliding => Count::Sliding(VecDeque::new()),
            };
            RateGate {
                limit: rate.limit,
                window_us,
                count,
            }
        };
        Self {
            rates: limits.rates.iter().map(gate).collect(),
            concurrent: limits.concurrent,
            in_flight: 0,
        }
    }

    /// Which layers refuse a call now: the rates in their order, then concurrency.
    pub(crate) fn refusals(&mut self, now_us: u64) -> Vec<bool> {
        let rates = self.rates.iter_mut().map(|rate| rate.is_full(now_us));
        rates.chain([self.in_flight >= self.concurrent]).collect()
    }

    /// How long until every rate has room, if nothing is counted before.
    pub(crate) fn wait_us(&mut self, now_us: u64) -> u64 {
        let waits = self.rates.iter_mut().map(|rate| rate.wait_us(now_us));
        waits.max().unwrap_or(0)
    }

    /// Counts one call against every rate.
    pub(crate) fn count(&mut self, now_us: u64) {
        self.rates.iter_mut().for_each(|rate| rate.add(now_us));
    }

    /// One more call is in flight.
    pub(crate) fn enter(&mut self) {
        self.in_flight += 1;
    }

    /// One call is over.
    pub(crate) fn leave(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }
}

#[derive(Debug)]
struct RateGate {
    limit: u32,
    window_us: u64,
    count: Count,
}

#[derive(Debug)]
enum Count {
    Fixed {
        phase_us: u64,
        window: u64,
        calls: u64,
    },
    /// When the newest calls were counted, oldest first; never more than the limit, since older
    /// ones cannot change a verdict.
    Sliding(VecDeque<u64>),
}

impl Count {
    fn fixed(phase_us: u64) -> Self {
        Self::Fixed {
            phase_us,
            window: 0,
            calls: 0,
        }
    }
}

impl RateGate {
    fn is_full(&mut self, now_us: u64) -> bool {
        self.forget(now_us);
        match &self.count {
            Count::Fixed { calls, .. } => *calls >= u64::from(self.limit),
            Count::Sliding(log) => log.len() >= self.limit as usize,
        }
    }

    fn add(&mut self, now_us: u64) {
        self.forget(now_us);
        match &mut self.count {
            Count::Fixed { calls, .. } => *calls += 1,
            Count::Sliding(log) => {
                log.push_back(now_us);
                if log.len() > self.limit as usize {
                    log.pop_front();
                }
            }
        }
    }

    /// How long until it has room.
    fn wait_us(&mut self, now_us: u64) -> u64 {
        if !self.is_full(now_us) {
            return 0;
        }
        match &self.count {
            Count::Fixed { phase_us, .. } => self.window_us - (now_us + phase_us) % self.window_us,
            Count::Sliding(log) => log.front().map_or(0, |t| t + self.window_us - now_us),
        }
    }

    /// Drops what no longer counts.
    fn forget(&mut self, now_us: u64) {
        match &mut self.count {
            Count::Fixed {
                phase_us,
                window,
                calls,
            } => {
                let current = (now_us + *phase_us) / self.window_us;
                if current != *window {
                    (*window, *calls) = (current, 0);
                }
            }
            Count::Sliding(log) => {
                while log.front().is_some_and(|t| t + self.window_us <= now_us) {
                    log.pop_front();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    const S: u64 = 1_000_000;

    fn gate(windows: Windows, phase_us: u64) -> Gate {
        let limits = ScopeLimits {
            rates: vec![Rate {
                limit: 3,
                window_ms: 60_000,
            }],
            concurrent: 2,
        };
        Gate::new(&limits, windows, |_| phase_us)
    }

    /// Whether a call that ends at once is let through; refused ones are not counted.
    fn passes(gate: &mut Gate, now_us: u64) -> bool {
        let passes = !gate.refusals(now_us).contains(&true);
        if passes {
            gate.count(now_us);
        }
        passes
    }

    #[test]
    fn a_sliding_window_frees_each_call_one_window_later() {
        let mut gate = gate(Windows::Sliding, 0);
        assert!(
            [0, 10 * S, 59 * S]
                .map(|t| passes(&mut gate, t))
                .iter()
                .all(|p| *p)
        );
        assert!(!passes(&mut gate, 60 * S - 1));
        assert!(passes(&mut gate, 60 * S));
        assert!(!passes(&mut gate, 70 * S - 1));
        assert!(passes(&mut gate, 70 * S));
    }

    #[test]
    fn a_fixed_window_starts_again_at_its_own_phase() {
        // Boundaries at 40 s, 100 s, …
        let mut gate = gate(Windows::Fixed, 20 * S);
        assert!(
            [30, 38, 39]
                .map(|t| passes(&mut gate, t * S))
                .iter()
                .all(|p| *p)
        );
        assert!(!passes(&mut gate, 40 * S - 1));
        assert!(
            [40, 41, 42]
                .map(|t| passes(&mut gate, t * S))
                .iter()
                .all(|p| *p)
        );
        assert!(!passes(&mut gate, 100 * S - 1));
        assert!(passes(&mut gate, 100 * S));
    }

    #[test]
    fn counting_refused_calls_keeps_a_sliding_window_full() {
        let mut gate = gate(Windows::Sliding, 0);
        for t in 0..200 {
            gate.refusals(t * S);
            gate.count(t * S);
        }
        assert_eq!(gate.refusals(200 * S), [true, false]);
        assert_eq!(gate.refusals(257 * S), [false, false]);
    }

    #[test]
    fn the_wait_ends_when_there_is_room() {
        for windows in [Windows::Fixed, Windows::Sliding] {
            let mut gate = gate(windows, 20 * S);
            for t in [30, 38, 39] {
                assert_eq!(gate.wait_us(t * S), 0);
                assert!(passes(&mut gate, t * S));
            }
            let wait_us = gate.wait_us(39 * S);
            assert!(wait_us > 0 && !passes(&mut gate, 39 * S + wait_us - 1));
            assert!(passes(&mut gate, 39 * S + wait_us), "{windows:?}");
        }
    }

    #[test]
    fn concurrency_counts_what_has_not_left() {
        let mut gate = gate(Windows::Sliding, 0);
        gate.enter();
        assert_eq!(gate.refusals(0), [false, false]);
        gate.enter();
        assert_eq!(gate.refusals(0), [false, true]);
        gate.leave();
        assert_eq!(gate.refusals(0), [false, false]);
    }
}
