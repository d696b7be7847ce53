//! How granted calls end, or go on.

use smallvec::SmallVec;

use crate::call::{Permit, Scope};
use crate::decision::{Ended, NotRenewed};
use crate::engine::Engine;
use crate::lease::Held;
use crate::time::Instant;
use crate::tree::Place;

impl Engine {
    /// The upstream's answer has ended: the weight lands now, the slots are free.
    pub fn complete(&mut self, now: Instant, permit: Permit) -> Ended {
        let now = self.advance(now);
        if let Some(held) = self.leases.remove(permit) {
            if let Some(user) = self.tree.get(held.user) {
                let workload = usize::from(user.workload);
                self.workloads[workload]
                    .holds
                    .remember(now.ms_since(held.granted_at));
            }
            self.end(&held, now, held.weight);
            return Ended::Landed;
        }
        let Some(lease) = self.leases.take_expired(permit) else {
            return Ended::Unknown;
        };
        self.land_again(&lease, now);
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
    /// The lease has ended, or was renewed for as long as [`Settings::renewals_ms_max`](crate::Settings::renewals_ms_max) allows.
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
        let Some(held) = self.leases.get_mut(permit) else {
            return;
        };
        held.lingers = true;
        let held = *held;
        for place in self.charged_places(&held) {
            if let Some(node) = self.tree.get_mut(place) {
                node.linger(permit, held.expires_at);
            }
        }
        // A recovery does not wait for its answer any more.
        self.stir(held.user);
    }

    /// The upstream said what a running call costs: it weighs that much from now on, at least
    /// 1, even above a limit. True if that changed anything.
    pub fn correct(&mut self, now: Instant, permit: Permit, weight: u32) -> bool {
        self.advance(now);
        let Some(held) = self.leases.get_mut(permit) else {
            return false;
        };
        let before = *held;
        held.weight = weight.max(1);
        let after = held.weight;
        for place in self.charged_places(&before) {
            if let Some(node) = self.tree.get_mut(place) {
                node.reweigh(before.lane, before.weight, after);
            }
            self.tree.mark(place);
        }
        if after < before.weight {
            self.stir(before.user);
        }
        after != before.weight
    }

    /// The upstream did not know the user (401): nothing of this running call will land in the
    /// user's own budget. True if that changed anything.
    pub fn spare_user(&mut self, now: Instant, permit: Permit) -> bool {
        self.advance(now);
        let held = self.leases.get_mut(permit);
        held.is_some_and(|held| !std::mem::replace(&mut held.spares_user, true))
    }

    /// A lease has ended by itself: its weight lands then. Its end may still be told.
    pub(crate) fn expire(&mut self, held: &Held) {
        self.leases.remember(self.lease_of(held));
        self.end(held, held.expires_at, held.weight);
    }

    /// Moves the expiry of a lease that is held.
    pub(crate) fn extend(&mut self, permit: Permit, expires_at: Instant) {
        let Some(mut held) = self.leases.remove(permit) else {
            return;
        };
        if held.lingers {
            self.linger_no_more(&held);
        }
        (held.expires_at, held.lingers) = (expires_at, false);
        self.leases.insert(held);
    }

    /// The budgets that a lease is charged to.
    pub(crate) fn charged_places(&self, held: &Held) -> SmallVec<[Place; 8]> {
        let leaves = [Some(held.user), held.global].into_iter().flatten();
        let lineages = leaves.flat_map(|leaf| self.tree.lineage(leaf));
        let charged = lineages.filter(|place| {
            self.tree.get(*place).is_some_and(|node| {
                self.workloads[usize::from(node.workload)]
                    .shape
                    .has(node.scope)
            })
        });
        charged.collect()
    }

    fn linger_no_more(&mut self, held: &Held) {
        for place in self.charged_places(held) {
            if let Some(node) = self.tree.get_mut(place) {
                node.linger_no_more(held.permit);
            }
        }
    }

    /// The call is no longer in flight; `landed` of its weight counts from `at` on.
    #[inline]
    fn end(&mut self, held: &Held, at: Instant, landed: u32) {
        for leaf in [Some(held.user), held.global].into_iter().flatten() {
            let (mut next, mut over_at) = (Some(leaf), at);
            while let Some(place) = next {
                let Some(node) = self.tree.get_mut(place) else {
                    break;
                };
                next = node.parent;
                let shape = self.workloads[usize::from(node.workload)]
                    .shape
                    .at(node.scope);
                if shape.limits.is_empty() {
                    continue;
                }
                let spared = held.spares_user && node.scope == Scope::User;
                node.advance(shape, at);
                if held.lingers {
                    node.linger_no_more(held.permit);
                }
                node.end(
                    shape,
                    at,
                    held.lane,
                    held.weight,
                    if spared { 0 } else { landed },
                );
                if place == leaf {
                    over_at = node.counts.over_at(shape);
                }
                let has_breaker = node.breaker().is_some();
                if !std::mem::replace(&mut node.changed, true) {
                    self.tree.marked(place);
                }
                if has_breaker {
                    self.tree
                        .tell(place, |breaker| breaker.ended(at, held.permit));
                }
            }
            self.tree.let_go_counting(leaf, over_at);
        }
        self.stir(held.user);
    }

    /// An expired call has run until now: its weight lands a second time.
    fn land_again(&mut self, lease: &crate::lease::Lease, now: Instant) {
        let stand = self.stand(&lease.call);
        let (user, global) = self.places_of(&lease.call, &stand);
        for leaf in [Some(user), global].into_iter().flatten() {
            let lineage: Vec<_> = self.tree.lineage(leaf).collect();
            for place in lineage {
                let Some(node) = self.tree.get_mut(place) else {
                    break;
                };
                let shape = self.workloads[usize::from(node.workload)]
                    .shape
                    .at(node.scope);
                if lease.spares_user && node.scope == Scope::User {
                    continue;
                }
                node.advance(shape, now);
                node.land(shape, now, lease.call.lane, lease.call.weight);
                self.tree.mark(place);
            }
        }
    }
}
