//! A permit in the hands of the one that makes the call.

use std::{sync::Arc, time::Duration};

use spillway::{NotRenewed, Signal};

use super::Inner;
use super::shards::ShardIndex;

/// The right to make one upstream call.
///
/// Dropped without having been completed or refunded, it stays taken until its lease
/// expires: the call may still run upstream.
#[derive(Debug)]
#[must_use = "a permit that is dropped stays taken until it expires"]
pub struct Permit {
    inner: Arc<Inner>,
    /// Where its number is known.
    shard: ShardIndex,
    id: spillway::Permit,
    /// Whether its end is known, or is somebody else's concern.
    ended: bool,
}

impl Permit {
    /// How often a running call's permit has to be renewed: a quarter of its lease, so that
    /// three renewals may come late.
    pub const RENEW_EVERY: Duration = Duration::from_secs(30);

    /// How long a permit lasts without renewal, wall time (the permit API's `ttl_ms`).
    pub const LEASE: Duration = Duration::from_secs(120);

    /// How long a breaker's probe may run; it cannot be renewed.
    pub const PROBE: Duration = Duration::from_secs(30);

    /// For how long a permit can be renewed.
    pub const RENEWALS_MAX: Duration = Duration::from_secs(15 * 60);

    pub(super) const fn new(inner: Arc<Inner>, shard: ShardIndex, id: spillway::Permit) -> Self {
        Self {
            inner,
            shard,
            id,
            ended: false,
        }
    }

    /// Its number; whose permit it is tells its end no more.
    #[cfg(test)]
    pub(super) fn into_number(mut self) -> spillway::Permit {
        self.ended = true;
        self.id
    }

    /// Whether it is a breaker's probe: one request, never together with others.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        let lease = self
            .inner
            .with(self.shard, |core, _| core.engine.lease(self.id));
        lease.is_some_and(|lease| lease.probe)
    }

    /// The call still runs.
    ///
    /// # Errors
    /// The permit has expired, or was renewed for [`Self::RENEWALS_MAX`]: the call has to be
    /// aborted.
    pub fn renew(&self) -> Result<(), NotRenewed> {
        self.inner
            .with(self.shard, |core, clock| core.renew(clock.now(), self.id))
            .map(drop)
    }

    /// What the upstream's answer says, as soon as it is known, before the call is completed.
    pub fn report(&self, signal: &Signal) {
        let signal = self.inner.in_engine_time(signal);
        self.inner.report(self.shard, self.id, Some(&signal));
    }

    /// There was no answer: the connection broke, or the time was up.
    pub fn report_failure(&self) {
        self.inner.report(self.shard, self.id, None);
    }

    /// The upstream's answer has ended: its body is over.
    pub fn complete(mut self) {
        self.ended = true;
        let ended = self.inner.with(self.shard, |core, clock| {
            core.complete(clock.now(), self.id)
        });
        self.warn_of_overrun(ended);
    }

    /// The upstream's answer is there, whole, and says this: [`report`](Self::report) and
    /// [`complete`](Self::complete) in one.
    pub fn answered(mut self, signal: &Signal) {
        self.ended = true;
        let signal = self.inner.in_engine_time(signal);
        let (trips, ended) = self.inner.with(self.shard, |core, clock| {
            let now = clock.now();
            let trips = core.report(now, self.id, Some(&signal));
            (trips, core.complete(now, self.id))
        });
        self.inner.warn_of(trips);
        self.warn_of_overrun(ended);
    }

    fn warn_of_overrun(&self, ended: spillway::Ended) {
        if ended == spillway::Ended::Overrun {
            tracing::warn!(
                permit = self.id.0,
                "a call outlasted its lease; its weight counts twice"
            );
        }
    }

    /// The call was never written to the wire: it costs nothing.
    pub fn refund(mut self) {
        self.ended = true;
        self.inner
            .with(self.shard, |core, clock| core.refund(clock.now(), self.id));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.ended {
            self.inner.with(self.shard, |core, clock| {
                core.engine.abandon(clock.now(), self.id)
            });
        }
    }
}
