//! What survives the server: snapshots, full ones and changes, and the journal since the last.

use std::collections::BTreeMap;

use spillway::{Breaker, BudgetRecord, Engine, Instant, Key, Lease, Permit, Whose};

/// A line of the journal.
#[derive(Clone)]
pub enum Entry {
    Granted(Lease),
    Renewed(Permit, Instant),
    Ended(Permit, Instant),
    Refunded(Permit, Instant),
    Breaker(Key, Option<Box<Breaker>>),
    Paused(Whose, Instant),
    Resumed(Whose, Instant),
}

/// What was written down.
#[derive(Clone, Default)]
pub struct Store {
    budgets: BTreeMap<Key, BudgetRecord>,
    leases: Vec<Lease>,
    overdue: Vec<Lease>,
    pauses: Vec<(Whose, Instant)>,
    journal: Vec<Entry>,
    next_permit: u64,
}

impl Store {
    pub fn write(&mut self, entry: Entry) {
        if let Entry::Granted(lease) = &entry {
            self.next_permit = self.next_permit.max(lease.permit.0 + 1);
        }
        self.journal.push(entry);
    }

    pub fn snapshot(
        &mut self,
        full: bool,
        budgets: Vec<BudgetRecord>,
        leases: Vec<Lease>,
        overdue: Vec<Lease>,
        pauses: Vec<(Whose, Instant)>,
        next: Permit,
    ) {
        if full {
            self.budgets.clear();
        }
        let budgets = budgets.into_iter();
        self.budgets
            .extend(budgets.map(|budget| (budget.key.clone(), budget)));
        (self.leases, self.overdue, self.pauses) = (leases, overdue, pauses);
        self.next_permit = self.next_permit.max(next.0);
        self.journal.clear();
    }

    /// Brings a fresh engine to where the journal ends. `outside`: as for a snapshot.
    pub fn replay(&self, engine: &mut Engine, outside: &[Permit]) {
        self.budgets
            .values()
            .for_each(|budget| engine.restore_budget(budget));
        for lease in &self.leases {
            engine.restore_lease(lease);
        }
        for lease in &self.overdue {
            engine.restore_overdue(lease.clone());
        }
        for (whose, until) in &self.pauses {
            engine.restore_pause(whose.clone(), *until);
        }
        for entry in &self.journal {
            match entry {
                Entry::Granted(lease) => engine.restore_lease(lease),
                Entry::Renewed(permit, expires_at) => {
                    engine.restore_renewal(*permit, *expires_at);
                }
                Entry::Ended(permit, at) => drop(engine.complete(*at, *permit)),
                Entry::Refunded(permit, at) => drop(engine.refund(*at, *permit)),
                Entry::Paused(whose, until) => engine.restore_pause(whose.clone(), *until),
                Entry::Resumed(whose, at) => drop(engine.resume(*at, whose)),
                Entry::Breaker(key, breaker) => {
                    engine.restore_breaker(key, breaker.as_deref().cloned())
                }
            }
        }
        engine.restored(Permit(self.next_permit), |permit| outside.contains(&permit));
    }
}
