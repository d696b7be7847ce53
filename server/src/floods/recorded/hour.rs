//! The counts of a list's last sixty minutes.

use spillway::{Instant, flood::MINUTE_MS};

/// How many minutes are remembered.
pub const MINUTES: usize = 60;

/// By minutes; the one of number `n` since 1970 stands in place `n % 60`.
#[derive(Clone, Debug)]
pub(super) struct Hour {
    /// The number of the newest minute that is known.
    newest: u64,
    counts: Box<[u32; MINUTES]>,
}

impl Default for Hour {
    fn default() -> Self {
        Self {
            newest: 0,
            counts: Box::new([0; MINUTES]),
        }
    }
}

fn number(at: Instant) -> u64 {
    at.0 / MINUTE_MS
}

/// Below 60, so that it fits.
fn place(number: u64) -> usize {
    usize::try_from(number % MINUTES as u64).unwrap_or(0)
}

impl Hour {
    /// So many events came in the minute of `at`, at least.
    pub(super) fn note(&mut self, at: Instant, count: u32) {
        let number = number(at);
        if number > self.newest {
            // What stood in these places is more than an hour old.
            let skipped = (number - self.newest).min(MINUTES as u64);
            for skipped in 0..skipped {
                self.counts[place(number - skipped)] = 0;
            }
            self.newest = number;
        }
        if self.newest - number < MINUTES as u64 {
            let noted = &mut self.counts[place(number)];
            *noted = count.max(*noted);
        }
    }

    /// The counts of the sixty minutes that end with the one of `now`, that one last.
    pub(super) fn until(&self, now: Instant) -> [u32; MINUTES] {
        let last = number(now);
        std::array::from_fn(|n| {
            let number = last.saturating_sub((MINUTES - 1 - n) as u64);
            let known = number <= self.newest && self.newest - number < MINUTES as u64;
            if known { self.counts[place(number)] } else { 0 }
        })
    }

    /// Whether nothing of it is of the last hour.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        number(now).saturating_sub(self.newest) >= MINUTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(number: u64) -> Instant {
        Instant(30_000_000 * MINUTE_MS + number * MINUTE_MS + 7)
    }

    fn shown(hour: &Hour, now: u64) -> Vec<(usize, u32)> {
        let counts = hour.until(minute(now));
        let seen = counts.into_iter().enumerate();
        seen.filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn an_hour_is_remembered_and_no_minute_longer() {
        let mut hour = Hour::default();
        for (at, count) in [(0, 3), (1, 5), (1, 4), (59, 7)] {
            hour.note(minute(at), count);
        }
        assert_eq!(shown(&hour, 59), [(0, 3), (1, 5), (59, 7)]);
        assert_eq!(shown(&hour, 60), [(0, 5), (58, 7)]);
        // A late one of the first hour's last minute, and one that is too late to be shown.
        hour.note(minute(70), 1);
        hour.note(minute(58), 2);
        hour.note(minute(10), 9);
        assert_eq!(shown(&hour, 70), [(47, 2), (48, 7), (59, 1)]);
        assert!(!hour.is_over(minute(129)) && hour.is_over(minute(130)));
        assert_eq!(shown(&hour, 130), []);
        hour.note(minute(10_000), 1);
        assert_eq!(shown(&hour, 10_000), [(59, 1)]);
    }
}
