//! How long a client may take over a body.
//!
//! A pause between two pieces is no sign of anything, and a body that comes byte by byte
//! never pauses long. So a client has a credit of time: waiting for it costs what it takes,
//! each byte brings a little back, and there is never more of it than there was at first.
//! Who stops has that long; who goes on slower than [`BYTES_PER_S_MIN`] loses it bit by bit.

use std::time::Duration;

use tokio::time::{Instant, timeout};

/// The longest that nothing may come: as nginx's `client_body_timeout` and `send_timeout`.
const CREDIT: Duration = Duration::from_secs(60);

/// The slowest that a body may be in the long run, in bytes a second: as Apache's
/// `mod_reqtimeout` has it.
const BYTES_PER_S_MIN: u32 = 500;

/// The client's credit is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is too slow with its body")]
pub struct TooSlow;

/// The time that a client may still be waited for.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    left: Duration,
}

impl Default for Credit {
    fn default() -> Self {
        Self { left: CREDIT }
    }
}

impl Credit {
    /// How long the next wait may be.
    pub(super) fn left(&self) -> Duration {
        self.left
    }

    /// The client was waited for.
    pub(super) fn spend(&mut self, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
    }

    /// So many bytes moved.
    pub fn earn(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let earned = Duration::from_secs(1) / BYTES_PER_S_MIN * bytes;
        self.left = (self.left + earned).min(CREDIT);
    }

    /// Does what waits for the client.
    ///
    /// # Errors
    /// The credit was used up; then nothing more may be waited for.
    pub async fn during<F: Future>(&mut self, work: F) -> Result<F::Output, TooSlow> {
        let begun = Instant::now();
        let done = timeout(self.left, work).await;
        self.spend(begun.elapsed());
        done.map_err(|_| TooSlow)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    /// How long a client lasts that needs `every` for each piece of `bytes`; none: an hour.
    async fn lasts(every: Duration, bytes: usize) -> Option<Duration> {
        let mut credit = Credit::default();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3_600) {
            if credit.during(sleep(every)).await.is_err() {
                return Some(begun.elapsed());
            }
            credit.earn(bytes);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_has_a_minute_and_who_crawls_a_little_longer() {
        let s = Duration::from_secs;
        assert_eq!(lasts(s(3_600), 1_000_000).await, Some(s(60)));
        assert_eq!(
            lasts(s(50), 1_000_000).await,
            None,
            "a large piece makes up for a pause"
        );
        assert_eq!(lasts(s(1), 600).await, None);
        let at_half_speed = lasts(s(1), 250).await.unwrap();
        assert!(
            (s(110)..=s(120)).contains(&at_half_speed),
            "{at_half_speed:?}"
        );
        let byte_by_byte = lasts(s(1), 1).await.unwrap();
        assert!(byte_by_byte <= s(61), "{byte_by_byte:?}");
    }
}
