//! Where time comes from: the machine's monotonic clock, sped up, and its wall clock for dates.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Turns the machine's time into the lookalike's, which runs `scale` times as fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    scale: u32,
}

impl Clock {
    /// A clock that starts now; `scale` is at least 1.
    pub(crate) fn new(scale: u32) -> Self {
        Self {
            start: Instant::now(),
            scale: scale.max(1),
        }
    }

    /// Unscaled microseconds since the start.
    pub(crate) fn now_us(&self) -> u64 {
        let elapsed = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        elapsed.saturating_mul(u64::from(self.scale))
    }

    /// How long `unscaled_us` takes on the wall.
    pub(crate) fn wall(&self, unscaled_us: u64) -> Duration {
        Duration::from_micros(unscaled_us / u64::from(self.scale))
    }
}

/// Wall-clock seconds since 1970, for the dates inside error bodies.
pub(crate) fn wall_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0))
}

/// `2026-09-25T08:41:06`, without a zone, as OneNote writes dates in error bodies.
pub(crate) fn date(seconds: i64) -> String {
    let stamp = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    stamp.to_string().trim_end_matches('Z').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn runs_scale_times_as_fast() {
        let clock = Clock::new(60);
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(clock.now_us(), 90_000_000);
        assert_eq!(clock.wall(60_000_000), Duration::from_secs(1));
    }

    #[test]
    fn writes_dates_without_a_zone() {
        assert_eq!(date(1_695_631_266), "2023-09-25T08:41:06");
    }
}
