//! The calls that ended within one window of a rate layer.

use std::collections::VecDeque;

use crate::call::{Lane, PerLane};
use crate::time::Instant;

/// Up to this limit every landed call is kept by itself: exact, and at most 8 kB a window.
const EXACT_LIMIT_MAX: u32 = 512;

/// Above it calls share buckets, this many to a window: what coarse counting costs is one
/// bucket's width, 0.8 % of the window.
const BUCKETS: u64 = 120;

/// What landed at one instant, or in one bucket that ends then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Landed {
    /// The instant, or the bucket's end.
    pub at: Instant,
    /// The weight, by lane.
    pub weight: PerLane<u64>,
}

/// Landed weight, counted until one full (stretched) window after it landed.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    window_ms: u64,
    span_ms: u64,
    bucket_ms: u64,
    entries: VecDeque<Landed>,
    weight: PerLane<u64>,
}

impl Window {
    /// An empty window of a layer of `limit` per `window_ms`.
    pub(crate) fn new(window_ms: u64, limit: u32) -> Self {
        let bucket_ms = if limit <= EXACT_LIMIT_MAX {
            1
        } else {
            (window_ms / BUCKETS).max(1)
        };
        Self {
            window_ms,
            span_ms: stretched_ms(window_ms),
            bucket_ms,
            entries: VecDeque::new(),
            weight: PerLane::default(),
        }
    }

    /// The same window with nothing counted.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            entries: VecDeque::new(),
            weight: PerLane::default(),
            ..*self
        }
    }

    /// The layer's window, unstretched.
    pub(crate) const fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// For how long landed weight counts.
    pub(crate) const fn span_ms(&self) -> u64 {
        self.span_ms
    }

    /// What counts now, as of the last [`advance`](Self::advance).
    pub(crate) const fn weight(&self) -> PerLane<u64> {
        self.weight
    }

    /// What counts now, oldest first.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Landed> + '_ {
        self.entries.iter().copied()
    }

    /// Forgets what landed a full window before `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(oldest) = self.entries.front()
            && oldest.at.plus_ms(self.span_ms) <= now
        {
            self.weight.foreground -= oldest.weight.foreground;
            self.weight.background -= oldest.weight.background;
            self.entries.pop_front();
        }
    }

    /// Counts `weight` that ended at `at`, which is not before anything counted so far.
    pub(crate) fn land(&mut self, at: Instant, lane: Lane, weight: u64) {
        let mut landed = PerLane::default();
        *landed.get_mut(lane) = weight;
        self.put(Landed { at, weight: landed });
    }

    /// Counts what another window, or a snapshot, held.
    pub(crate) fn put(&mut self, landed: Landed) {
        if landed.weight.total() == 0 {
            return;
        }
        let at = self.bucket_end(landed.at);
        self.weight.foreground += landed.weight.foreground;
        self.weight.background += landed.weight.background;
        match self.entries.back_mut() {
            // `>=`: a restored bucket may end after a call that lands in the middle of it.
            Some(last) if last.at >= at => {
                last.weight.foreground += landed.weight.foreground;
                last.weight.background += landed.weight.background;
            }
            _ => self.entries.push_back(Landed { at, ..landed }),
        }
    }

    /// When enough has been forgotten that `total` of all and `background` of the background's
    /// weight is gone; `None` if so much has not landed.
    pub(crate) fn forgets_at(&self, total: u64, background: u64) -> Option<Instant> {
        let mut gone = PerLane::default();
        if total == 0 && background == 0 {
            return Some(Instant(0));
        }
        for entry in &self.entries {
            gone.foreground += entry.weight.foreground;
            gone.background += entry.weight.background;
            if gone.total() >= total && gone.background >= background {
                return Some(entry.at.plus_ms(self.span_ms));
            }
        }
        None
    }

    /// Exact windows keep the instant itself; buckets count from their end, the latest
    /// instant that any of their calls ended at. One that was written down keeps its end.
    const fn bucket_end(&self, at: Instant) -> Instant {
        Instant(at.0.div_ceil(self.bucket_ms) * self.bucket_ms)
    }
}

/// A window and 0.05 % + 1 ms: clocks of different machines drift apart by less than
/// 500 ppm, and reading a clock in whole milliseconds loses up to one.
pub(crate) const fn stretched_ms(window_ms: u64) -> u64 {
    window_ms + window_ms.div_ceil(2000) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landed(window: &mut Window, at_ms: u64, weight: u64) {
        window.advance(Instant(at_ms));
        window.land(Instant(at_ms), Lane::Foreground, weight);
    }

    #[test]
    fn an_exact_window_forgets_a_call_one_stretched_window_after_it_ended() {
        let mut window = Window::new(60_000, 120);
        landed(&mut window, 5_000, 2);
        window.advance(Instant(65_030));
        assert_eq!(window.weight().total(), 2);
        window.advance(Instant(65_031));
        assert_eq!(window.weight().total(), 0);
    }

    #[test]
    fn a_bucket_lives_until_its_end_and_a_window() {
        let mut window = Window::new(120_000, 10_000);
        landed(&mut window, 1_500, 1);
        landed(&mut window, 2_000, 1);
        landed(&mut window, 2_001, 1);
        assert_eq!(window.entries().count(), 2);
        window.advance(Instant(2_000 + stretched_ms(120_000) - 1));
        assert_eq!(window.weight().total(), 3);
        window.advance(Instant(2_000 + stretched_ms(120_000)));
        assert_eq!(window.weight().total(), 1);
    }

    #[test]
    fn it_tells_when_enough_is_forgotten() {
        let mut window = Window::new(1_000, 10);
        landed(&mut window, 10, 1);
        window.land(Instant(20), Lane::Background, 2);
        assert_eq!(
            window.forgets_at(1, 0),
            Some(Instant(10).plus_ms(stretched_ms(1_000)))
        );
        assert_eq!(
            window.forgets_at(1, 1),
            Some(Instant(20).plus_ms(stretched_ms(1_000)))
        );
        assert_eq!(window.forgets_at(4, 0), None);
    }
}
