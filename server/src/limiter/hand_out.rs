//! Handing permits out to callers that call the upstream themselves, and what they may then
//! do with them. Who holds which is kept in [`outside`](super::outside).

use std::time::Duration;

use spillway::{Ended, Headroom, Instant, Lease, NotRenewed, Signal, Trip};

use super::core::{Asked, Core, Granted};
use super::journal::Gathered;
use super::outside::{Handed, Owner};
use super::permit_id::PermitId;
use super::shards::ShardIndex;
use super::{Ask, Limiter, Refused, Waiting};
use crate::{access::Full, clock::Clock};

/// A permit that has been handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// Its name.
    pub id: PermitId,
    /// How long it lasts unless it is renewed, wall time.
    pub ttl: Duration,
    /// What is left beside it.
    pub left: Option<Left>,
}

/// What comes of a call that asks for a permit outside.
#[derive(Debug)]
#[must_use = "a permit that is dropped is given back"]
pub enum Begun<'a> {
    /// It is decided.
    Now(Result<Unwritten<'a>, NotHandedOut>),
    /// It has to wait.
    Later(HeldCall<'a>),
}

/// A call that waits for a permit outside. Dropped, it leaves no trace.
#[derive(Debug)]
pub struct HeldCall<'a> {
    limiter: &'a Limiter,
    owner: Owner,
    waiting: Waiting<'a>,
}

/// A permit outside whose name may not be told before it is written down. Dropped, it is given
/// back.
#[derive(Debug)]
#[must_use = "a permit that is dropped is given back"]
pub struct Unwritten<'a> {
    limiter: &'a Limiter,
    handed_out: HandedOut,
    line: Gathered,
    /// Who gives it back; none: nobody.
    owner: Option<Owner>,
}

/// What the tightest layer that a call met has left, see [`Headroom`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Which layer, and how much of it.
    pub headroom: Headroom,
    /// The layer's window, wall time; none for a concurrency.
    pub window: Option<Duration>,
    /// When more can come back at the earliest, wall time; none for a concurrency.
    pub more_in: Option<Duration>,
}

/// Why no permit was handed out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotHandedOut {
    /// The call may not go.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// As many permits as may be are out.
    #[error("as many permits as may be out at once are out")]
    TooMany,
    /// As many of this owner's are out as may be.
    #[error(transparent)]
    Full(Full),
}

/// The one who asks holds no permit of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such permit")]
pub struct UnknownPermit;

/// Why a permit outside lasts no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExtended {
    /// The one who asks holds none of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownPermit),
    /// It ended, or may not be renewed.
    #[error(transparent)]
    NotRenewed(#[from] NotRenewed),
}

impl Limiter {
    /// Waits as [`Limiter::acquire`], and gives the permit to `owner` by name. It lives on
    /// without its holder until it is ended or expires, restarts included.
    ///
    /// # Errors
    /// See [`NotHandedOut`].
    pub async fn hand_out(
        &self,
        owner: Owner,
        ask: Ask,
        hold: Duration,
    ) -> Result<HandedOut, NotHandedOut> {
        let begun = match self.begin(&owner, &ask, hold) {
            Begun::Now(begun) => begun,
            Begun::Later(held) => held.outcome().await,
        };
        begun?.written().await
    }

