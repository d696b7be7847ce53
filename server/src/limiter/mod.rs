//! The driver of the engine: waits, journals and logs what the engine decides.
//!
//! One [`Limiter`] per upstream. Its apps are spread over [`shards`]: engines with their
//! waiting callers, each behind one lock ([`core`]) that is held for microseconds and never
//! across an await. They write to one [`journal`]; a task per shard wakes waiting calls,
//! another keeps the files ([`keeper`]). At start the counters are read back ([`restore`])
//! or, where they are lost, assumed full.

mod core;
mod figures;
mod files;
mod find;
mod hand_out;
mod journal;
mod keeper;
mod notes;
mod open;
mod openings;
mod operate;
mod outside;
mod pauses;
mod permit;
mod permit_id;
mod policies;
mod preview;
mod record;
mod replay;
mod restore;
mod shards;
mod tally;
mod traffic;
mod trouble;
mod user;
mod view;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use spillway::{Refusal, Remaining, Signal, Ticket, Trip};
use tokio::sync::oneshot;

pub use figures::{Figures, JournalHealth, WorkloadFigures};
pub use find::{UserPage, UserSearch};
pub use hand_out::{
    Begun, HandedOut, HeldCall, Left, NotExtended, NotHandedOut, UnknownPermit, Unwritten,
};
pub use notes::Note;
pub use open::{Limiters, OpenError, Recovery};
pub use operate::NotDone;
pub use outside::Owner;
pub use pauses::Pause;
pub use permit::Permit;
pub use permit_id::PermitId;
pub use preview::{Preview, Slice, Tried};
pub use spillway::{BlockedBy, Call, NotRenewed};
pub use tally::{Cause, HOLD_BOUNDS_S, Tally};
pub use user::{NoSuchLimits, UserKey};
pub use view::{BadCursor, USERS_MAX};

use self::core::{Asked, Core, Delivery, Granted, Outcome, Stop};
use crate::{
    access::{Account, Full},
    clock::Clock,
    config,
};
use files::Files;
use notes::Notes;
use outside::Holders;
use shards::{ShardIndex, Shards};

/// Which of an upstream's workloads a call belongs to.
pub type WorkloadIndex = usize;

/// One call that wants to go upstream.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Whose limits it meets: the keys of its app and user are never empty, its weight is at
    /// least 1.
    pub call: Call,
    /// Whose users it counts among; `None`: nobody's.
    pub account: Option<Arc<Account>>,
}

/// Why a call may not go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not now.
    #[error("no room: {}", .0.blocked_by)]
    Busy(Busy),
    /// Never under this policy.
    #[error("{0}")]
    Impossible(Refusal),
    /// A new user, and as many as may be charged are.
    #[error("as many users as may be counted are counted already")]
    Capacity,
    /// A new user, and its caller has as many as it may.
    #[error(transparent)]
    Full(Full),
    /// The counters cannot be written down.
    #[error("the journal of the counters cannot be written")]
    Storage,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Closing,
}

/// When a refused call would fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// How long until then, wall time.
    pub wait: Duration,
    /// Whether only time stands in the way; else `wait` is an estimate.
    pub exact: bool,
    /// What stands in the way longest.
    pub blocked_by: BlockedBy,
}

/// The limits of one upstream, enforced. Clones share it.
#[derive(Clone, Debug)]
pub struct Limiter {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    name: String,
    app: String,
    hold_max: Duration,
    per_token: config::PerToken,
    /// Everything that has limits; the last may be the upstream's own.
    workloads: Vec<config::Workload>,
    /// Where the upstream's own is.
    global: Option<WorkloadIndex>,
    instance: String,
    /// Which version of each one's limits is in force.
    versions: Mutex<Vec<i64>>,
    /// Who paused and forced what.
    notes: Mutex<Notes>,
    clock: Arc<Clock>,
    files: Files,
    generation: Mutex<u64>,
    /// Whether the last generation has no snapshot (yet).
    gap: AtomicBool,
    /// How long the last snapshot is.
    snapshot_bytes: AtomicU64,
    shards: Shards,
    /// How often the counters could not be brought to disk.
    keeping_errors: AtomicU64,
    /// Who holds permits outside; each core has it, too.
    outside: Holders,
}

