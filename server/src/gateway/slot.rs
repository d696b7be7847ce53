//! The right to be on the wire, kept alive for as long as the call runs.

use std::{pin::pin, sync::Arc, time::Duration};

use http::StatusCode;
use spillway::Signal;
use tokio::{
    runtime::Handle,
    sync::OwnedSemaphorePermit,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep},
};

use super::bearers::Turn;
use crate::limiter::Permit;

/// A call's place upstream. Dropped before the call is on the wire, it costs nothing;
/// dropped later without an end, it stays taken until its permit expires, since the
/// upstream may still be at work.
#[derive(Debug)]
pub(super) struct Slot {
    right: Option<Right>,
    written: bool,
    /// What is to be told of its bearer, if it has one.
    turn: Option<Arc<Turn>>,
    renewals: Interval,
    ends: Instant,
}

#[derive(Debug)]
enum Right {
    /// Charged to budgets.
    Limited(Permit),
    /// No limit applies; only the number of such calls is bounded.
    Unlimited { _place: OwnedSemaphorePermit },
}

/// The call has run for as long as a permit can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expired;

impl Slot {
    /// How long an upstream may need to notice that its client's connection was closed: far more
    /// than a round trip, far less than a permit's length, for which a few broken uploads would
    /// take all places of an app.
    const CUT_NOTICED: Duration = Duration::from_secs(5);

    /// A place that `permit` pays for.
    pub(super) fn limited(permit: Permit) -> Self {
        let right = Right::Limited(permit);
        Self::new(right, Permit::RENEW_EVERY, Permit::RENEWALS_MAX)
    }

    /// A place that costs nothing upstream.
    pub(super) fn unlimited(place: OwnedSemaphorePermit) -> Self {
        let right = Right::Unlimited { _place: place };
        Self::new(right, Permit::RENEW_EVERY, Permit::RENEWALS_MAX)
    }

    fn new(right: Right, renew_every: Duration, run_max: Duration) -> Self {
        let now = Instant::now();
        let mut renewals = interval_at(now + renew_every, renew_every);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            right: Some(right),
            written: false,
            turn: None,
            renewals,
            ends: now + run_max,
        }
    }

    /// Does `work` and renews meanwhile. It is pinned where it was made: taken in here, each call
    /// would carry it twice.
    ///
    /// # Errors
    /// It outlasts the renewals.
    pub(super) async fn during<F>(&mut self, mut work: F) -> Result<F::Output, Expired>
    where
        F: Future + Unpin,
    {
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                _ = self.renewals.tick() => self.renew()?,
            }
        }
    }

    /// The same for work that several calls share.
    pub(super) async fn during_all<F: Future>(
        slots: &mut [&mut Self],
        work: F,
    ) -> Result<F::Output, Expired> {
        let mut work = pin!(work);
        let mut renewals = interval_at(Instant::now() + Permit::RENEW_EVERY, Permit::RENEW_EVERY);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                _ = renewals.tick() => slots.iter().try_for_each(|slot| slot.renew())?,
            }
        }
    }

    fn renew(&self) -> Result<(), Expired> {
        if Instant::now() >= self.ends {
            return Err(Expired);
        }
        match &self.right {
            Some(Right::Limited(permit)) => permit.renew().map_err(|_| Expired),
            Some(Right::Unlimited { .. }) | None => Ok(()),
        }
    }

    /// The same place with a bearer, whose standing its answer tells.
    pub(super) fn with(mut self, turn: Option<Arc<Turn>>) -> Self {
        self.turn = turn;
        self
    }

    /// The bearer's turn, for another attempt.
    pub(super) fn turn(&self) -> Option<Arc<Turn>> {
        self.turn.clone()
    }

    /// The upstream answered.
    pub(super) fn answered(&self, status: StatusCode) {
        if let Some(turn) = &self.turn {
            turn.answered(status);
        }
    }

    /// Whether some of the call may be on the wire from here on.
    pub(super) fn written(&mut self, written: bool) {
        self.written = written;
    }

    /// What the upstream's answer says of its limits.
    pub(super) fn report(&self, signal: &Signal) {
        if let Some(Right::Limited(permit)) = &self.right {
            permit.report(signal);
        }
    }

    /// The upstream did not answer.
    pub(super) fn report_failure(&self) {
        if let Some(Right::Limited(permit)) = &self.right {
            permit.report_failure();
        }
    }

    /// The upstream's answer has ended, and says this. Again: nothing.
    pub(super) fn complete_with(&mut self, signal: &Signal) {
        if let Some(Right::Limited(permit)) = self.right.take() {
            permit.answered(signal);
        }
    }

    /// The upstream's answer has ended. Again: nothing.
    pub(super) fn complete(&mut self) {
        if let Some(Right::Limited(permit)) = self.right.take() {
            permit.complete();
        }
    }

    /// The caller's body broke off, and with it the connection: the upstream must not act on half a
    /// call (RFC 9112, 8), and is given [`Self::CUT_NOTICED`] to see that it has one. The weight
    /// lands then, as that of a call that ended.
    pub(super) fn cut(&mut self) {
        if !self.written {
            return self.release();
        }
        let (right, turn) = (self.right.take(), self.turn.take());
        let (Some(Right::Limited(permit)), Ok(runtime)) = (right, Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            sleep(Self::CUT_NOTICED).await;
            permit.complete();
            drop(turn);
        });
    }

    /// The call is over as far as this place is concerned, but not ended: what was never
    /// written costs nothing, anything else stays taken until its permit expires.
    pub(super) fn release(&mut self) {
        if let (Some(_), Some(turn), true) = (&self.right, &self.turn, self.written) {
            turn.lingers();
        }
        match self.right.take() {
            Some(Right::Limited(permit)) if !self.written => permit.refund(),
            // A permit that is only dropped is held to its expiry.
            right => drop(right),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use tokio::sync::Semaphore;

    use super::*;

    fn slot(run_max_ms: u64) -> Slot {
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let right = Right::Unlimited { _place: place };
        Slot::new(
            right,
            Duration::from_millis(5),
            Duration::from_millis(run_max_ms),
        )
    }

    #[tokio::test]
    async fn work_ends_with_the_renewals_and_not_before() {
        let mut slot = slot(20);
        let begun = Instant::now();
        assert_eq!(slot.during(pending::<()>()).await, Err(Expired));
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }

    #[tokio::test]
    async fn work_is_done_across_renewals() {
        let mut slot = slot(60_000);
        let work = tokio::time::sleep(Duration::from_millis(30));
        assert_eq!(slot.during(pin!(work)).await, Ok(()));
        assert_eq!(slot.during(pin!(async { 7 })).await, Ok(7));
    }
}
