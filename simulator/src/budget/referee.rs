//! Measuring: the most that was ever seen, apart from what was enforced.
//!
//! A peak is the highest number of arrivals, refused ones included, in **any** sliding window of
//! the layer's length, whatever kind of window is enforced. An upstream's phase cannot be known
//! from outside, so whoever keeps a sliding window within the limit keeps every fixed one, and
//! only that earns a clean score here.

use std::collections::VecDeque;

use crate::settings::ScopeLimits;

/// What one budget has seen.
#[derive(Debug)]
pub(crate) struct Referee {
    rates: Vec<RatePeak>,
    in_flight: u32,
    in_flight_peak: u32,
}

impl Referee {
    /// Nothing seen yet.
    pub(crate) fn new(limits: &ScopeLimits) -> Self {
        let peak = |rate: &crate::Rate| RatePeak {
            window_us: rate.window_ms * 1000,
            kept_max: (rate.limit as usize * 4).max(1000),
            arrivals: VecDeque::new(),
            peak: 0,
        };
        Self {
            rates: limits.rates.iter().map(peak).collect(),
            in_flight: 0,
            in_flight_peak: 0,
        }
    }

    /// A call arrived; one that is refused was there for an instant all the same.
    pub(crate) fn arrived(&mut self, now_us: u64) {
        self.rates.iter_mut().for_each(|rate| rate.add(now_us));
        self.in_flight_peak = self.in_flight_peak.max(self.in_flight + 1);
    }

    /// The call that just arrived is being worked on.
    pub(crate) fn entered(&mut self) {
        self.in_flight += 1;
    }

    /// A call is over.
    pub(crate) fn left(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The peak of each layer: the rates in their order, then calls in flight.
    pub(crate) fn peaks(&self) -> impl Iterator<Item = u32> {
        let rates = self.rates.iter().map(|rate| rate.peak);
        rates.chain([self.in_flight_peak])
    }

    /// Arrivals in the windows that end now, in the rates' order.
    pub(crate) fn last_windows(&mut self, now_us: u64) -> Vec<u32> {
        let count = |rate: &mut RatePeak| rate.in_window(now_us);
        self.rates.iter_mut().map(count).collect()
    }

    /// Calls in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[derive(Debug)]
struct RatePeak {
    window_us: u64,
    /// More arrivals than this in one window are not told apart, so that a storm costs bounded
    /// memory. It is four times the limit and at least 1,000.
    kept_max: usize,
    arrivals: VecDeque<u64>,
    peak: u32,
}

impl RatePeak {
    fn add(&mut self, now_us: u64) {
        self.arrivals.push_back(now_us);
        if self.arrivals.len() > self.kept_max {
            self.arrivals.pop_front();
        }
        self.peak = self.peak.max(self.in_window(now_us));
    }

    fn in_window(&mut self, now_us: u64) -> u32 {
        while self
            .arrivals
            .front()
            .is_some_and(|t| t + self.window_us <= now_us)
        {
            self.arrivals.pop_front();
        }
        u32::try_from(self.arrivals.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;
    use crate::random::{between, mix};

    fn referee(window_ms: u64, limit: u32) -> Referee {
        Referee::new(&ScopeLimits {
            rates: vec![Rate { limit, window_ms }],
            concurrent: 5,
        })
    }

    /// The most arrivals in any `[start, start + window)`, over every start that matters.
    fn brute_force(arrivals: &[u64], window_us: u64) -> u32 {
        let in_window = |start: u64| {
            let inside = arrivals
                .iter()
                .filter(|t| (start..start + window_us).contains(*t));
            inside.count() as u32
        };
        arrivals
            .iter()
            .map(|start| in_window(*start))
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn rate_peaks_equal_a_brute_force_count() {
        for seed in 0..200_u64 {
            let window_ms = between(mix(seed), 1, 50);
            let mut referee = referee(window_ms, 400);
            let mut random = mix(seed ^ 0xfeed);
            let (mut now_us, mut arrivals) = (0, Vec::new());
            for _ in 0..between(random, 1, 300) {
                random = mix(random);
                now_us += if random.is_multiple_of(5) {
                    0
                } else {
                    between(random, 0, 9_000)
                };
                arrivals.push(now_us);
                referee.arrived(now_us);
            }
            let expected = brute_force(&arrivals, window_ms * 1000);
            assert_eq!(referee.peaks().next(), Some(expected), "seed {seed}");
        }
    }

    #[test]
    fn a_refused_call_shows_in_the_flight_peak() {
        let mut referee = referee(1000, 10);
        for _ in 0..2 {
            referee.arrived(0);
            referee.entered();
        }
        referee.arrived(0);
        assert_eq!((referee.in_flight(), referee.peaks().last()), (2, Some(3)));
        referee.left();
        assert_eq!((referee.in_flight(), referee.peaks().last()), (1, Some(3)));
    }

    #[test]
    fn the_last_window_drains_while_the_peak_stays() {
        let mut referee = referee(60_000, 120);
        (0..50).for_each(|n| referee.arrived(n * 1_000_000));
        assert_eq!(referee.last_windows(59_999_999), [50]);
        assert_eq!(referee.last_windows(60_000_000), [49]);
        assert_eq!(referee.last_windows(200_000_000), [0]);
        assert_eq!(referee.peaks().next(), Some(50));
    }

    #[test]
    fn a_storm_costs_bounded_memory() {
        let mut referee = referee(60_000, 120);
        (0..100_000).for_each(|n| referee.arrived(n));
        assert_eq!(referee.rates[0].arrivals.len(), 1000);
        assert_eq!(referee.peaks().next(), Some(1000));
    }
}