impl Limiter {
    /// The upstream's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The app's key where a call names none.
    #[must_use]
    pub fn app(&self) -> &str {
        &self.inner.app
    }

    /// Wall time in so many milliseconds of the limits' clock.
    #[must_use]
    pub fn wall(&self, ms: u64) -> Duration {
        self.inner.clock.wall(ms)
    }

    /// How much of what all share one caller may take.
    #[must_use]
    pub fn per_token(&self) -> config::PerToken {
        self.inner.per_token
    }

    /// How long a call may be held, wall time.
    #[must_use]
    pub fn hold_max(&self) -> Duration {
        self.inner.hold_max
    }

    /// Its workloads' names, by their index; not what limits all its calls together.
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        let workloads = self.inner.workloads.iter();
        workloads
            .take(self.inner.global.unwrap_or(usize::MAX))
            .map(|workload| workload.name.as_str())
    }

    /// Which workload a call belongs to: the raw path after the upstream's name, without its
    /// query. One that belongs to none meets only what limits all calls together; `None`: no
    /// limits apply.
    #[must_use]
    pub fn workload_of(&self, method: &http::Method, path: &str) -> Option<WorkloadIndex> {
        self.inner
            .workloads
            .iter()
            .position(|workload| workload.claims(method.as_str(), path))
            .or(self.inner.global)
    }

    /// Waits until the call may go, at most `hold` (wall time). Dropping the future leaves no
    /// trace of the call.
    ///
    /// # Errors
    /// See [`Refused`]; a call that cannot fit within its hold is refused at once.
    pub async fn acquire(&self, ask: &Ask, hold: Duration) -> Result<Permit, Refused> {
        let call = &ask.call;
        let hold_ms = self.inner.clock.engine_ms(hold);
        let shard = self.inner.shards.of(&call.app);
        let granted = |_: &mut Core, _: &Clock, granted| granted;
        let outcome = match self.inner.ask(shard, ask, hold_ms, granted) {
            Asked::Now(outcome) => outcome,
            Asked::Crowded(stop) => Err(self.inner.crowded(shard, call, stop)),
            Asked::Later(ticket, outcome) => {
                let waiting = Waiting::new(&self.inner, shard, ticket, outcome);
                waiting.outcome().await
            }
        };
        let granted = outcome.map_err(|stop| self.inner.refused(stop))?;
        let permit = Permit::new(Arc::clone(&self.inner), shard, granted.lease.permit);
        if granted.line.write().is_err() {
            permit.refund();
            return Err(Refused::Storage);
        }
        Ok(permit)
    }

    /// Whether grants can be written down.
    ///
    /// # Errors
    /// They cannot: every call is refused.
    pub fn ready(&self) -> Result<(), Refused> {
        if self.inner.shards.are_writable() {
            Ok(())
        } else {
            Err(Refused::Storage)
        }
    }
}

impl Inner {
    /// Does something to a shard's core, then lets go what fits, and tells whom it concerns
    /// when the lock is released.
    fn with<T>(self: &Arc<Self>, shard: ShardIndex, act: impl FnOnce(&mut Core, &Clock) -> T) -> T {
        let (result, deliveries) = self.shards.with(shard, &self.clock, act);
        self.hand_over(deliveries);
        result
    }

    /// The same to all cores at once.
    fn with_all<T>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut [MutexGuard<'_, Core>], &Clock) -> T,
    ) -> T {
        let (result, deliveries) = self.shards.with_all(&self.clock, act);
        self.hand_over(deliveries);
        result
    }

    /// Asks for a call, and has `take` make something of its grant at once. Where only the bound on
    /// users is in its way, all or its caller's, those of all shards that are idle go first.
    fn ask<T>(
        self: &Arc<Self>,
        shard: ShardIndex,
        ask: &Ask,
        hold_ms: u64,
        take: impl Fn(&mut Core, &Clock, Granted) -> T,
    ) -> Asked<T> {
        let ask = |core: &mut Core, clock: &Clock| {
            let asked = core.ask(clock, &ask.call, ask.account.as_ref(), hold_ms);
            asked.map(|granted| take(core, clock, granted))
        };
        let asked = self.with(shard, ask);
        if !matches!(asked, Asked::Crowded(_)) {
            return asked;
        }
        for other in self.shards.indices() {
            self.with(other, |core, clock| core.engine.drop_idle(clock.now()));
        }
        self.with(shard, ask)
    }

