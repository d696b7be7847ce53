//! The engine's clock: monotonic, anchored once, perhaps running faster than the wall.
//!
//! Anchored at start to the later of the wall clock and the latest instant that was
//! written down, so that a wall clock that was set back frees nothing. Steps of the wall
//! clock while running change nothing but what is shown.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use jiff::Timestamp;
use spillway::Instant;

/// Below this, the wall clock is merely disciplined; above, it was set, and what is shown follows.
const STEP_MS: i64 = 1_000;

/// When the engine's clock begins, and how fast it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many times as fast as the wall clock; 1 outside the demo.
    pub scale: u32,
    /// Not earlier than this, also where the wall clock and what was written down are: so that what
    /// depends on minutes and days can be tried at any of them.
    pub not_before: Instant,
}

impl From<u32> for Pace {
    fn from(scale: u32) -> Self {
        Self {
            scale,
            not_before: Instant(0),
        }
    }
}

/// Time as the engine, the wall and the runtime know it.
#[derive(Debug)]
pub struct Clock {
    anchor: Instant,
    started: tokio::time::Instant,
    scale: u32,
    /// The wall clock at `started`, Unix milliseconds, corrected when it was set.
    wall_ms: AtomicI64,
}

impl Clock {
    /// A clock that begins now, not before `high_water`, and runs `scale` times as fast as
    /// the wall clock (1 outside the demo).
    #[must_use]
    pub fn start(high_water: Instant, scale: u32) -> Self {
        let wall_ms = wall().as_millisecond();
        let wall = Instant(u64::try_from(wall_ms).unwrap_or(0));
        Self {
            anchor: wall.max(high_water),
            started: tokio::time::Instant::now(),
            scale: scale.max(1),
            wall_ms: AtomicI64::new(wall_ms),
        }
    }

    /// How many times faster than the wall clock it runs.
    #[must_use]
    pub const fn scale(&self) -> u32 {
        self.scale
    }

    /// When it was started, on the wall clock.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.timestamp(self.anchor)
    }

    /// The engine's now.
    #[must_use]
    pub fn now(&self) -> Instant {
        let elapsed_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.anchor
            .plus_ms(elapsed_us.saturating_mul(u64::from(self.scale)) / 1_000)
    }

    /// The engine's milliseconds in `wall` time, rounded up.
    #[must_use]
    pub fn engine_ms(&self, wall: Duration) -> u64 {
        let us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        us.saturating_mul(u64::from(self.scale)).div_ceil(1_000)
    }

    /// Wall time in `ms` of the engine's, rounded up to a microsecond.
    #[must_use]
    pub fn wall(&self, ms: u64) -> Duration {
        Duration::from_micros(ms.saturating_mul(1_000).div_ceil(u64::from(self.scale)))
    }

    /// When the runtime reaches `at`: not a microsecond before.
    #[must_use]
    pub fn reached_at(&self, at: Instant) -> tokio::time::Instant {
        self.started + self.wall(at.ms_since(self.anchor))
    }

    /// `at` on the wall clock, UTC. What was before the start is as far before it.
    #[must_use]
    pub fn timestamp(&self, at: Instant) -> Timestamp {
        let ms = |length: u64| i64::try_from(self.wall(length).as_millis()).unwrap_or(i64::MAX);
        let (after, before) = (at.ms_since(self.anchor), self.anchor.ms_since(at));
        let start = self.wall_ms.load(Ordering::Relaxed);
        let ms = start.saturating_add(ms(after)).saturating_sub(ms(before));
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    /// The wall clock now; notices when it was set.
    #[must_use]
    pub fn wall_now(&self) -> Timestamp {
        let now = wall();
        let elapsed_ms = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        let at_start = now.as_millisecond().saturating_sub(elapsed_ms);
        if at_start.abs_diff(self.wall_ms.load(Ordering::Relaxed)) > STEP_MS.unsigned_abs() {
            self.wall_ms.store(at_start, Ordering::Relaxed);
        }
        now
    }
}

/// The machine's wall clock.
#[cfg(not(test))]
fn wall() -> Timestamp {
    Timestamp::now()
}

/// The machine's wall clock, as a test has set it.
#[cfg(test)]
fn wall() -> Timestamp {
    let ms = Timestamp::now().as_millisecond() + tests::SET_MS.get();
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// By how much the wall clock was set, in milliseconds; each test has a thread.
        pub(super) static SET_MS: Cell<i64> = const { Cell::new(0) };
    }

    /// Sets the wall clock so far from the machine's, ahead or behind.
    pub(crate) fn set_wall(ms: i64) {
        SET_MS.set(ms);
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_as_fast_as_told_and_wakes_no_earlier() {
        let clock = Clock::start(Instant(0), 60);
        let start = clock.now();
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(clock.now().ms_since(start), 30_000);
        let at = start.plus_ms(60_001);
        tokio::time::sleep_until(clock.reached_at(at)).await;
        assert!(clock.now() >= at);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_set_back_before_a_restart_frees_nothing() {
        let future = Instant(u64::MAX / 2);
        assert_eq!(Clock::start(future, 1).now(), future);
    }

    /// Case 32 [go-limiter#41], the clock's part.
    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_is_set_while_running_changes_only_what_is_shown() {
        let hours_ms = 2 * 3_600_000;
        let clock = Clock::start(Instant(0), 1);
        let (start, shown) = (clock.now(), clock.timestamp(clock.now()));
        for set_ms in [-hours_ms, 0, hours_ms, 0] {
            set_wall(set_ms);
            let now = clock.wall_now();
            assert_eq!(clock.now(), start);
            for now in [now, clock.timestamp(start)] {
                // But for the time that the test itself takes.
                let off_ms = now.as_millisecond() - shown.as_millisecond();
                assert!(off_ms.abs_diff(set_ms) < 60_000, "{off_ms}");
            }
        }
    }

    #[tokio::test]
    async fn what_was_before_the_start_is_as_far_before_it() {
        let clock = Clock::start(Instant(0), 1);
        let start = clock.now();
        let hour = clock.timestamp(Instant(start.0 - 3_600_000));
        let apart = clock.timestamp(start).as_millisecond() - hour.as_millisecond();
        assert_eq!(apart, 3_600_000);
    }

    #[test]
    fn lengths_are_never_cut_short() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let _guard = runtime.enter();
        let clock = Clock::start(Instant(0), 60);
        assert_eq!(clock.wall(1), Duration::from_micros(17));
        assert_eq!(clock.engine_ms(Duration::from_micros(17)), 2);
    }
}
