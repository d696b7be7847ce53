//! Whether a call that failed goes again, and after how long: the policy alone. Time and
//! randomness are passed in; who asks it waits, and takes a new permit for each attempt.
//!
//! A call is repeated only if doing it twice does what doing it once does. That holds for
//! the idempotent methods, and for any call of which not a byte was written. It does not
//! hold for a `POST` that was answered 429: some upstreams have committed it by then.
//!
//! Each kind of failure has a budget of its own, so that a call that was throttled a few
//! times still survives a broken connection. The hold bounds them all.

use std::time::Duration;

use http::Method;
use spillway::signal::Verdict;

use super::retry_after::UNKNOWN;

/// How often one call is repeated for one kind of failure. With the back-off below four
/// are spread over about seven seconds, longer than a restart or a failover usually takes.
const REPEATS_MAX: u32 = 4;

/// The same for connections that broke. The call may still run then, so its permit stays
/// taken until it expires: more would let one call fill its user's places for minutes (five
/// at once with `OneNote`). Two outlast a connection that was just being closed.
const BROKEN_MAX: u32 = 2;

/// The longest first back-off; it doubles with each repeat for the same kind.
const BACK_OFF_FIRST: Duration = Duration::from_millis(500);

/// What became of an attempt that did not succeed but might the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// One of the upstream's limits stopped it.
    Throttled,
    /// Nobody answered for the upstream: 502, 503 or 504.
    Unavailable,
    /// The connection ended before the answer did: the call may have been carried out.
    Broken,
    /// There was no connection: not a byte of the call was written.
    Unsent,
}

impl Trouble {
    /// Whether an answer of this status may mean trouble, before more of it has been read.
    #[must_use]
    pub const fn may_be(status: u16) -> bool {
        matches!(status, 429 | 502 | 503 | 504 | 529)
    }

    /// What an answer means that was read as `verdict`. `None`: it is what its caller
    /// should get, be it a success or a failure that repeating does not mend.
    #[must_use]
    pub const fn of(status: u16, verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Throttled if Self::may_be(status) => Some(Self::Throttled),
            Verdict::Outage => Some(Self::Unavailable),
            _ => None,
        }
    }
}

/// "Service unavailable": what SDKs repeat like "too many requests", and obey the wait of.
const UNAVAILABLE: u16 = 503;

/// The least that the client of an answer is told to stay away, whatever room there is.
/// `None`: the answer speaks of nothing that goes by itself.
///
/// `told` is what is left of the upstream's `Retry-After`. Of a bare 503 nobody knows how long
/// it takes.
#[must_use]
pub fn stay_away(status: u16, verdict: Verdict, told: Option<Duration>) -> Option<Duration> {
    match verdict {
        Verdict::Throttled => Some(told.unwrap_or_default()),
        Verdict::Outage if status == UNAVAILABLE => Some(told.unwrap_or(UNKNOWN)),
        _ => None,
    }
}

/// The repeats that one call still has.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    idempotent: bool,
    throttled: u32,
    unavailable: u32,
    broken: u32,
    unsent: u32,
}

impl Retries {
    /// Those of a call that has not been sent yet.
    #[must_use]
    pub fn of(method: &Method) -> Self {
        Self {
            idempotent: is_idempotent(method),
            throttled: REPEATS_MAX,
            unavailable: REPEATS_MAX,
            broken: BROKEN_MAX,
            unsent: REPEATS_MAX,
        }
    }

    /// Spends a repeat: how long to wait before it. `None`: the call must not go again, or
    /// not within what is `left` of its hold.
    ///
    /// `told` is the upstream's `Retry-After`. `random` is uniform over its whole range; it
    /// takes up to half of the back-off away, so that calls which failed together do not
    /// come back together.
    pub fn next(
        &mut self,
        trouble: Trouble,
        told: Option<Duration>,
        left: Duration,
        random: u32,
    ) -> Option<Duration> {
        if !self.idempotent && trouble != Trouble::Unsent {
            return None;
        }
        let (budget, max) = match trouble {
            Trouble::Throttled => (&mut self.throttled, REPEATS_MAX),
            Trouble::Unavailable => (&mut self.unavailable, REPEATS_MAX),
            Trouble::Broken => (&mut self.broken, BROKEN_MAX),
            Trouble::Unsent => (&mut self.unsent, REPEATS_MAX),
        };
        let remaining = budget.checked_sub(1)?;
        let wait = back_off(max - *budget, random).max(told.unwrap_or_default());
        if wait > left {
            return None;
        }
        *budget = remaining;
        Some(wait)
    }
}

/// Whether repeating a call of this method does no more than making it once (RFC 9110,
/// 9.2.2). `PATCH` does more: `OneNote`'s appends to a page. A repeated `DELETE` may be
/// answered 404 where the first one was carried out and its answer lost; clients that
/// repeat by themselves meet the same.
#[must_use]
pub fn is_idempotent(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE
    )
}

