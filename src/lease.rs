//! Leases: what was granted and has not ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::{Call, Permit};
use crate::ledger::Place;
use crate::time::Instant;

/// How long after its expiry a lease can still be completed, which lands its weight again:
/// the same 15 minutes for which it could have been renewed.
const KEPT_AFTER_EXPIRY_MS: u64 = 15 * 60_000;

/// The most expired leases that are remembered; the oldest are forgotten first.
const EXPIRED_MAX: usize = 100_000;

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
    #[cfg_attr(feature = "serde", serde(default))]
    pub probe: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) lease: Lease,
    pub(crate) places: Vec<Place>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    held: BTreeMap<Permit, Held>,
    expiries: BTreeSet<(Instant, Permit)>,
    expired: BTreeMap<Permit, Lease>,
    forgotten_at: BTreeSet<(Instant, Permit)>,
}

impl Leases {
    pub(crate) fn insert(&mut self, held: Held) {
        self.expiries
            .insert((held.lease.expires_at, held.lease.permit));
        self.held.insert(held.lease.permit, held);
    }

    pub(crate) fn remove(&mut self, permit: Permit) -> Option<Held> {
        let held = self.held.remove(&permit)?;
        self.expiries.remove(&(held.lease.expires_at, permit));
        Some(held)
    }

    pub(crate) fn held(&self, permit: Permit) -> Option<&Held> {
        self.held.get(&permit)
    }

    pub(crate) fn get(&self, permit: Permit) -> Option<&Lease> {
        self.held.get(&permit).map(|held| &held.lease)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.held.values().map(|held| &held.lease)
    }

    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.expiries.first().map(|(at, _)| *at)
    }

    /// The next lease that expired by `now`; remembered for a late completion.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<Held> {
        self.forget(now);
        let (at, permit) = *self.expiries.first()?;
        if at > now {
            return None;
        }
        let held = self.remove(permit)?;
        self.remember(held.lease.clone());
        Some(held)
    }

    /// A lease that has expired, to be completed late.
    pub(crate) fn remember(&mut self, lease: Lease) {
        let permit = lease.permit;
        self.forgotten_at
            .insert((lease.expires_at.plus_ms(KEPT_AFTER_EXPIRY_MS), permit));
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
            .remove(&(lease.expires_at.plus_ms(KEPT_AFTER_EXPIRY_MS), permit));
        Some(lease)
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, permit)) = self.forgotten_at.first().copied()
            && (at <= now || self.expired.len() > EXPIRED_MAX)
        {
            self.forgotten_at.remove(&(at, permit));
            self.expired.remove(&permit);
        }
    }
}
