//! How old what the page shows is, and whether that is said. Pure: the browser tells it
//! what happened and what time it is.
//!
//! The one rule: an old value is never shown as current. Ages are counted on the
//! browser's own clock from the moment something was heard, so that a wrong clock on
//! either side changes nothing. The server speaks at least every few seconds (a change
//! or a heartbeat); silence is therefore a fact about the line, not about the traffic.

use crate::instant;

/// Silence after which the page says that news is late: more than a heartbeat's distance.
pub const LATE_AFTER_MS: u64 = 3_500;

/// Silence after which values count as old: the longest that the server may be silent
/// (10 s), and some way for the network.
pub const STALE_AFTER_MS: u64 = 12_000;

/// A timer that is this late was asleep, and the whole tab with it.
pub const SLEPT_AFTER_MS: u64 = 5_000;

/// How long a restart that happened is mentioned.
pub const NOTICE_FOR_MS: u64 = 60_000;

/// The longest pause between two attempts to connect.
pub const RETRY_MS_MAX: u64 = 10_000;

/// The line to the server, as far as the browser knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The page is as it was served; no script has run yet.
    Served,
    /// The first connection is being made.
    Connecting,
    /// Events arrive.
    Open,
    /// The connection broke, or could not be made.
    Lost {
        /// Since when, on the browser's clock.
        since_ms: u64,
        /// When the next attempt starts, or started.
        retry_at_ms: u64,
    },
}

/// How far the values on the page can be trusted to be current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As it was when the page was served.
    Served,
    /// As served; the stream is being opened.
    Connecting,
    /// Current.
    Live,
    /// Nothing was heard for a little too long.
    Late,
    /// Too old to act on.
    Stale,
    /// There is no line to the server.
    Disconnected,
    /// Nobody is signed in any more, so that the server says nothing.
    SignedOut,
    /// The reader asked for a standstill.
    Paused,
}

/// What the page knows about its line to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The line itself.
    pub line: Line,
    /// When the server was last heard, on the browser's clock.
    pub heard_ms: Option<u64>,
    /// Since when the reader wants no updates.
    pub paused_ms: Option<u64>,
    /// When this page last found itself connected to a server that had been restarted.
    pub restarted_ms: Option<u64>,
    /// Whether the line was lost because the session has ended.
    pub signed_out: bool,
}

impl Connection {
    /// A page that was just served.
    pub const SERVED: Self = Self {
        line: Line::Served,
        heard_ms: None,
        paused_ms: None,
        restarted_ms: None,
        signed_out: false,
    };

    /// How long ago the values shown were true, at `now_ms`; `None` as long as no clock runs.
    #[must_use]
    pub fn age_ms(&self, now_ms: u64) -> Option<u64> {
        let heard = match (self.paused_ms, self.heard_ms) {
            (Some(paused), Some(heard)) => paused.min(heard),
            (_, heard) => heard?,
        };
        Some(now_ms.saturating_sub(heard))
    }

    /// How current the page is at `now_ms`.
    #[must_use]
    pub fn freshness(&self, now_ms: u64) -> Freshness {
        let age = self.age_ms(now_ms).unwrap_or(0);
        match self.line {
            Line::Served => Freshness::Served,
            Line::Lost { .. } if self.signed_out => Freshness::SignedOut,
            Line::Lost { .. } => Freshness::Disconnected,
            _ if self.paused_ms.is_some() => Freshness::Paused,
            Line::Connecting if age < STALE_AFTER_MS => Freshness::Connecting,
            Line::Connecting => Freshness::Disconnected,
            Line::Open if age < LATE_AFTER_MS => Freshness::Live,
            Line::Open if age < STALE_AFTER_MS => Freshness::Late,
            Line::Open => Freshness::Stale,
        }
    }

    /// What stands beside the freshness: the age, and when the next attempt comes.
    #[must_use]
    pub fn detail(&self, now_ms: u64) -> String {
        let Some(age) = self.age_ms(now_ms).map(instant::duration) else {
            return "as served".to_owned();
        };
        match (self.freshness(now_ms), self.line) {
            (Freshness::Live | Freshness::Late, _) => format!("{age} ago"),
            (Freshness::Disconnected, Line::Lost { retry_at_ms, .. }) if retry_at_ms > now_ms => {
                format!(
                    "values {age} old, next try in {}",
                    instant::wait(retry_at_ms - now_ms)
                )
            }
            (Freshness::Disconnected, _) => format!("values {age} old, trying now"),
            _ => format!("values {age} old"),
        }
    }

    /// Whether a restart of the server is still news at `now_ms`.
    #[must_use]
    pub fn restart_is_news(&self, now_ms: u64) -> bool {
        self.restarted_ms
            .is_some_and(|at| now_ms.saturating_sub(at) < NOTICE_FOR_MS)
    }