/// Between half and all of `BACK_OFF_FIRST`, doubled `repeated` times.
fn back_off(repeated: u32, random: u32) -> Duration {
    let longest = BACK_OFF_FIRST.saturating_mul(1 << repeated.min(REPEATS_MAX));
    let half = longest / 2;
    let ms = u64::try_from(half.as_millis()).unwrap_or(u64::MAX);
    half + Duration::from_millis((ms * u64::from(random)) >> u32::BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Trouble::{Broken, Throttled, Unavailable, Unsent};
    use proptest::prelude::*;

    const LONG: Duration = Duration::from_secs(600);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Case 18 [learn answers 5529013] and case 11 [sdk-design#2].
    #[test]
    fn what_may_have_acted_is_never_repeated() {
        for method in [Method::POST, Method::PATCH, Method::TRACE, Method::CONNECT] {
            for trouble in [Throttled, Unavailable, Broken] {
                let mut retries = Retries::of(&method);
                assert_eq!(retries.next(trouble, None, LONG, 0), None, "{method}");
            }
            let unsent = Retries::of(&method).next(Unsent, None, LONG, 0);
            assert!(unsent.is_some(), "{method}");
        }
        let own = Method::from_bytes(b"MERGE").unwrap();
        assert_eq!(Retries::of(&own).next(Throttled, None, LONG, 0), None);
    }

    #[test]
    fn each_kind_has_a_budget_of_its_own() {
        let mut retries = Retries::of(&Method::GET);
        for (trouble, repeats) in [(Throttled, 4), (Unavailable, 4), (Broken, 2), (Unsent, 4)] {
            for _ in 0..repeats {
                assert!(retries.next(trouble, None, LONG, 0).is_some());
            }
            assert_eq!(retries.next(trouble, None, LONG, 0), None);
        }
    }

    #[test]
    fn the_back_off_doubles_and_is_spread_over_its_upper_half() {
        let (mut shortest, mut longest) = (Retries::of(&Method::GET), Retries::of(&Method::GET));
        for ms in [250, 500, 1_000, 2_000] {
            let wait = shortest.next(Unavailable, None, LONG, 0).unwrap();
            assert_eq!(wait, Duration::from_millis(ms));
            let wait = longest.next(Unavailable, None, LONG, u32::MAX).unwrap();
            assert_eq!(wait, Duration::from_millis(2 * ms - 1));
        }
    }

    #[test]
    fn what_the_upstream_tells_is_waited_for() {
        let mut retries = Retries::of(&Method::GET);
        assert_eq!(retries.next(Throttled, Some(s(7)), LONG, 0), Some(s(7)));
        // Too soon to be of use after a second failure.
        let told = Some(Duration::from_millis(1));
        let wait = retries.next(Throttled, told, LONG, 0);
        assert_eq!(wait, Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_does_not_fit_into_the_hold_spends_nothing() {
        let mut retries = Retries::of(&Method::GET);
        assert_eq!(retries.next(Throttled, Some(s(7)), s(6), 0), None);
        assert_eq!(retries.next(Throttled, None, Duration::ZERO, 0), None);
        for _ in 0..REPEATS_MAX {
            assert!(retries.next(Throttled, Some(s(6)), s(6), 0).is_some());
        }
    }

    #[test]
    fn clients_of_what_goes_by_itself_are_told_to_wait() {
        for (status, verdict, told, wait) in [
            (429, Verdict::Throttled, None, Some(s(0))),
            (429, Verdict::Throttled, Some(s(7)), Some(s(7))),
            (503, Verdict::Throttled, Some(s(1)), Some(s(1))),
            (400, Verdict::Throttled, None, Some(s(0))),
            (503, Verdict::Outage, None, Some(UNKNOWN)),
            (504, Verdict::Outage, None, None),
            (429, Verdict::Final, Some(s(7)), None),
            (200, Verdict::Passed, None, None),
        ] {
            assert_eq!(stay_away(status, verdict, told), wait, "{status}");
        }
    }

    #[test]
    fn answers_are_sorted() {
        for (status, verdict, trouble) in [
            (429, Verdict::Throttled, Some(Throttled)),
            (529, Verdict::Throttled, Some(Throttled)),
            (503, Verdict::Throttled, Some(Throttled)),
            (503, Verdict::Outage, Some(Unavailable)),
            (504, Verdict::Outage, Some(Unavailable)),
            // Notion's block for good, under 429.
            (429, Verdict::Final, None),
            (500, Verdict::Passed, None),
            (200, Verdict::Passed, None),
        ] {
            assert_eq!(Trouble::of(status, verdict), trouble, "{status}");
        }
        assert!([429, 502, 503, 504, 529].into_iter().all(Trouble::may_be));
        assert!(![200, 404, 500, 507].into_iter().any(Trouble::may_be));
    }

    proptest! {
        #[test]
        fn a_call_goes_again_a_bounded_number_of_times_within_its_hold(
            troubles in proptest::collection::vec((0..4_u8, 0..100_000_u64, any::<u32>()), 0..40),
            hold_ms in 0..60_000_u64,
        ) {
            let mut retries = Retries::of(&Method::PUT);
            let (mut left, mut repeats) = (Duration::from_millis(hold_ms), 0);
            for (trouble, told_ms, random) in troubles {
                let trouble = [Throttled, Unavailable, Broken, Unsent][usize::from(trouble)];
                let told = Duration::from_millis(told_ms);
                if let Some(wait) = retries.next(trouble, Some(told), left, random) {
                    prop_assert!(wait >= told && wait <= left);
                    left -= wait;
                    repeats += 1;
                }
            }
            prop_assert!(repeats <= 3 * REPEATS_MAX + BROKEN_MAX);
        }
    }
}
