//! What has to survive a restart, as values; where they are written is the driver's concern.

use crate::breaker::Breaker;
use crate::budget::{Budget, Key};
use crate::call::Permit;
use crate::engine::Engine;
use crate::lease::Lease;
use crate::time::Instant;
use crate::window::Landed;

/// The landed counts of one budget. Its running calls are in the leases.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetRecord {
    /// Whose budget.
    pub key: Key,
    /// For each rate layer its window in milliseconds and what counts in it, oldest first.
    pub landed: Vec<(u64, Vec<Landed>)>,
    /// What the upstream said of it.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub breaker: Option<Breaker>,
}

impl Engine {
    /// The counts of the budgets that changed since this was last asked. One that holds no
    /// counts any more is left out: what was written of it before has passed by itself.
    pub fn take_changes(&mut self, now: Instant) -> Vec<BudgetRecord> {
        let now = self.advance(now);
        let changed = self
            .ledger
            .budgets(now)
            .filter_map(|budget| std::mem::take(&mut budget.changed).then(|| record(budget)));
        changed.filter(counts).collect()
    }

    /// The counts of every budget that holds any.
    pub fn records(&mut self, now: Instant) -> Vec<BudgetRecord> {
        let now = self.advance(now);
        self.ledger
            .budgets(now)
            .map(|budget| record(budget))
            .filter(counts)
            .collect()
    }

    /// What was granted and has neither ended nor expired.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.iter()
    }

    /// What was granted under this number, if it has neither ended nor expired.
    #[must_use]
    pub fn lease(&self, permit: Permit) -> Option<&Lease> {
        self.leases.get(permit)
    }

    /// What was granted under this number and has expired without an end, for as long as it
    /// can still be completed.
    #[must_use]
    pub fn overdue(&self, permit: Permit) -> Option<&Lease> {
        self.leases.expired(permit)
    }

    /// The number of the next permit; no number is given out twice, restarts included.
    #[must_use]
    pub const fn next_permit(&self) -> Permit {
        Permit(self.next_permit)
    }

    /// The end of taking over: goes on with this number, or a later one that was given out
    /// already; takes running calls to end by their expiry, unless somebody says otherwise;
    /// and lets others probe what was probed by a call that is no more.
    pub fn restored(&mut self, next: Permit) {
        self.next_permit = self.next_permit.max(next.0);
        let now = self.now;
        let permits: Vec<_> = self.leases.iter().map(|lease| lease.permit).collect();
        permits
            .into_iter()
            .for_each(|permit| self.abandon(now, permit));
        for budget in self.ledger.budgets(now) {
            let probes: Vec<_> = budget
                .breaker()
                .into_iter()
                .flat_map(Breaker::probes)
                .collect();
            for probe in probes {
                if self.leases.get(probe).is_none() {
                    budget.tell(|breaker| breaker.ended(now, probe));
                }
            }
        }
    }

    /// The breakers that changed since this was last asked; `None`: closed, and nothing to say.
    pub fn take_breakers(&mut self) -> Vec<(Key, Option<Breaker>)> {
        let told = self.ledger.take_told();
        let changed = told.into_iter().filter_map(|place| {
            let budget = self.ledger.at(place)?;
            Some((budget.key().clone(), budget.breaker().cloned()))
        });
        changed.collect()
    }

    /// Takes over a breaker that was written down by itself.
    pub fn restore_breaker(&mut self, key: &Key, breaker: Option<Breaker>) {
        let Some(workload) = self.workloads.get(key.workload) else {
            return;
        };
        let place = self.ledger.place(key, &workload.policy);
        if let Some(budget) = self.ledger.at(place) {
            budget.restore_breaker(breaker);
        }
    }

    /// Takes over a budget that was written down. To be called before any lease is restored.
    pub fn restore_budget(&mut self, record: &BudgetRecord) {
        let Some(workload) = self.workloads.get(record.key.workload) else {
            return;
        };
        let place = self.ledger.place(&record.key, &workload.policy);
        if let Some(budget) = self.ledger.at(place) {
            budget.restore(&record.landed);
            budget.restore_breaker(record.breaker.clone());
        }
    }

    /// Takes over a grant that was written down, whose end may follow.
    pub fn restore_lease(&mut self, lease: Lease) {
        if lease.call.workload >= self.workloads.len() || self.leases.get(lease.permit).is_some() {
            return;
        }
        self.advance(lease.granted_at);
        self.hold(lease);
    }

    /// Takes over a lease that had expired when it was written down: its weight landed then.
    pub fn restore_overdue(&mut self, lease: Lease) {
        if lease.call.workload < self.workloads.len() {
            self.leases.remember(lease);
        }
    }

    /// Takes over a renewal that was written down.
    pub fn restore_renewal(&mut self, permit: Permit, expires_at: Instant) {
        self.extend(permit, expires_at);
    }
}

fn record(budget: &Budget) -> BudgetRecord {
    BudgetRecord {
        key: budget.key().clone(),
        landed: budget.landed(),
        breaker: budget.breaker().cloned(),
    }
}

fn counts(record: &BudgetRecord) -> bool {
    let mut windows = record.landed.iter();
    record.breaker.is_some() || windows.any(|(_, entries)| !entries.is_empty())
}
