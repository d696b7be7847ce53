//! How long a call may be held before it is refused.

use std::time::Duration;

/// The shorter of what the caller bears (`Spillway-Wait-Ms`) and what the upstream's
/// configuration allows (`hold_max_ms`); the latter where the caller says nothing.
#[must_use]
pub fn hold(wait_ms: Option<u64>, max: Duration) -> Duration {
    wait_ms.map_or(max, |wait_ms| max.min(Duration::from_millis(wait_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_wins() {
        let max = Duration::from_secs(30);
        assert_eq!(hold(None, max), max);
        assert_eq!(hold(Some(0), max), Duration::ZERO);
        assert_eq!(hold(Some(29_999), max), Duration::from_millis(29_999));
        assert_eq!(hold(Some(u64::MAX), max), max);
    }
}
