//! `Retry-After` in whole seconds that clients obey.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// An odd multiplier near 2^32 / φ: consecutive numbers times it fall far apart, so that
/// callers refused together come back evenly over the whole range.
const STEP: u32 = 2_654_435_769;

/// What a client is told to wait where nobody knows for how long it takes: what Graph's SDKs
/// wait by themselves (3 s in JavaScript, .NET and Python alike), so that nobody comes earlier
/// for having been told.
pub const UNKNOWN: Duration = Duration::from_secs(3);

/// Answers waits in seconds; those beyond a client's cap are spread.
#[derive(Debug, Default)]
pub struct RetryAfter {
    next: AtomicU32,
}

impl RetryAfter {
    /// `wait` rounded up to whole seconds, at least 1. Beyond `cap_s`, where SDKs stop
    /// obeying, an instant in the last third of the cap (120 to 179 s of 179), another
    /// one for each caller: whoever comes then is told the rest.
    pub fn seconds(&self, wait: Duration, cap_s: u32) -> u64 {
        let seconds = wait
            .as_secs()
            .saturating_add(u64::from(wait.subsec_nanos() > 0));
        if seconds <= u64::from(cap_s) {
            return seconds.max(1);
        }
        u64::from(self.spread(cap_s))
    }

    fn spread(&self, cap_s: u32) -> u32 {
        let places = (cap_s.saturating_add(1) / 3).max(1);
        let number = self.next.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
        // The high bits are the evenly spread ones.
        let place = (u64::from(number) * u64::from(places)) >> u32::BITS;
        cap_s
            .saturating_sub(u32::try_from(place).unwrap_or_default())
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn waits_are_rounded_up_and_never_shortened_below_the_cap() {
        let retry = RetryAfter::default();
        for (wait_ms, seconds) in [
            (0, 1),
            (1, 1),
            (249, 1),
            (1000, 1),
            (1001, 2),
            (59_999, 60),
            (178_001, 179),
            (179_000, 179),
        ] {
            assert_eq!(
                retry.seconds(Duration::from_millis(wait_ms), 179),
                seconds,
                "{wait_ms}"
            );
        }
        assert_eq!(retry.seconds(Duration::from_nanos(1_000_000_001), 179), 2);
    }

    #[test]
    fn longer_waits_spread_evenly_over_the_last_third() {
        let retry = RetryAfter::default();
        let mut told: HashMap<u64, u32> = HashMap::new();
        for _ in 0..6_000 {
            *told
                .entry(retry.seconds(Duration::from_secs(1_800), 179))
                .or_default() += 1;
        }
        assert_eq!(told.keys().min(), Some(&120));
        assert_eq!(told.keys().max(), Some(&179));
        assert!(
            told.values().all(|&callers| (90..=110).contains(&callers)),
            "{told:?}"
        );
    }

    #[test]
    fn a_small_cap_is_kept() {
        let retry = RetryAfter::default();
        for cap in [1, 2, 3, 60] {
            for _ in 0..200 {
                let told = retry.seconds(Duration::MAX, cap);
                assert!((1..=u64::from(cap)).contains(&told) && told + 1 > u64::from(cap) * 2 / 3);
            }
        }
    }
}
