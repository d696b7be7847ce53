//! What has to survive a restart, as values; where they are written is the driver's concern.

use crate::breaker::Breaker;
use crate::call::Permit;
use crate::counts::Counts;
use crate::engine::Engine;
use crate::key::Key;
use crate::lease::Lease;
use crate::log::Landed;
use crate::pause::Whose;
use crate::time::Instant;
use crate::tree::Place;

/// The landed counts of one budget. Its running calls are in the leases.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetRecord {
    /// Whose budget.
    pub key: Key,
    /// What counts, oldest first, each time with the longest window in milliseconds that it
    /// was kept for.
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
        let changed = self.tree.take_changed();
        changed
            .into_iter()
            .filter_map(|place| self.record(now, place))
            .collect()
    }

    /// The counts of every budget that holds any, in the order of their keys.
    pub fn records(&mut self, now: Instant) -> Vec<BudgetRecord> {
        let now = self.advance(now);
        let places = self.tree.places().into_iter();
        let mut records: Vec<_> = places.filter_map(|place| self.record(now, place)).collect();
        records.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        records
    }

    /// What was granted and has neither ended nor expired, in the order of its numbers.
    pub fn leases(&self) -> impl Iterator<Item = Lease> {
        self.leases.iter().map(|held| self.lease_of(held))
    }

    /// What was granted under this number, if it has neither ended nor expired.
    #[must_use]
    pub fn lease(&self, permit: Permit) -> Option<Lease> {
        self.leases.get(permit).map(|held| self.lease_of(held))
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
    /// already; takes the running calls whose end nobody `tells` to end by their expiry, as
    /// those whose connections ended with the last process; and lets others probe what was
    /// probed by a call that is no more.
    pub fn restored(&mut self, next: Permit, tells: impl Fn(Permit) -> bool) {
        self.go_on_with(next.0);
        let now = self.now;
        let running = self.leases.iter().map(|held| held.permit);
        let untold: Vec<_> = running.filter(|permit| !tells(*permit)).collect();
        untold
            .into_iter()
            .for_each(|permit| self.abandon(now, permit));
        for place in self.tree.places() {
            let breaker = self.tree.get(place).and_then(|node| node.breaker());
            let probes: Vec<_> = breaker.into_iter().flat_map(Breaker::probes).collect();
            let gone = probes
                .into_iter()
                .filter(|probe| self.leases.get(*probe).is_none());
            for probe in gone.collect::<Vec<_>>() {
                self.tree.tell(place, |breaker| breaker.ended(now, probe));
            }
        }
    }

    /// The breakers that changed since this was last asked; `None`: closed, and nothing to say.
    pub fn take_breakers(&mut self) -> Vec<(Key, Option<Breaker>)> {
        self.tree.take_told()
    }

    /// Takes over a breaker that was written down by itself.
    pub fn restore_breaker(&mut self, key: &Key, breaker: Option<Breaker>) {
        if let Some(place) = self.make(key)
            && let Some(node) = self.tree.get_mut(place)
        {
            node.restore_breaker(breaker);
        }
    }

    /// Takes over a budget that was written down. To be called before any lease is restored.
    pub fn restore_budget(&mut self, record: &BudgetRecord) {
        let Some(place) = self.make(&record.key) else {
            return;
        };
        let shape = self.workloads[record.key.workload]
            .shape
            .at(record.key.scope);
        if let Some(node) = self.tree.get_mut(place) {
            node.counts = Counts::restored(shape, &record.landed, self.now);
            node.restore_breaker(record.breaker.clone());
        }
    }

    /// Takes over a grant that was written down, whose end may follow.
    pub fn restore_lease(&mut self, lease: &Lease) {
        if lease.call.workload >= self.workloads.len() || self.leases.get(lease.permit).is_some() {
            return;
        }
        self.advance(lease.granted_at);
        self.recharge(lease);
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

    /// Takes over a pause that was written down.
    pub fn restore_pause(&mut self, whose: Whose, until: Instant) {
        // A bound that was kept when it was written is kept now.
        let _ = self.pause(self.now, whose, until);
    }

    /// Numbers below this were given out.
    pub(crate) fn go_on_with(&mut self, number: u64) {
        self.next_permit = self.next_permit.max(self.numbers.at_or_after(number));
    }

    fn make(&mut self, key: &Key) -> Option<Place> {
        let shape = &self.workloads.get(key.workload)?.shape;
        Some(self.tree.make(key.as_ref(), shape))
    }

    fn record(&mut self, now: Instant, place: Place) -> Option<BudgetRecord> {
        let node = self.tree.get_mut(place)?;
        let shape = self.workloads[usize::from(node.workload)]
            .shape
            .at(node.scope);
        node.advance(shape, now);
        let landed = node.counts.landed(shape);
        let breaker = node.breaker().cloned();
        if breaker.is_none() && landed.is_empty() {
            return None;
        }
        Some(BudgetRecord {
            key: self.tree.key(place)?.to_key(),
            landed,
            breaker,
        })
    }
}