    /// The same, but for its ends: that the call waits, and that its permit is written down.
    pub fn begin<'a>(&'a self, owner: &Owner, ask: &Ask, hold: Duration) -> Begun<'a> {
        let inner = &self.inner;
        let room = inner.outside.lock().room_for(inner.clock.now(), owner);
        if let Err(not) = room {
            return Begun::Now(Err(not));
        }
        let call = &ask.call;
        let hold_ms = inner.clock.engine_ms(hold);
        let shard = inner.shards.of(&call.app);
        let hand_out = |core: &mut Core, clock: &Clock, granted: Granted| {
            core.hand_out(clock, &granted.lease, owner)
        };
        match inner.ask(shard, ask, hold_ms, hand_out) {
            Asked::Now(Ok(handed)) => {
                Begun::Now(handed.map(|handed| self.unwritten(owner.clone(), handed)))
            }
            Asked::Now(Err(stop)) => Begun::Now(Err(inner.refused(stop).into())),
            Asked::Crowded(stop) => {
                let stop = inner.crowded(shard, call, stop);
                Begun::Now(Err(inner.refused(stop).into()))
            }
            Asked::Later(ticket, outcome) => Begun::Later(HeldCall {
                limiter: self,
                owner: owner.clone(),
                waiting: Waiting::new(inner, shard, ticket, outcome),
            }),
        }
    }

    fn unwritten(&self, owner: Owner, handed: (HandedOut, Gathered)) -> Unwritten<'_> {
        let (handed_out, line) = handed;
        Unwritten {
            limiter: self,
            handed_out,
            line,
            owner: Some(owner),
        }
    }

    /// The call that `id` was for has ended, and its answer said `signal`. Again: nothing.
    ///
    /// # Errors
    /// `owner` holds no such permit.
    pub fn complete(
        &self,
        owner: &Owner,
        id: PermitId,
        signal: &Signal,
    ) -> Result<(), UnknownPermit> {
        let signal = self.inner.in_engine_time(signal);
        let shard = self.shard_outside(owner, id)?;
        let (trips, ended) = self.inner.with(shard, |core, clock| {
            core.complete_outside(clock.now(), owner, id, &signal)
        })?;
        self.inner.warn_of(trips);
        if ended == Ended::Overrun {
            tracing::warn!(
                upstream = self.name(),
                "a call outlasted the lease of its permit; its weight counts twice"
            );
        }
        Ok(())
    }

    /// The call that `id` was for still runs: its permit lasts this long from now on.
    ///
    /// # Errors
    /// See [`NotExtended`].
    pub fn renew(&self, owner: &Owner, id: PermitId) -> Result<Duration, NotExtended> {
        let shard = self.shard_outside(owner, id)?;
        self.inner.with(shard, |core, clock| {
            let now = clock.now();
            let expires_at = core.renew_outside(now, owner, id)?;
            Ok(clock.wall(expires_at.ms_since(now)))
        })
    }

    /// The call that `id` was for was never sent: it costs nothing, unless its permit had
    /// ended or expired before.
    ///
    /// # Errors
    /// `owner` holds no such permit.
    pub fn give_back(&self, owner: &Owner, id: PermitId) -> Result<(), UnknownPermit> {
        let shard = self.shard_outside(owner, id)?;
        self.inner.with(shard, |core, clock| {
            core.give_back_outside(clock.now(), owner, id)
        })
    }

    /// The name of the workload whose call the permit is for that `owner` holds under this name;
    /// nothing once it has ended.
    #[must_use]
    pub fn workload_of_permit(&self, owner: &Owner, id: PermitId) -> Option<&str> {
        let shard = self.shard_outside(owner, id).ok()?;
        let core = self.inner.shards.lock(shard);
        let permit = core
            .running_outside(self.inner.clock.now(), owner, id)
            .ok()??;
        let workload = core.engine.lease(permit)?.call.workload;
        Some(&self.inner.workloads[workload].name)
    }

    /// How long the permit that `owner` holds under this name still lasts, wall time, and what
    /// is left beside it; nothing once it has ended.
    #[must_use]
    pub fn standing(&self, owner: &Owner, id: PermitId) -> Option<(Duration, Option<Left>)> {
        let shard = self.shard_outside(owner, id).ok()?;
        self.inner.with(shard, |core, clock| {
            let now = clock.now();
            let permit = core.running_outside(now, owner, id).ok()??;
            let lease = core.engine.lease(permit)?;
            let headroom = core.engine.headroom(now, &lease.call);
            let left = headroom.map(|headroom| Left::of(headroom, clock));
            Some((clock.wall(lease.expires_at.ms_since(now)), left))
        })
    }

    /// What is left of the layers that such a call meets.
    #[must_use]
    pub fn left(&self, ask: &Ask) -> Option<Left> {
        let call = &ask.call;
        let shard = self.inner.shards.of(&call.app);
        self.inner.with(shard, |core, clock| {
            let headroom = core.engine.headroom(clock.now(), call)?;
            Some(Left::of(headroom, clock))
        })
    }

    /// Where the permit that `owner` holds under this name is known by its number.
    fn shard_outside(&self, owner: &Owner, id: PermitId) -> Result<ShardIndex, UnknownPermit> {
        let now = self.inner.clock.now();
        let mut outside = self.inner.outside.lock();
        let handed = outside.find(now, owner, id).ok_or(UnknownPermit)?;
        Ok(handed.shard)
    }
}

