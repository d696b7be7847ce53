//! Whether a token or a session still lets its holder in. What lasts longer than a moment asks again, and
//! what waits is woken at the instant at which the token ends.

use std::{
    pin::pin,
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{sync::Notify, time::sleep};

use super::NotValid;

/// How often who waits for an expiry looks at the wall clock, which people set.
const LOOK_EVERY: Duration = Duration::from_secs(10);

const VALID: u8 = 0;
const REVOKED: u8 = 1;
const UNREADABLE: u8 = 2;

/// Whether a token still lets its holder in.
#[derive(Debug)]
pub struct Validity {
    expires_at: Option<Timestamp>,
    standing: AtomicU8,
    /// Told when the standing changes.
    changed: Notify,
}

impl Validity {
    /// Of a token that is good until then, unless it is revoked.
    #[must_use]
    pub const fn until(expires_at: Option<Timestamp>) -> Self {
        Self {
            expires_at,
            standing: AtomicU8::new(VALID),
            changed: Notify::const_new(),
        }
    }

    /// Whether it lets in at `now`.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self, now: Timestamp) -> Result<(), NotValid> {
        match self.standing.load(Ordering::Acquire) {
            VALID => self.check_expiry(now),
            UNREADABLE => Err(NotValid::Unreadable),
            _ => Err(NotValid::Revoked),
        }
    }

    /// Whether its time is not over at `now`.
    pub(super) fn check_expiry(&self, now: Timestamp) -> Result<(), NotValid> {
        match self.expires_at {
            Some(at) if at <= now => Err(NotValid::Expired(at)),
            _ => Ok(()),
        }
    }

    /// Waits until it lets nobody in, and says why. `now` tells the wall time.
    pub async fn ended(&self, now: impl Fn() -> Timestamp) -> NotValid {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let at = now();
            if let Err(not) = self.check(at) {
                return not;
            }
            match self.expires_at {
                None => changed.await,
                Some(end) => {
                    let left = Duration::try_from(end.duration_since(at)).unwrap_or_default();
                    tokio::select! {
                        () = changed => {}
                        () = sleep(left.min(LOOK_EVERY)) => {}
                    }
                }
            }
        }
    }

    /// For good.
    pub(super) fn revoke(&self) {
        self.standing.store(REVOKED, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Until it is known again whether it was revoked.
    pub(super) fn lose(&self) {
        self.change(VALID, UNREADABLE);
    }

    /// It was not.
    pub(super) fn regain(&self) {
        self.change(UNREADABLE, VALID);
    }

    fn change(&self, from: u8, to: u8) {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let changed = self.standing.compare_exchange(from, to, success, failure);
        if changed.is_ok() {
            self.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::time::{Instant, advance};

    use super::*;

    const SECOND: i64 = 1_000;

    /// A wall clock that goes with the runtime's, which the test moves.
    fn clock() -> impl Fn() -> Timestamp + Copy {
        let begun = Instant::now();
        move || {
            let ms = i64::try_from(begun.elapsed().as_millis()).unwrap();
            Timestamp::from_millisecond(ms).unwrap()
        }
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(ms).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_woken_at_the_expiry_and_not_before() {
        let (end, now) = (at(3_600 * SECOND), clock());
        let validity = Validity::until(Some(end));
        let mut ended = pin!(validity.ended(now));
        advance(Duration::from_millis(3_599_999)).await;
        assert_eq!(ended.as_mut().now_or_never(), None);
        assert_eq!(ended.await, NotValid::Expired(end));
        assert_eq!(now(), end);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_is_set_forward_is_noticed() {
        let (end, now) = (at(3_600 * SECOND), clock());
        let validity = Validity::until(Some(end));
        let set = Instant::now() + Duration::from_secs(60);
        let ahead = move || if Instant::now() < set { now() } else { end };
        assert_eq!(validity.ended(ahead).await, NotValid::Expired(end));
        assert_eq!(Instant::now(), set);
    }

    #[tokio::test(start_paused = true)]
    async fn a_revocation_wakes_all_who_wait() {
        let validity = Validity::until(None);
        let all = futures_util::future::join_all((0..3).map(|_| validity.ended(clock())));
        let mut all = pin!(all);
        assert_eq!(all.as_mut().now_or_never(), None);
        validity.revoke();
        assert_eq!(all.now_or_never(), Some(vec![NotValid::Revoked; 3]));
        validity.regain();
        assert_eq!(validity.check(at(0)), Err(NotValid::Revoked));
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_known_ends_waits_and_comes_back() {
        let validity = Validity::until(None);
        validity.lose();
        assert_eq!(validity.ended(clock()).await, NotValid::Unreadable);
        validity.regain();
        assert_eq!(validity.check(at(0)), Ok(()));
    }
}
