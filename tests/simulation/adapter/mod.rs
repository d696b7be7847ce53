//! The engine as the server drives it: whatever is done, [`Driver::settle`] follows, and what
//! must survive is written down first. The only place that calls the engine.

mod store;

use std::collections::BTreeMap;

use spillway::{
    Answer, BudgetRecord, BudgetView, Call, Ended, Engine, Instant, Key, Lease, NotRenewed, Permit,
    Policy, Scope, Settings, Settled, Signal, Ticket, Trip, Whose, WorkloadView,
};

use crate::script::Sizes;
use store::{Entry, Store};

/// An engine and what was written down of it.
#[derive(Clone)]
pub struct Driver {
    engine: Engine,
    store: Store,
    sizes: Sizes,
    policies: Vec<Policy>,
    hash_seed: u64,
}

impl Driver {
    /// A fresh one. `hash_seed` must not matter.
    pub fn new(sizes: Sizes, policies: Vec<Policy>, now: Instant, hash_seed: u64) -> Self {
        let mut driver = Self {
            engine: engine(sizes, policies.clone(), now, hash_seed),
            store: Store::default(),
            sizes,
            policies,
            hash_seed,
        };
        driver.snapshot(now, true, &[]);
        driver
    }

    /// A copy to ask what would happen if.
    pub fn fork(&self) -> Fork {
        Fork(self.engine.clone())
    }

    pub fn ask(&mut self, now: Instant, call: &Call, deadline: Instant) -> Answer {
        let answer = self.engine.ask(now, call, deadline);
        if let Answer::Granted(grant) = &answer {
            self.write_grant(grant.permit);
        }
        answer
    }

    pub fn complete(&mut self, now: Instant, permit: Permit) -> Ended {
        let ended = self.engine.complete(now, permit);
        self.store.write(Entry::Ended(permit, now));
        ended
    }

    pub fn refund(&mut self, now: Instant, permit: Permit) -> Ended {
        let ended = self.engine.refund(now, permit);
        self.store.write(Entry::Refunded(permit, now));
        ended
    }

    pub fn renew(&mut self, now: Instant, permit: Permit) -> Result<Instant, NotRenewed> {
        let expires_at = self.engine.renew(now, permit)?;
        self.store.write(Entry::Renewed(permit, expires_at));
        Ok(expires_at)
    }

    pub fn abandon(&mut self, now: Instant, permit: Permit) {
        self.engine.abandon(now, permit);
    }

    pub fn cancel(&mut self, now: Instant, ticket: Ticket) -> bool {
        self.engine.cancel(now, ticket)
    }

    /// What an answer said; none: there was no answer.
    pub fn report(&mut self, now: Instant, permit: Permit, signal: Option<&Signal>) -> Vec<Trip> {
        match signal {
            Some(signal) => self.engine.report(now, permit, signal),
            None => self.engine.report_failure(now, permit),
        }
    }

    pub fn force(&mut self, now: Instant, key: &Key, open: bool, until: Instant) {
        self.engine.force(now, key, open, until);
    }

    pub fn reset(&mut self, now: Instant, key: &Key) {
        self.engine.reset(now, key);
    }

    pub fn pause(&mut self, now: Instant, whose: &Whose, until: Instant) {
        let paused = self.engine.pause(now, whose.clone(), until);
        paused.expect("a few are within the bound");
        self.store.write(Entry::Paused(whose.clone(), until));
    }

    pub fn resume(&mut self, now: Instant, whose: &Whose) -> bool {
        self.store.write(Entry::Resumed(whose.clone(), now));
        self.engine.resume(now, whose)
    }

    /// Lets go what fits, and says whom to tell.
    pub fn settle(&mut self, now: Instant) -> Vec<Settled> {
        self.engine.settle(now);
        for (key, breaker) in self.engine.take_breakers() {
            self.store.write(Entry::Breaker(key, breaker.map(Box::new)));
        }
        let settled = self.engine.take_settled();
        for grant in settled.iter().filter_map(|one| one.outcome.as_ref().ok()) {
            self.write_grant(grant.permit);
        }
        settled
    }

    pub fn wake_at(&self) -> Option<Instant> {
        self.engine.wake_at()
    }

    /// Writes a snapshot, full or of what changed. `outside`: permits that callers hold still.
    pub fn snapshot(&mut self, now: Instant, full: bool, outside: &[Permit]) {
        let changes = self.engine.take_changes(now);
        let (budgets, full) = if full {
            (self.engine.records(now), true)
        } else {
            (changes, false)
        };
        let overdue = outside.iter().filter_map(|permit| self.overdue(*permit));
        let overdue = overdue.collect();
        let next = self.engine.next_permit();
        let pauses = self.engine.pauses();
        let pauses = pauses.map(|(whose, until)| (whose.clone(), until));
        let pauses = pauses.collect();
        self.store
            .snapshot(full, budgets, self.leases(), overdue, pauses, next);
    }