impl<'a> HeldCall<'a> {
    /// Waits until it is decided.
    ///
    /// # Errors
    /// See [`NotHandedOut`].
    pub async fn outcome(self) -> Result<Unwritten<'a>, NotHandedOut> {
        let Self {
            limiter,
            owner,
            waiting,
        } = self;
        let (inner, shard) = (&limiter.inner, waiting.shard);
        let granted = waiting.outcome().await;
        let granted = granted.map_err(|stop| inner.refused(stop))?;
        let handed = inner.with(shard, |core, clock| {
            // None: the process stood still for longer than the lease lasts.
            let lease = core.engine.lease(granted.lease.permit);
            core.hand_out(clock, &lease.ok_or(Refused::Storage)?, &owner)
        })?;
        Ok(limiter.unwritten(owner, handed))
    }
}

impl Unwritten<'_> {
    /// Brings it to the file. Those who are about to run come first: what they take is written
    /// with it.
    ///
    /// # Errors
    /// [`Refused::Storage`]: that cannot be done.
    pub async fn written(mut self) -> Result<HandedOut, NotHandedOut> {
        tokio::task::yield_now().await;
        self.line.write().map_err(|_| Refused::Storage)?;
        self.owner = None;
        Ok(self.handed_out)
    }
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            // It is known: it was handed out just now.
            let _ = self.limiter.give_back(&owner, self.handed_out.id);
        }
    }
}

impl Core {
    fn hand_out(
        &mut self,
        clock: &Clock,
        lease: &Lease,
        owner: &Owner,
    ) -> Result<(HandedOut, Gathered), NotHandedOut> {
        let now = clock.now();
        let room = self.outside.lock().room_for(now, owner);
        if let Err(not) = room {
            self.refund(now, lease.permit);
            return Err(not);
        }
        let handed = Handed {
            id: PermitId::random(),
            permit: lease.permit,
            shard: self.shard,
            owner: owner.clone(),
            expires_at: lease.expires_at,
            ended: false,
        };
        let Ok(line) = self.journal.handed_out(&handed) else {
            self.refund(now, lease.permit);
            return Err(Refused::Storage.into());
        };
        let id = handed.id;
        self.outside.lock().insert(handed);
        let headroom = self.engine.headroom(now, &lease.call);
        let handed_out = HandedOut {
            id,
            ttl: clock.wall(lease.expires_at.ms_since(lease.granted_at)),
            left: headroom.map(|headroom| Left::of(headroom, clock)),
        };
        Ok((handed_out, line))
    }

    fn complete_outside(
        &mut self,
        now: Instant,
        owner: &Owner,
        id: PermitId,
        signal: &Signal,
    ) -> Result<(Vec<Trip>, Ended), UnknownPermit> {
        let Some(permit) = self.running_outside(now, owner, id)? else {
            return Ok((Vec::new(), Ended::Unknown));
        };
        let trips = self.report(now, permit, Some(signal));
        let ended = self.complete(now, permit);
        self.outside.lock().end(id);
        Ok((trips, ended))
    }

    fn renew_outside(
        &mut self,
        now: Instant,
        owner: &Owner,
        id: PermitId,
    ) -> Result<Instant, NotExtended> {
        let permit = self.running_outside(now, owner, id)?;
        let expires_at = self.renew(now, permit.ok_or(NotRenewed::Ended)?)?;
        self.outside.lock().extend(id, expires_at);
        Ok(expires_at)
    }

    fn give_back_outside(
        &mut self,
        now: Instant,
        owner: &Owner,
        id: PermitId,
    ) -> Result<(), UnknownPermit> {
        if let Some(permit) = self.running_outside(now, owner, id)? {
            self.refund(now, permit);
            self.outside.lock().end(id);
        }
        Ok(())
    }

    /// The number of the permit, unless it was ended before.
    fn running_outside(
        &self,
        now: Instant,
        owner: &Owner,
        id: PermitId,
    ) -> Result<Option<spillway::Permit>, UnknownPermit> {
        let mut outside = self.outside.lock();
        let handed = outside.find(now, owner, id).ok_or(UnknownPermit)?;
        Ok((!handed.ended).then_some(handed.permit))
    }
}

impl Left {
    fn of(headroom: Headroom, clock: &Clock) -> Self {
        let window_ms = match headroom.dimension {
            spillway::Dimension::Rate { window_ms } => Some(window_ms),
            spillway::Dimension::Concurrency => None,
        };
        Self {
            headroom,
            window: window_ms.map(|ms| clock.wall(ms)),
            more_in: headroom.more_in_ms.map(|ms| clock.wall(ms)),
        }
    }
}

#[cfg(test)]
mod tests;
