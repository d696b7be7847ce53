//! The engine of one upstream: admits, parks, ends and expires calls.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::{Call, Scope};
use crate::decision::{Answer, BlockedBy, Busy, Refusal, Settled, Ticket};
use crate::key::KeyRef;
use crate::lease::Leases;
use crate::pause::Pauses;
use crate::policy::{Dimension, Policy};
use crate::queue::{Queue, Spot};
use crate::shards::Numbers;
use crate::time::Instant;
use crate::tree::{Place, Tree};
use crate::workload::Workload;

/// Bounds and lengths that the driver chooses, in the engine's milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The most user keys that may hold counts at once; beyond, new users are refused.
    pub users_max: usize,
    /// The most calls that may wait per app.
    pub waiters_max: usize,
    /// For how long a permit is granted or renewed.
    pub lease_ms: u64,
    /// For how long after its grant a permit may be renewed, and after its expiry be completed.
    pub renewals_ms_max: u64,
    /// For how long a breaker's probe may run.
    pub probe_ms: u64,
    /// Of this many turns with admissible calls in both lanes, at least one is the
    /// background's; 0: foreground always goes first.
    pub background_turn: u32,
    /// The workload whose limits are the upstream's own: every call is charged to them beside
    /// those of its workload.
    pub global: Option<usize>,
    /// The longest wait that the driver tells callers of, however long it really is: they come
    /// back then, so that their places in line end then.
    pub told_ms_max: u64,
    /// Any number, best a random one: it makes look-ups by names that others choose
    /// predictable to nobody, and never affects a decision.
    pub hash_seed: u64,
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
    pub(crate) tree: Tree,
    pub(crate) leases: Leases,
    /// By the app's place: what blocks one app must not block another.
    pub(crate) queues: BTreeMap<Place, Queue>,
    pub(crate) tickets: BTreeMap<Ticket, Spot>,
    pub(crate) deadlines: BTreeSet<(Instant, Ticket)>,
    pub(crate) settled: Vec<Settled>,
    pub(crate) pauses: Pauses,
    pub(crate) numbers: Numbers,
    pub(crate) next_permit: u64,
    pub(crate) next_ticket: u64,
    pub(crate) full_at: Option<Instant>,
}

impl Engine {
    /// An engine with nothing counted, for workloads with these policies.
    #[must_use]
    pub fn new(settings: Settings, policies: Vec<Policy>, now: Instant) -> Self {
        Self {
            settings,
            now,
            workloads: policies
                .into_iter()
                .map(|policy| Workload::new(policy, now))
                .collect(),
            tree: Tree::new(settings.hash_seed),
            leases: Leases::new(settings.renewals_ms_max),
            queues: BTreeMap::new(),
            tickets: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            settled: Vec::new(),
            pauses: Pauses::default(),
            numbers: Numbers::ALL,
            next_permit: 1,
            next_ticket: 1,
            full_at: None,
        }
    }

    /// What an upstream says is left of a limit (`RateLimit-Remaining`) speaks of this layer of
    /// `workload`: it corrects what is used upward.
    pub fn trust_remaining(&mut self, workload: usize, scope: Scope, dimension: Dimension) {
        if let Some(workload) = self.workloads.get_mut(workload) {
            workload.remaining_is_of = Some((scope, dimension));
        }
    }

    /// Treats every key, seen or not, as full at `at`: for when the counts were lost. Each
    /// layer stays full for one window, concurrency for one lease.
    pub fn assume_full(&mut self, at: Instant) {
        self.full_at = Some(at);
    }

    /// Since when every key is treated as full, while that matters: to be kept over a restart.
    #[must_use]
    pub const fn full_at(&self) -> Option<Instant> {
        self.full_at
    }

    /// A call asks to go. It is granted, refused, or, where it may fit before `deadline`, parked.
    /// A refusal charges nothing and creates no key.
    pub fn ask(&mut self, now: Instant, call: &Call, deadline: Instant) -> Answer {
        let now = self.advance(now);
        self.tree.sweep(&self.workloads, now);
        if let Err(refusal) = self.possible(call) {
            return Answer::Refused(refusal);
        }
        if !self.queues.is_empty()
            && let Some(app) = self.tree.app(call.workload, &call.app)
        {
            self.turn_away_overdue(|deadline| deadline < now);
            self.pass(app);
        }
        let mut stand = self.stand(call);
        let charges = self.charges(KeyRef::of(call, call.workload, Scope::User), &stand);
        let queued = self.must_queue(&stand, call.lane);
        if queued.is_none() && self.fits(&charges, call) {
            return match self.make_room(call, &mut stand) {
                Ok(()) => Answer::Granted(self.grant(call, &stand)),
                Err(refusal) => Answer::Refused(refusal),
            };
        }
        if deadline > now && self.may_fit_by(&charges, call, deadline) {
            if let Err(refusal) = self.make_room(call, &mut stand) {
                return Answer::Refused(refusal);
            }
            if !self.queue_has_room(&stand) {
                let busy = self.refuse(&stand, &charges, call, queued.flatten());
                return Answer::Refused(Refusal::Busy(Busy {
                    blocked_by: BlockedBy::Queue,
                    exact: false,
                    ..busy
                }));
            }
            return Answer::Parked(self.park(&stand, call, deadline));
        }
        let busy = self.refuse(&stand, &charges, call, queued.flatten());
        Answer::Refused(Refusal::Busy(busy))
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
        self.tree.sweep(&self.workloads, now);
        if self.queues.is_empty() {
            return;
        }
        // A driver that was late must not let a call go whose hold is over.
        self.turn_away_overdue(|deadline| deadline < now);
        self.pass_all();
        self.turn_away_overdue(|deadline| deadline <= now);
        // Who stood behind one that was turned away may go, or has a time to wake at.
        self.pass_all();
    }

    /// What became of parked calls since this was last asked.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.settled)
    }

    /// When [`settle`](Self::settle) is due next, if anything waits.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let (deadline, _) = self.deadlines.first()?;
        let fits = self.queues.values().filter_map(Queue::wake_at);
        fits.chain(self.leases.next_expiry())
            .chain([*deadline])
            .min()
    }

    fn pass_all(&mut self) {
        let apps: Vec<_> = self.queues.keys().copied().collect();
        apps.into_iter().for_each(|app| self.pass(app));
    }

    fn turn_away_overdue(&mut self, is_over: impl Fn(Instant) -> bool) {
        while let Some((deadline, ticket)) = self.deadlines.first().copied()
            && is_over(deadline)
        {
            self.deadlines.pop_first();
            if let Some(waiter) = self.unpark(ticket) {
                self.turn_away(waiter);
            }
        }
    }

    /// Brings everything up to `now`: leases that expired until then land at their expiry.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        while let Some(held) = self.leases.pop_expired(now.max(self.now)) {
            self.expire(&held);
        }
        self.now = self.now.max(now);
        self.pauses.advance(self.now);
        self.full_at.take_if(|at| {
            let spans = self
                .workloads
                .iter()
                .map(|workload| workload.shape.span_ms_max());
            let longest = spans.max().unwrap_or(0).max(self.settings.lease_ms);
            at.plus_ms(longest) <= self.now
        });
        self.now
    }
}