    /// Counts a call that finds as many users as there may be.
    fn crowded(self: &Arc<Self>, shard: ShardIndex, call: &Call, stop: Stop) -> Stop {
        self.with(shard, |core, clock| core.refused(clock, call, stop))
    }

    /// Tells the engine what an answer said, and the log whom it stops.
    fn report(
        self: &Arc<Self>,
        shard: ShardIndex,
        permit: spillway::Permit,
        signal: Option<&Signal>,
    ) {
        let trips = self.with(shard, |core, clock| {
            core.report(clock.now(), permit, signal)
        });
        self.warn_of(trips);
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Never while it is held is a core locked.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn_of(&self, trips: Vec<Trip>) {
        for Trip { key, reason, until } in trips {
            let until = until.map(|at| self.clock.timestamp(at).to_string());
            tracing::warn!(
                upstream = self.name,
                workload = self.workloads[key.workload].name,
                scope = %key.scope,
                app = key.app,
                tenant = key.tenant,
                user = key.user,
                ?reason,
                until,
                "a breaker opened"
            );
        }
    }

    /// Upstreams speak of wall time.
    fn in_engine_time(&self, signal: &Signal) -> Signal {
        let engine_ms = |ms| self.clock.engine_ms(Duration::from_millis(ms));
        Signal {
            retry_after_ms: signal.retry_after_ms.map(engine_ms),
            remaining: signal.remaining.map(|remaining| Remaining {
                reset_ms: remaining.reset_ms.map(engine_ms),
                ..remaining
            }),
            ..*signal
        }
    }

    /// Tells waiting callers; what a caller that has just gone was granted, it gives back.
    fn hand_over(self: &Arc<Self>, deliveries: Vec<Delivery>) {
        for Delivery {
            caller,
            outcome,
            shard,
        } in deliveries
        {
            if let Err(Ok(granted)) = caller.send(outcome) {
                self.unclaimed(shard, &granted);
            }
        }
    }

    /// A grant that has not reached its caller costs nothing.
    fn unclaimed(self: &Arc<Self>, shard: ShardIndex, granted: &Granted) {
        Permit::new(Arc::clone(self), shard, granted.lease.permit).refund();
    }

    fn refused(&self, stop: Stop) -> Refused {
        match stop {
            Stop::Storage => Refused::Storage,
            Stop::Closing => Refused::Closing,
            Stop::Full(full) => Refused::Full(full),
            Stop::Refused(refusal @ Refusal::Impossible { .. }) => Refused::Impossible(refusal),
            Stop::Refused(Refusal::Capacity { .. }) => Refused::Capacity,
            Stop::Refused(Refusal::Busy(busy)) => Refused::Busy(Busy {
                wait: self.clock.wall(busy.at.ms_since(self.clock.now())),
                exact: busy.exact,
                blocked_by: busy.blocked_by,
            }),
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A call that waits. Dropped, it leaves the queue, and gives back what it was granted
/// meanwhile.
#[derive(Debug)]
struct Waiting<'a> {
    inner: &'a Arc<Inner>,
    shard: ShardIndex,
    ticket: Ticket,
    outcome: oneshot::Receiver<Outcome>,
    told: bool,
}

impl<'a> Waiting<'a> {
    fn new(
        inner: &'a Arc<Inner>,
        shard: ShardIndex,
        ticket: Ticket,
        outcome: oneshot::Receiver<Outcome>,
    ) -> Self {
        Self {
            inner,
            shard,
            ticket,
            outcome,
            told: false,
        }
    }

    async fn outcome(mut self) -> Outcome {
        // The sender is dropped unsent only with the limiter itself.
        let outcome = (&mut self.outcome).await.unwrap_or(Err(Stop::Closing));
        self.told = true;
        outcome
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.told {
            return;
        }
        self.outcome.close();
        if let Ok(Ok(granted)) = self.outcome.try_recv() {
            self.inner.unclaimed(self.shard, &granted);
        } else {
            self.inner.with(self.shard, |core, clock| {
                core.cancel(clock.now(), self.ticket)
            });
        }
    }
}

#[cfg(test)]
mod tests;
