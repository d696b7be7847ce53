//! An engine with its journal and the callers that wait: what is behind a shard's lock.
//!
//! Nothing here waits. What has to happen after the lock is released (a waiting caller is
//! told, the keeper is woken) comes back as a value.

use std::collections::HashMap;
use std::sync::Arc;

use spillway::{
    Answer, Call, Ended, Engine, Grant, Instant, Lease, NotRenewed, Permit, Refusal, Settled,
    Signal, Ticket, Trip, Verdict,
};
use tokio::sync::oneshot;

use super::journal::{Gathered, Journal, Unwritable};
use super::openings::Openings;
use super::outside::Holders;
use super::shards::ShardIndex;
use super::tally::{Cause, Tally};
use super::traffic::{SeenNumber, Traffic};
use crate::access::{Account, Full};
use crate::clock::Clock;

/// What a waiting caller is told.
pub(super) type Outcome = Result<Granted, Stop>;

/// A call may go, as soon as that is in the journal.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) lease: Lease,
    pub(super) line: Gathered,
}

/// Why a call does not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Refused(Refusal),
    /// Its caller has as many users as it may.
    Full(Full),
    Storage,
    Closing,
}

/// An outcome for a caller that waits, to be handed over when the lock is released.
pub(super) struct Delivery {
    pub(super) caller: oneshot::Sender<Outcome>,
    pub(super) outcome: Outcome,
    /// Which shard's outcome it is.
    pub(super) shard: ShardIndex,
}

/// A call that waits.
struct Waiting {
    outcome: oneshot::Sender<Outcome>,
    call: Call,
    since: tokio::time::Instant,
    seen: SeenNumber,
}

/// What a call that asks is told; `T` is what is made of its grant at once.
pub(super) enum Asked<T = Granted> {
    Now(Result<T, Stop>),
    /// A new user, and the shards count as many as they may, of all or of its caller; some may
    /// be idle.
    Crowded(Stop),
    Later(Ticket, oneshot::Receiver<Outcome>),
}

impl Asked {
    /// With what is made of a grant that came at once.
    pub(super) fn map<T>(self, make: impl FnOnce(Granted) -> T) -> Asked<T> {
        match self {
            Self::Now(outcome) => Asked::Now(outcome.map(make)),
            Self::Crowded(stop) => Asked::Crowded(stop),
            Self::Later(ticket, outcome) => Asked::Later(ticket, outcome),
        }
    }
}

pub(super) struct Core {
    /// Which shard's it is.
    pub(super) shard: ShardIndex,
    pub(super) engine: Engine,
    pub(super) journal: Journal,
    pub(super) tallies: Vec<Tally>,
    pub(super) outside: Holders,
    pub(super) traffic: Traffic,
    /// How many users of it the other shards know of.
    pub(super) users_counted: usize,
    waiting: HashMap<Ticket, Waiting>,
    openings: Openings,
    closing: bool,
}

impl Core {
    /// With a journal that takes nothing yet.
    pub(super) fn new(
        shard: ShardIndex,
        engine: Engine,
        workloads: usize,
        outside: Holders,
        traffic: Traffic,
    ) -> Self {
        Self {
            shard,
            engine,
            journal: Journal::closed(),
            tallies: vec![Tally::default(); workloads],
            outside,
            traffic,
            users_counted: 0,
            waiting: HashMap::new(),
            openings: Openings::default(),
            closing: false,
        }
    }

    /// `account` is whose user it counts among, should it be a new one.
    pub(super) fn ask(
        &mut self,
        clock: &Clock,
        call: &Call,
        account: Option<&Arc<Account>>,
        hold_ms: u64,
    ) -> Asked {
        if self.closing {
            return Asked::Now(Err(Stop::Closing));
        }
        if self.journal.is_broken() {
            return Asked::Now(Err(self.refused(clock, call, Stop::Storage)));
        }
        let full = account.and_then(|account| account.may_open_user().err());
        if let Some(full) = full.filter(|_| !self.engine.knows_user(call)) {
            return Asked::Crowded(Stop::Full(full));
        }
        let now = clock.now();
        self.engine.open_for(account.map(Openings::opener));
        let answer = self.engine.ask(now, call, now.plus_ms(hold_ms));
        self.engine.open_for(None);
        self.openings.count(&mut self.engine, account);
        if let Answer::Refused(refusal @ Refusal::Capacity { .. }) = answer {
            return Asked::Crowded(Stop::Refused(refusal));
        }
        let seen = self.traffic.asked(now, call, hold_ms);
        match answer {
            Answer::Granted(grant) => {
                let outcome = self.let_go((clock, now), call, grant, (seen, None));
                Asked::Now(outcome)
            }
            Answer::Refused(refusal) => {
                self.traffic.refused(seen);
                Asked::Now(Err(self.refused(clock, call, Stop::Refused(refusal))))
            }
            Answer::Parked(ticket) => {
                let (outcome, receiver) = oneshot::channel();
                self.waiting.insert(
                    ticket,
                    Waiting {
                        outcome,
                        call: call.clone(),
                        since: tokio::time::Instant::now(),
                        seen,
                    },
                );
                Asked::Later(ticket, receiver)
            }
        }
    }

    /// Counts a call that is refused.
    pub(super) fn refused(&mut self, clock: &Clock, call: &Call, why: Stop) -> Stop {
        let cause = match &why {
            Stop::Refused(refusal) => Cause::from(refusal),
            Stop::Full(_) => Cause::Capacity,
            Stop::Storage | Stop::Closing => Cause::Storage,
        };
        let at_s = unix_s(clock, clock.now());
        self.tallies[call.workload].refused(call.lane, cause, at_s);
        why
    }

