//! The right to be on the wire, kept alive for as long as the call runs.

use std::pin::pin;

use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

use crate::limiter::Permit;

/// A call's place upstream. Dropped without an end, a permit is held to its expiry, since
/// the upstream may still be at work.
#[derive(Debug)]
pub(super) struct Slot {
    right: Option<Right>,
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
    /// A place that `permit` pays for.
    pub(super) fn limited(permit: Permit) -> Self {
        Self::of(Right::Limited(permit))
    }

    /// A place that costs nothing upstream.
    pub(super) fn unlimited(place: OwnedSemaphorePermit) -> Self {
        Self::of(Right::Unlimited { _place: place })
    }

    fn of(right: Right) -> Self {
        let now = Instant::now();
        let mut renewals = interval_at(now + Permit::RENEW_EVERY, Permit::RENEW_EVERY);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            right: Some(right),
            renewals,
            ends: now + Permit::RENEWALS_MAX,
        }
    }

    /// Does `work` and renews meanwhile. Work that outlasts the renewals is dropped.
    pub(super) async fn during<F: Future>(&mut self, work: F) -> Result<F::Output, Expired> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                _ = self.renewals.tick() => self.renew()?,
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

    /// The upstream's answer has ended. Again: nothing.
    pub(super) fn complete(&mut self) {
        if let Some(Right::Limited(permit)) = self.right.take() {
            permit.complete();
        }
    }

    /// The call was never written to the wire.
    pub(super) fn refund(&mut self) {
        if let Some(Right::Limited(permit)) = self.right.take() {
            permit.refund();
        }
    }
}
