//! The engine of one upstream: admits, parks, ends and expires calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::budget::{Assumed, Key, Shortage};
use crate::call::{Call, Lane, Permit, Scope};
use crate::decision::{
    Answer, BlockedBy, Busy, Ended, Grant, NotRenewed, Refusal, Settled, Ticket,
};
use crate::lease::{Held, Lease, Leases};
use crate::ledger::{Ledger, Place};
use crate::policy::{Dimension, Policy};
use crate::queue::{Queue, User};
use crate::time::Instant;

/// How many of the last holds the estimate for running calls is drawn from.
const HOLDS_KEPT: usize = 63;

/// Bounds and lengths that the driver chooses, in the engine's milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The most user keys that may hold counts at once; beyond, new users are refused.
    pub users_max: usize,
    /// The most calls that may wait per app.
    pub waiters_max: usize,
    /// For how long a permit is granted or renewed.
    pub lease_ms: u64,
    /// For how long after its grant a permit may be renewed.
    pub renewals_ms_max: u64,
    /// For how long a breaker's probe may run.
    pub probe_ms: u64,
}

/// One workload: its policy and how long its calls take.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) policy: Policy,
    holds_ms: VecDeque<u64>,
}

/// The limits of one upstream and everything counted against them.
///
/// Every method takes `now` from a clock that never steps back while the process runs; an
/// earlier instant than the last counts as the last.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) now: Instant,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) ledger: Ledger,
    pub(crate) leases: Leases,
    pub(crate) queues: BTreeMap<QueueKey, Queue>,
    pub(crate) tickets: BTreeMap<Ticket, (QueueKey, Lane, User)>,
    pub(crate) deadlines: BTreeSet<(Instant, Ticket)>,
    pub(crate) settled: Vec<Settled>,
    pub(crate) next_permit: u64,
    pub(crate) next_ticket: u64,
    full_at: Option<Instant>,
}

/// Calls wait per workload and app: what blocks one app must not block another.
pub(crate) type QueueKey = (usize, String);

impl Engine {
    /// An engine with nothing counted, for workloads with these policies.
    #[must_use]
    pub fn new(settings: Settings, policies: Vec<Policy>, now: Instant) -> Self {
        let workload = |policy| Workload {
            policy,
            holds_ms: VecDeque::new(),
        };
        Self {
            settings,
            now,
            workloads: policies.into_iter().map(workload).collect(),
            ledger: Ledger::default(),
            leases: Leases::default(),
            queues: BTreeMap::new(),
            tickets: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            settled: Vec::new(),
            next_permit: 1,
            next_ticket: 1,
            full_at: None,
        }
    }

    /// Treats every key, seen or not, as full at `at`: for when the counts were lost. Each
    /// layer stays full for one window, concurrency for one lease.
    pub fn assume_full(&mut self, at: Instant) {
        self.full_at = Some(at);
    }

    /// A call asks to go. It is granted, refused, or, where it may fit before `deadline`, parked.
    /// A refusal charges nothing and creates no key.
    pub fn ask(&mut self, now: Instant, call: Call, deadline: Instant) -> Answer {
        let now = self.advance(now);
        if let Err(refusal) = self.possible(&call) {
            return Answer::Refused(refusal);
        }
        let queue_key = (call.workload, call.app.clone());
        self.pass(&queue_key);
        let short = self.shortages(&call);
        let queued = self.must_queue(&queue_key, &call);
        if short.is_empty() && queued.is_none() {
            return self
                .grant_new(&call)
                .map_or_else(Answer::Refused, Answer::Granted);
        }
        let earliest = short.iter().map(|(_, shortage)| shortage.earliest).max();
        if deadline <= now || earliest.is_some_and(|at| at > deadline) {
            let busy = self.refuse(&queue_key, &call, queued.flatten());
            return Answer::Refused(Refusal::Busy(busy));
        }
        if self
            .queues
            .get(&queue_key)
            .is_some_and(|queue| queue.len() >= self.settings.waiters_max)
        {
            let busy = self.refuse(&queue_key, &call, queued.flatten());
            return Answer::Refused(Refusal::Busy(Busy {
                blocked_by: BlockedBy::Queue,
                exact: false,
                ..busy
            }));
        }
        Answer::Parked(self.park(queue_key, call, deadline))
    }

    /// The upstream's answer has ended: the weight lands now, the slots are free.
    pub fn complete(&mut self, now: Instant, permit: Permit) -> Ended {
        let now = self.advance(now);
        if let Some(held) = self.leases.remove(permit) {
            self.remember_hold(&held.lease);
            self.end(&held, now, held.lease.call.weight);
            return Ended::Landed;
        }
        let Some(lease) = self.leases.take_expired(permit) else {
            return Ended::Unknown;
        };
        for (_, key) in self.keys(&lease.call) {
            let place = self
                .ledger
                .place(&key, &self.workloads[key.workload].policy);
            if let Some(budget) = self.ledger.at(place) {
                budget.land(now, lease.call.lane, lease.call.weight);
            }
        }
        Ended::Overrun
    }

