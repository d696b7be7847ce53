//! Leases: what was granted and has not ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::call::{Call, Lane, Permit};
use crate::time::Instant;
use crate::tree::Place;

/// The most expired leases that are remembered; the oldest are forgotten first.
const EXPIRED_MAX: usize = 100_000;

/// So many expiries of ended leases are kept at least, before all are looked through.
const SLACK: usize = 1_024;

/// A granted call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lease {
    /// Its number.
    pub permit: Permit,
    /// What was granted, and to whom.
    pub call: Call,
    /// When.
    pub granted_at: Instant,
    /// When it ends by itself.
    pub expires_at: Instant,
    /// Whether it is a breaker's probe: it cannot be renewed.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub probe: bool,
    /// Whether the upstream did not know the user (401): nothing lands in the user's budget.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub spares_user: bool,
}

/// A lease that is charged: the same, with the budgets instead of their names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) permit: Permit,
    /// The user in the call's workload.
    pub(crate) user: Place,
    /// The narrowest budget of the upstream's own limits.
    pub(crate) global: Option<Place>,
    pub(crate) weight: u32,
    pub(crate) lane: Lane,
    pub(crate) probe: bool,
    pub(crate) spares_user: bool,
    pub(crate) lingers: bool,
    pub(crate) granted_at: Instant,
    pub(crate) expires_at: Instant,
}

#[derive(Clone, Debug)]
pub(crate) struct Leases {
    held: HashMap<Permit, Held, FixedState>,
    /// Sorted. All leases last equally long, so that nearly every one comes last; those of
    /// leases that have ended or were renewed are dropped when they come first.
    expiries: VecDeque<(Instant, Permit)>,
    expired: BTreeMap<Permit, Lease>,
    forgotten_at: BTreeSet<(Instant, Permit)>,
    /// How long after its expiry a lease can still be completed, which lands its weight again:
    /// for as long as it could have been renewed.
    kept_ms: u64,
}

impl Leases {
    pub(crate) fn new(kept_ms: u64) -> Self {
        Self {
            // Nobody chooses the numbers, so the seed does not matter.
            held: HashMap::with_hasher(FixedState::default()),
            expiries: VecDeque::new(),
            expired: BTreeMap::new(),
            forgotten_at: BTreeSet::new(),
            kept_ms,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, held: Held) {
        let entry = (held.expires_at, held.permit);
        if self.expiries.back().is_none_or(|last| *last < entry) {
            self.expiries.push_back(entry);
        } else if let Err(position) = self.expiries.binary_search(&entry) {
            self.expiries.insert(position, entry);
        }
        self.held.insert(held.permit, held);
    }

    #[inline]
    pub(crate) fn remove(&mut self, permit: Permit) -> Option<Held> {
        let held = self.held.remove(&permit)?;
        self.drop_ended();
        Some(held)
    }

    pub(crate) fn get(&self, permit: Permit) -> Option<&Held> {
        self.held.get(&permit)
    }

    /// To change what is neither its number nor its expiry.
    pub(crate) fn get_mut(&mut self, permit: Permit) -> Option<&mut Held> {
        self.held.get_mut(&permit)
    }

    /// In the order in which they were granted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Held> {
        let mut held: Vec<_> = self.held.values().collect();
        held.sort_unstable_by_key(|held| held.permit);
        held.into_iter()
    }

    /// So many at the most of those that end at `first` or later, in the order of their ends,
    /// and where to go on, if there are more. Looks at no others: however many there are, it
    /// takes as long as these few.
    pub(crate) fn some(
        &self,
        first: Option<(Instant, Permit)>,
        count: usize,
    ) -> (impl Iterator<Item = &Held>, Option<(Instant, Permit)>) {
        let from = first.map_or(0, |first| {
            self.expiries.partition_point(|entry| *entry < first)
        });
        let until = from.saturating_add(count).min(self.expiries.len());
        let some = self.expiries.range(from..until);
        let held = some.filter(|entry| self.expires(entry));
        let held = held.filter_map(|(_, permit)| self.held.get(permit));
        (held, self.expiries.get(until).copied())
    }

    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.expiries.front().map(|(at, _)| *at)
    }

    /// The next lease that expired by `now`.
    #[inline]
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<Held> {
        self.forget(now);
        let (at, permit) = *self.expiries.front()?;
        if at > now {
            return None;
        }
        self.remove(permit)
    }

    /// Keeps the first expiry one of a lease that is held, and the list at most twice as long
    /// as there are leases.
    #[inline]
    fn drop_ended(&mut self) {
        while let Some(first) = self.expiries.front()
            && !self.expires(first)
        {
            self.expiries.pop_front();
        }
        if self.expiries.len() > 2 * self.held.len() + SLACK {
            let mut expiries = std::mem::take(&mut self.expiries);
            expiries.retain(|entry| self.expires(entry));
            self.expiries = expiries;
        }
    }

    fn expires(&self, (at, permit): &(Instant, Permit)) -> bool {
        self.held
            .get(permit)
            .is_some_and(|held| held.expires_at == *at)
    }

    /// A lease that has expired, to be completed late.
    pub(crate) fn remember(&mut self, lease: Lease) {
        let permit = lease.permit;
        self.forgotten_at
            .insert((lease.expires_at.plus_ms(self.kept_ms), permit));
        self.expired.insert(permit, lease);
    }

    /// An expired lease that has not been completed.
    pub(crate) fn expired(&self, permit: Permit) -> Option<&Lease> {
        self.expired.get(&permit)
    }

    /// An expired lease that is completed after all, once.
    pub(crate) fn take_expired(&mut self, permit: Permit) -> Option<Lease> {
        let lease = self.expired.remove(&permit)?;
        self.forgotten_at
            .remove(&(lease.expires_at.plus_ms(self.kept_ms), permit));
        Some(lease)
    }

    #[inline]
    fn forget(&mut self, now: Instant) {
        while let Some((at, permit)) = self.forgotten_at.first().copied()
            && (at <= now || self.expired.len() > EXPIRED_MAX)
        {
            self.forgotten_at.remove(&(at, permit));
            self.expired.remove(&permit);
        }
    }
}