    /// The server was killed and starts again. With its counts lost, all that was written down
    /// is of no use but the next permit's number.
    pub fn restart(&mut self, now: Instant, counts_lost: bool, outside: &[Permit]) {
        // Time begins at 0 so that what was written down lands when it landed.
        let begin = Instant::default();
        let mut engine = engine(self.sizes, self.policies.clone(), begin, self.hash_seed);
        if counts_lost {
            engine.restored(self.engine.next_permit(), |_| false);
            engine.assume_full(now);
        } else {
            self.store.replay(&mut engine, outside);
            // It takes a window until lost counts no longer matter, however often it starts.
            if let Some(at) = self.engine.full_at() {
                engine.assume_full(at);
            }
        }
        self.engine = engine;
        self.snapshot(now, true, outside);
    }

    pub fn leases(&self) -> Vec<Lease> {
        self.engine.leases().collect()
    }

    pub fn lease(&self, permit: Permit) -> Option<Lease> {
        self.engine.lease(permit)
    }

    pub fn overdue(&self, permit: Permit) -> Option<Lease> {
        self.engine.overdue(permit).cloned()
    }

    pub fn next_permit(&self) -> Permit {
        self.engine.next_permit()
    }

    pub fn budget_view(&mut self, now: Instant, key: &Key) -> Option<BudgetView> {
        self.engine.budget_view(now, key)
    }

    pub fn records(&mut self, now: Instant) -> Vec<BudgetRecord> {
        self.engine.records(now)
    }

    pub fn view(&mut self, now: Instant, workload: usize) -> WorkloadView {
        self.engine.view(now, workload, None, usize::MAX)
    }

    fn write_grant(&mut self, permit: Permit) {
        let lease = self.lease(permit).expect("what was granted is leased");
        self.store.write(Entry::Granted(lease));
    }
}

/// A copy of the engine that nobody else sees.
#[derive(Clone)]
pub struct Fork(Engine);

impl Fork {
    pub fn ask(&mut self, now: Instant, call: &Call, deadline: Instant) -> Answer {
        self.0.ask(now, call, deadline)
    }

    pub fn refund(&mut self, now: Instant, permit: Permit) {
        self.0.refund(now, permit);
    }

    pub fn cancel(&mut self, now: Instant, ticket: Ticket) -> bool {
        self.0.cancel(now, ticket)
    }

    pub fn wake_at(&self) -> Option<Instant> {
        self.0.wake_at()
    }

    /// Lets go what fits; who was settled by it, and who of them was granted?
    pub fn settle(&mut self, now: Instant) -> BTreeMap<Ticket, bool> {
        self.0.settle(now);
        let settled = self.0.take_settled().into_iter();
        settled
            .map(|one| (one.ticket, one.outcome.is_ok()))
            .collect()
    }

    /// Everything about counts that can be seen from outside.
    pub fn counts(&mut self, now: Instant, workloads: usize) -> Counts {
        self.0.settle(now);
        let view = |workload| self.0.view(now, workload, None, usize::MAX);
        let views: Vec<_> = (0..workloads).map(view).collect();
        Counts {
            views: views.into_iter().map(|it| (it.shared, it.users)).collect(),
            records: self.0.records(now),
            leases: self.0.leases().collect(),
            next_permit: self.0.next_permit(),
        }
    }
}

/// What is counted.
#[derive(Debug, PartialEq)]
pub struct Counts {
    pub records: Vec<BudgetRecord>,
    pub leases: Vec<Lease>,
    pub views: Vec<(Vec<BudgetView>, Vec<BudgetView>)>,
    pub next_permit: Permit,
}

fn engine(sizes: Sizes, policies: Vec<Policy>, now: Instant, hash_seed: u64) -> Engine {
    let settings = Settings {
        users_max: sizes.users_max,
        waiters_max: sizes.waiters_max,
        lease_ms: sizes.lease_ms,
        renewals_ms_max: sizes.renewals_ms_max,
        probe_ms: sizes.probe_ms,
        background_turn: 20,
        global: None,
        told_ms_max: u64::MAX,
        hash_seed,
    };
    Engine::new(settings, policies, now)
}

/// The budgets that a call is charged to, narrowest first: one for each scope that has layers.
pub fn keys(policies: &[Policy], call: &Call) -> Vec<Key> {
    let policy = &policies[call.workload];
    let scopes = Scope::ALL.into_iter().filter(|scope| policy.has(*scope));
    scopes.map(|scope| Key::of(call, scope)).collect()
}

/// For how long after its expiry a lease can be completed.
pub const fn late_ms_max(sizes: Sizes) -> u64 {
    sizes.renewals_ms_max
}