    pub(super) fn complete(&mut self, now: Instant, permit: Permit) -> Ended {
        let ended = self.engine.complete(now, permit);
        self.traffic.ended(permit, now);
        // A lost line only keeps the lease until it expires: too careful, never too late.
        let _ = self.journal.ended(permit, now);
        ended
    }

    pub(super) fn refund(&mut self, now: Instant, permit: Permit) {
        self.engine.refund(now, permit);
        self.traffic.ended(permit, now);
        let _ = self.journal.refunded(permit, now);
    }

    /// What a running call's answer says; none: there was no answer.
    pub(super) fn report(
        &mut self,
        now: Instant,
        permit: Permit,
        signal: Option<&Signal>,
    ) -> Vec<Trip> {
        let Some(signal) = signal else {
            return self.engine.report_failure(now, permit);
        };
        self.hear(permit, signal);
        let trips = self.engine.report(now, permit, signal);
        if (signal.charged_units.is_some() || signal.unauthorized)
            && let Some(lease) = self.engine.lease(permit)
        {
            // A lost line lands what the call was thought to cost.
            let _ = self.journal.weighed(&lease, now);
        }
        trips
    }

    /// Counts what is to be shown later; most answers say nothing.
    fn hear(&mut self, permit: Permit, signal: &Signal) {
        let speaks = signal.verdict == Verdict::Throttled
            || signal.percentage_permille.is_some()
            || signal.remaining.is_some();
        if speaks && let Some(lease) = self.engine.lease(permit) {
            self.tallies[lease.call.workload].heard(signal);
        }
    }

    pub(super) fn renew(&mut self, now: Instant, permit: Permit) -> Result<Instant, NotRenewed> {
        let expires_at = self.engine.renew(now, permit)?;
        let _ = self.journal.renewed(permit, now, expires_at);
        Ok(expires_at)
    }

    /// The caller has gone. True if it waited; else its outcome is on its way.
    pub(super) fn cancel(&mut self, now: Instant, ticket: Ticket) -> bool {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            self.traffic.refused(waiting.seen);
        }
        self.engine.cancel(now, ticket)
    }

    /// Lets go what fits now, and says whom to tell.
    pub(super) fn settle(&mut self, clock: &Clock) -> Vec<Delivery> {
        let now = clock.now();
        self.engine.settle(now);
        self.openings.count(&mut self.engine, None);
        self.write_breakers();
        let settled = self.engine.take_settled();
        settled
            .into_iter()
            .filter_map(|settled| self.deliver((clock, now), settled))
            .collect()
    }

    fn write_breakers(&mut self) {
        for (key, breaker) in self.engine.take_breakers() {
            // A lost line costs a restarted server one more answer of the upstream's.
            let _ = self.journal.breaker(&key, breaker.as_ref(), None);
        }
    }

    /// Takes no more calls, and says whom to tell.
    pub(super) fn close(&mut self, now: Instant) -> Vec<Delivery> {
        self.closing = true;
        let waiting = std::mem::take(&mut self.waiting);
        let stopped = waiting.into_iter().map(|(ticket, waiting)| {
            self.engine.cancel(now, ticket);
            Delivery {
                caller: waiting.outcome,
                outcome: Err(Stop::Closing),
                shard: self.shard,
            }
        });
        stopped.collect()
    }

    fn deliver(
        &mut self,
        (clock, now): (&Clock, Instant),
        Settled { ticket, outcome }: Settled,
    ) -> Option<Delivery> {
        let Some(waiting) = self.waiting.remove(&ticket) else {
            if let Ok(grant) = outcome {
                self.engine.refund(now, grant.permit);
            }
            return None;
        };
        let outcome = match outcome {
            Ok(grant) => {
                let (seen, since) = (waiting.seen, Some(waiting.since));
                self.let_go((clock, now), &waiting.call, grant, (seen, since))
            }
            Err(refusal) => {
                self.traffic.refused(waiting.seen);
                Err(self.refused(clock, &waiting.call, Stop::Refused(refusal)))
            }
        };
        Some(Delivery {
            caller: waiting.outcome,
            outcome,
            shard: self.shard,
        })
    }

    /// A grant leaves only when it is in the journal: whoever gets it sees to that.
    fn let_go(
        &mut self,
        (clock, now): (&Clock, Instant),
        call: &Call,
        grant: Grant,
        (seen, since): (SeenNumber, Option<tokio::time::Instant>),
    ) -> Outcome {
        let Ok(granted) = self.gathered(grant.permit) else {
            self.engine.refund(now, grant.permit);
            self.traffic.refused(seen);
            return Err(self.refused(clock, call, Stop::Storage));
        };
        self.traffic.granted(seen, grant.permit, now);
        let hold = since.map(|since| since.elapsed());
        let at_s = unix_s(clock, now);
        self.tallies[call.workload].admitted(call.lane, hold, at_s);
        Ok(granted)
    }

    fn gathered(&self, permit: Permit) -> Result<Granted, Unwritable> {
        let lease = self.engine.lease(permit).ok_or(Unwritable)?;
        let line = self.journal.granted(&lease)?;
        Ok(Granted { lease, line })
    }
}

/// `now` on the wall clock, in whole seconds since 1970.
pub(super) fn unix_s(clock: &Clock, now: Instant) -> u64 {
    u64::try_from(clock.timestamp(now).as_second()).unwrap_or(0)
}