    /// The call was never written to the wire: nothing lands.
    pub fn refund(&mut self, now: Instant, permit: Permit) -> Ended {
        let now = self.advance(now);
        let Some(held) = self.leases.remove(permit) else {
            return Ended::Unknown;
        };
        self.end(&held, now, 0);
        Ended::Landed
    }

    /// The call still runs: its lease lasts for a full length from now on.
    ///
    /// # Errors
    /// The lease has ended, or was renewed for as long as [`Settings::renewals_ms_max`] allows.
    pub fn renew(&mut self, now: Instant, permit: Permit) -> Result<Instant, NotRenewed> {
        let now = self.advance(now);
        let lease = self.leases.get(permit).ok_or(NotRenewed::Ended)?;
        if lease.probe || now.ms_since(lease.granted_at) >= self.settings.renewals_ms_max {
            return Err(NotRenewed::TooLong);
        }
        let expires_at = now.plus_ms(self.settings.lease_ms);
        self.extend(permit, expires_at);
        Ok(expires_at)
    }

    /// Nobody will tell how this running call ended: it may still run upstream, and stays
    /// counted until its lease expires.
    pub fn abandon(&mut self, now: Instant, permit: Permit) {
        self.advance(now);
        let Some(held) = self.leases.held(permit) else {
            return;
        };
        let (places, expires_at) = (held.places.clone(), held.lease.expires_at);
        for place in places {
            if let Some(budget) = self.ledger.at(place) {
                budget.linger(permit, expires_at);
            }
        }
    }

    /// The caller of a parked call has gone: no trace is left. False if it was settled already.
    pub fn cancel(&mut self, now: Instant, ticket: Ticket) -> bool {
        self.advance(now);
        self.unpark(ticket).is_some()
    }

    /// Lets go what fits now and refuses whose hold is over. To be called at [`wake_at`](Self::wake_at)
    /// and after every end; then [`take_settled`](Self::take_settled) has the outcomes.
    pub fn settle(&mut self, now: Instant) {
        let now = self.advance(now);
        let keys: Vec<_> = self.queues.keys().cloned().collect();
        keys.iter().for_each(|key| self.pass(key));
        while let Some((at, ticket)) = self.deadlines.first().copied()
            && at <= now
        {
            if let Some(waiter) = self.unpark(ticket) {
                let queue_key = (waiter.call.workload, waiter.call.app.clone());
                let busy = self.refuse(&queue_key, &waiter.call, None);
                self.settled.push(Settled {
                    ticket,
                    outcome: Err(Refusal::Busy(busy)),
                });
            }
        }
    }