    /// Whether a line that looks open has been silent for so long that it is better made anew.
    #[must_use]
    pub fn is_dead(&self, now_ms: u64) -> bool {
        let heard = self.heard_ms.unwrap_or(now_ms);
        !matches!(self.line, Line::Served | Line::Lost { .. })
            && now_ms.saturating_sub(heard) >= STALE_AFTER_MS
    }
}

impl Freshness {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Served => "Snapshot",
            Self::Connecting => "Connecting",
            Self::Live => "Live",
            Self::Late => "Late",
            Self::Stale => "Stale",
            Self::Disconnected => "Disconnected",
            Self::SignedOut => "Signed out",
            Self::Paused => "Paused",
        }
    }

    /// The class that colours it.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Served | Self::Connecting | Self::Paused => "quiet",
            Self::Live => "clear",
            Self::Late => "near",
            Self::Stale | Self::Disconnected | Self::SignedOut => "full",
        }
    }

    /// Whether values are too old to be taken for current: gauges turn grey and say their age.
    #[must_use]
    pub fn is_old(self) -> bool {
        matches!(self, Self::Stale | Self::Disconnected | Self::SignedOut)
    }
}

/// The pause before attempt number `attempt` (0 is the first after a loss): doubling from
/// half a second to [`RETRY_MS_MAX`], and by `chance` (0 to 1) up to half of it less, so
/// that a restarted server does not meet all its readers in the same instant.
#[must_use]
pub fn retry_pause_ms(attempt: u32, chance: f64) -> u64 {
    let whole = (500_u64 << attempt.min(10)).min(RETRY_MS_MAX);
    let less = (whole as f64 / 2.0 * chance.clamp(0.0, 1.0)) as u64;
    whole - less
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Connection = Connection {
        line: Line::Open,
        heard_ms: Some(100_000),
        ..Connection::SERVED
    };

    #[test]
    fn silence_makes_late_then_stale() {
        let seen = [100_000, 103_499, 103_500, 111_999, 112_000].map(|now| OPEN.freshness(now));
        use Freshness::{Late, Live, Stale};
        assert_eq!(seen, [Live, Live, Late, Late, Stale]);
        assert!(!OPEN.is_dead(111_999) && OPEN.is_dead(112_000));
    }

    #[test]
    fn a_lost_line_says_the_age_and_the_next_try() {
        let lost = Connection {
            line: Line::Lost {
                since_ms: 104_000,
                retry_at_ms: 107_000,
            },
            ..OPEN
        };
        assert_eq!(lost.freshness(104_000), Freshness::Disconnected);
        assert_eq!(lost.detail(104_200), "values 4.2 s old, next try in 3 s");
        assert_eq!(lost.detail(107_000), "values 7.0 s old, trying now");
    }

    #[test]
    fn who_is_signed_out_is_told_so_as_long_as_the_line_is_lost() {
        let line = Line::Lost {
            since_ms: 104_000,
            retry_at_ms: 107_000,
        };
        let signed_out = Connection {
            line,
            signed_out: true,
            paused_ms: Some(101_000),
            ..OPEN
        };
        let freshness = signed_out.freshness(104_000);
        assert_eq!(
            (freshness, freshness.is_old()),
            (Freshness::SignedOut, true)
        );
        assert_eq!(signed_out.detail(104_200), "values 4.2 s old");
        let again = Connection {
            line: Line::Open,
            paused_ms: None,
            ..signed_out
        };
        assert_eq!(again.freshness(100_100), Freshness::Live);
    }

    #[test]
    fn a_pause_ages_from_its_beginning_and_never_hides_a_loss() {
        let paused = Connection {
            heard_ms: Some(130_000),
            paused_ms: Some(101_000),
            ..OPEN
        };
        assert_eq!(paused.freshness(130_100), Freshness::Paused);
        assert_eq!(paused.detail(130_100), "values 29 s old");
        let line = Line::Lost {
            since_ms: 1,
            retry_at_ms: 2,
        };
        assert_eq!(
            Connection { line, ..paused }.freshness(3),
            Freshness::Disconnected
        );
    }

    #[test]
    fn a_page_that_never_connects_says_so() {
        let connecting = Connection {
            line: Line::Connecting,
            ..OPEN
        };
        assert_eq!(connecting.freshness(101_000), Freshness::Connecting);
        assert_eq!(connecting.freshness(112_000), Freshness::Disconnected);
        assert_eq!(Connection::SERVED.detail(0), "as served");
    }

    #[test]
    fn a_clock_set_back_is_no_age() {
        assert_eq!(OPEN.age_ms(50_000), Some(0));
    }

    #[test]
    fn attempts_back_off_for_ever_with_jitter() {
        assert_eq!(
            [0, 1, 4, 5, 400].map(|n| retry_pause_ms(n, 0.0)),
            [500, 1_000, 8_000, 10_000, 10_000]
        );
        assert_eq!(retry_pause_ms(0, 1.0), 250);
    }
}