    /// What became of parked calls since this was last asked.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.settled)
    }

    /// When [`settle`](Self::settle) is due next, if anything waits.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let (deadline, _) = self.deadlines.first()?;
        let fits = self.queues.values().filter_map(|queue| queue.found.wake_at);
        fits.chain(self.leases.next_expiry())
            .chain([*deadline])
            .min()
    }

    /// Brings everything up to `now`: leases that expired until then land at their expiry.
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        while let Some(held) = self.leases.pop_expired(now.max(self.now)) {
            self.end(&held, held.lease.expires_at, held.lease.call.weight);
        }
        self.now = self.now.max(now);
        self.ledger.sweep(self.now);
        self.now
    }

    /// The budgets that `call` is charged to: one for each scope at which its policy has layers.
    pub(crate) fn keys(&self, call: &Call) -> Vec<(Scope, Key)> {
        let policy = &self.workloads[call.workload].policy;
        let scopes = Scope::ALL.into_iter().filter(|scope| policy.has(*scope));
        scopes.map(|scope| (scope, Key::of(call, scope))).collect()
    }

    /// Charges a lease that was granted before and written down.
    pub(crate) fn hold(&mut self, lease: Lease) {
        let places = self.charge(&lease.call);
        self.keep(lease, places);
    }

    /// Moves the expiry of a lease that is held.
    pub(crate) fn extend(&mut self, permit: Permit, expires_at: Instant) {
        let Some(mut held) = self.leases.remove(permit) else {
            return;
        };
        for place in &held.places {
            if let Some(budget) = self.ledger.at(*place) {
                budget.linger_no_more(permit);
            }
        }
        held.lease.expires_at = expires_at;
        self.leases.insert(held);
    }

    pub(crate) fn assumed(&self, workload: usize) -> Assumed {
        let mut holds: Vec<u64> = self.workloads[workload].holds_ms.iter().copied().collect();
        let middle = holds.len() / 2;
        let hold_ms_median = if holds.is_empty() {
            0
        } else {
            *holds.select_nth_unstable(middle).1
        };
        Assumed {
            full_at: self.full_at,
            lease_ms: self.settings.lease_ms,
            hold_ms_median,
            probe_ms: self.settings.probe_ms,
        }
    }

    fn possible(&self, call: &Call) -> Result<(), Refusal> {
        let policy = &self.workloads[call.workload].policy;
        for layer in policy
            .layers()
            .iter()
            .filter(|layer| layer.dimension() != Dimension::Concurrency)
        {
            let cap = policy.cap(layer, call.lane);
            if call.weight > cap {
                let (scope, dimension) = (layer.scope(), layer.dimension());
                return Err(Refusal::Impossible {
                    weight: call.weight,
                    lane: call.lane,
                    scope,
                    dimension,
                    cap,
                });
            }
        }
        Ok(())
    }

    /// The shortage in each budget that has one, narrowest scope first.
    pub(crate) fn shortages(&mut self, call: &Call) -> Vec<(Scope, Shortage)> {
        let (now, assumed) = (self.now, self.assumed(call.workload));
        let keys = self.keys(call);
        let policy = &self.workloads[call.workload].policy;
        let short = keys.into_iter().filter_map(|(scope, key)| {
            let short = self.ledger.with(&key, policy, now, |budget| {
                budget.shortage(policy, call, now, assumed)
            });
            short.map(|shortage| (scope, shortage))
        });
        short.collect()
    }

    pub(crate) fn grant_new(&mut self, call: &Call) -> Result<Grant, Refusal> {
        let users_max = self.settings.users_max;
        if self.ledger.users() >= users_max && self.is_new_user(call) {
            self.ledger.sweep_all(self.now);
            if self.ledger.users() >= users_max {
                return Err(Refusal::Capacity { users_max });
            }
        }
        Ok(self.grant(call))
    }

    fn is_new_user(&mut self, call: &Call) -> bool {
        let charged = self.workloads[call.workload].policy.has(Scope::User);
        charged
            && self
                .ledger
                .find_mut(&Key::of(call, Scope::User), self.now)
                .is_none()
    }

    fn grant(&mut self, call: &Call) -> Grant {
        let permit = Permit(self.next_permit);
        let places = self.charge(call);
        let mut probe = false;
        for place in &places {
            if self.ledger.has_breaker(*place) {
                probe |= self.ledger.tell(*place, |breaker| breaker.granted(permit)) == Some(true);
            }
        }
        let Settings {
            lease_ms, probe_ms, ..
        } = self.settings;
        let lasts_ms = if probe {
            probe_ms.min(lease_ms)
        } else {
            lease_ms
        };
        let expires_at = self.now.plus_ms(lasts_ms);
        let call = call.clone();
        self.keep(
            Lease {
                permit,
                call,
                granted_at: self.now,
                expires_at,
                probe,
            },
            places,
        );
        Grant { permit, expires_at }
    }

    /// Counts `call` as running in all its budgets.
    fn charge(&mut self, call: &Call) -> Vec<Place> {
        let mut places = Vec::with_capacity(Scope::ALL.len());
        for (_, key) in self.keys(call) {
            let place = self
                .ledger
                .place(&key, &self.workloads[key.workload].policy);
            if let Some(budget) = self.ledger.at(place) {
                budget.start(call.lane, call.weight);
                places.push(place);
            }
        }
        places
    }

    fn keep(&mut self, lease: Lease, places: Vec<Place>) {
        self.next_permit = self.next_permit.max(lease.permit.0 + 1);
        self.leases.insert(Held { lease, places });
    }

    fn end(&mut self, held: &Held, at: Instant, landed: u32) {
        let call = &held.lease.call;
        for place in &held.places {
            if let Some(budget) = self.ledger.at(*place) {
                budget.advance(at);
                budget.linger_no_more(held.lease.permit);
                budget.end(at, call.lane, call.weight, landed);
            }
            if self.ledger.has_breaker(*place) {
                self.ledger
                    .tell(*place, |breaker| breaker.ended(at, held.lease.permit));
            }
        }
        self.stir(call.workload, &call.app);
    }

    /// Something changed for those who wait for this app.
    pub(crate) fn stir(&mut self, workload: usize, app: &str) {
        if let Some(queue) = self.queues.get_mut(&(workload, app.to_owned())) {
            queue.stirred = true;
        }
    }

    fn remember_hold(&mut self, lease: &Lease) {
        let holds = &mut self.workloads[lease.call.workload].holds_ms;
        if holds.len() == HOLDS_KEPT {
            holds.pop_front();
        }
        holds.push_back(self.now.ms_since(lease.granted_at));
    }
}
