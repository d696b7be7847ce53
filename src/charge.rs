//! Charging: the budgets of a call, whether it fits them all, and the grant.

use smallvec::SmallVec;

use crate::budget::{Assumed, Cost, Shortage, Sight, fits};
use crate::call::{Call, Lane, Permit, Scope};
use crate::decision::{Grant, Refusal};
use crate::engine::Engine;
use crate::key::KeyRef;
use crate::lease::{Held, Lease};
use crate::policy::Dimension;
use crate::time::Instant;
use crate::tree::{Path, Place};

/// One budget that a call is charged to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) workload: usize,
    pub(crate) scope: Scope,
    /// None: it does not exist yet.
    pub(crate) place: Option<Place>,
    /// Which one it is of those with limits of their own; none: it has the workload's.
    pub(crate) own: Option<u16>,
}

/// The budgets of one call, its workload's before the upstream's own, narrowest first.
pub(crate) type Charges = SmallVec<[Charge; 6]>;

/// What is short in which budget.
pub(crate) type Shortages = SmallVec<[(Charge, Shortage); 6]>;

/// Where a call stands: in its workload, and in the upstream's own limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stand {
    pub(crate) own: Path,
    pub(crate) global: Path,
}

impl Call {
    pub(crate) const fn cost(&self) -> Cost {
        Cost {
            lane: self.lane,
            weight: self.weight,
        }
    }
}

impl Engine {
    /// Where the keys of `call` stand, as far as they exist.
    #[inline]
    pub(crate) fn stand(&self, call: &Call) -> Stand {
        let path = |workload| {
            self.tree
                .path(workload, &call.app, &call.tenant, &call.user)
        };
        Stand {
            own: path(call.workload),
            global: self.global_of(call.workload).map(path).unwrap_or_default(),
        }
    }

    /// The workload of the upstream's own limits, for a call that is charged to them beside its own.
    pub(crate) fn global_of(&self, workload: usize) -> Option<usize> {
        self.settings.global.filter(|global| *global != workload)
    }

    /// All workloads whose budgets a call of `workload` is charged to.
    fn workloads_of(&self, workload: usize) -> impl Iterator<Item = usize> + use<> {
        [Some(workload), self.global_of(workload)]
            .into_iter()
            .flatten()
    }

    /// The budgets of a call of this user's that stands there.
    #[inline]
    pub(crate) fn charges(&self, user: KeyRef<'_>, stand: &Stand) -> Charges {
        let mut charges = Charges::new();
        let paths = [
            (Some(user.workload), &stand.own),
            (self.global_of(user.workload), &stand.global),
        ];
        for (workload, path) in paths {
            let Some(workload) = workload else { continue };
            let shape = &self.workloads[workload].shape;
            let scopes = Scope::ALL.into_iter().filter(|scope| shape.has(*scope));
            charges.extend(scopes.map(|scope| Charge {
                workload,
                scope,
                place: path.at(scope),
                own: shape.own(user.widened(workload, scope)),
            }));
        }
        charges
    }

    /// Whether the call fits all its budgets.
    #[inline]
    pub(crate) fn fits(&mut self, charges: &Charges, call: &Call) -> bool {
        if self.full_at.is_some() || (call.lane == Lane::Background && !self.pauses.is_empty()) {
            return self
                .shortages(charges, call.cost(), self.paused(call))
                .is_empty();
        }
        let (now, probe_ms) = (self.now, self.settings.probe_ms);
        charges.iter().all(|charge| {
            // A budget that does not exist is empty, and the call is possible.
            let Some(node) = charge.place.and_then(|place| self.tree.get_mut(place)) else {
                return true;
            };
            let shape = &self.workloads[charge.workload].shape;
            let shape = shape.budget(charge.scope, charge.own);
            node.advance(shape, now);
            fits(node, shape, call.cost(), now, probe_ms)
        })
    }

    /// Whether nothing that is known now keeps the call waiting for longer.
    pub(crate) fn may_fit_by(&mut self, charges: &Charges, call: &Call, deadline: Instant) -> bool {
        let short = self.shortages(charges, call.cost(), self.paused(call));
        short
            .iter()
            .all(|(_, shortage)| shortage.earliest <= deadline)
    }

    /// What keeps a call of this cost waiting in each budget in which something does; `paused`
    /// stands in its way beside them.
    pub(crate) fn shortages(
        &mut self,
        charges: &Charges,
        cost: Cost,
        paused: Option<(Charge, Shortage)>,
    ) -> Shortages {
        let mut short = Shortages::new();
        let Some(Charge { workload, .. }) = charges.first().copied() else {
            return short;
        };
        for charge in charges {
            let shortage = self.sight(*charge, workload).shortage(cost);
            short.extend(shortage.map(|shortage| (*charge, shortage)));
        }
        short.extend(paused);
        short
    }

    /// A budget, brought up to now, as a call of workload `of` sees it.
    pub(crate) fn sight(&mut self, charge: Charge, of: usize) -> Sight<'_> {
        let shape = &self.workloads[charge.workload].shape;
        let shape = shape.budget(charge.scope, charge.own);
        let now = self.now;
        let node = charge.place.and_then(|place| self.tree.get_mut(place));
        let node = node.map(|node| {
            node.advance(shape, now);
            &*node
        });
        Sight {
            node,
            shape,
            now,
            assumed: Assumed {
                full_at: self.full_at,
                lease_ms: self.settings.lease_ms,
                probe_ms: self.settings.probe_ms,
            },
            holds: &self.workloads[of].holds,
        }
    }

    /// Whether the call could fit if nothing else were counted.
    pub(crate) fn possible(&self, call: &Call) -> Result<(), Refusal> {
        for workload in self.workloads_of(call.workload) {
            let shape = &self.workloads[workload].shape;
            if call.weight <= shape.weight_max(call.lane) && !shape.has_own() {
                continue;
            }
            for scope in Scope::ALL {
                let mut rates = shape
                    .of_key(KeyRef::of(call, workload, scope))
                    .limits
                    .iter()
                    .filter(|limit| limit.view.is_some());
                if let Some(limit) = rates.find(|limit| call.weight > *limit.caps.get(call.lane)) {
                    return Err(impossible(
                        call,
                        scope,
                        limit.dimension,
                        *limit.caps.get(call.lane),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether one more user may be counted, if this is one: idle ones have to go first.
    pub(crate) fn make_room(&mut self, call: &Call, stand: &mut Stand) -> Result<(), Refusal> {
        let users_max = self.settings.users_max;
        if stand.own.at(Scope::User).is_some() || self.tree.users() < users_max {
            return Ok(());
        }
        self.tree.sweep_all(&self.workloads, self.now);
        *stand = self.stand(call);
        if self.tree.users() < users_max {
            return Ok(());
        }
        Err(Refusal::Capacity { users_max })
    }

    /// Lets a call go that fits.
    #[inline]
    pub(crate) fn grant(&mut self, call: &Call, stand: &Stand) -> Grant {
        let permit = Permit(self.next_permit);
        let (user, global) = self.places_of(call, stand);
        let held = Held {
            permit,
            user,
            global,
            weight: call.weight,
            lane: call.lane,
            probe: false,
            spares_user: false,
            lingers: false,
            granted_at: self.now,
            expires_at: self.now.plus_ms(self.settings.lease_ms),
        };
        self.next_permit = self.numbers.after(self.next_permit);
        self.count_shadows(call, &held);
        let grant = self.charge(held, true);
        for scope in [Scope::Tenant, Scope::App] {
            let places = [stand.own.at(scope), stand.global.at(scope)];
            for place in places.into_iter().flatten() {
                if let Some(node) = self.tree.get_mut(place) {
                    node.leave_line(&call.tenant, &call.user);
                }
            }
        }
        grant
    }

    /// The places of a call's own keys and of the upstream's, made where they do not exist.
    pub(crate) fn places_of(&mut self, call: &Call, stand: &Stand) -> (Place, Option<Place>) {
        let shape = &self.workloads[call.workload].shape;
        let user = self.tree.complete(
            &stand.own,
            KeyRef::of(call, call.workload, Scope::User),
            shape,
        );
        let global = self.global_of(call.workload).map(|workload| {
            let shape = &self.workloads[workload].shape;
            let key = KeyRef::of(call, workload, shape.narrowest());
            self.tree.complete(&stand.global, key, shape)
        });
        (user, global)
    }

    /// Counts a lease as running in all its budgets, as a probe where one is due.
    #[inline]
    fn charge(&mut self, mut held: Held, may_probe: bool) -> Grant {
        for leaf in [Some(held.user), held.global].into_iter().flatten() {
            self.tree.hold(leaf);
            let mut next = Some(leaf);
            while let Some(place) = next {
                let Some(node) = self.tree.get_mut(place) else {
                    break;
                };
                next = node.parent;
                if !self.workloads[usize::from(node.workload)]
                    .shape
                    .has(node.scope)
                {
                    continue;
                }
                node.start(held.lane, held.weight);
                let has_breaker = node.breaker().is_some();
                if !std::mem::replace(&mut node.changed, true) {
                    self.tree.marked(place);
                }
                if has_breaker && may_probe {
                    let probe = self
                        .tree
                        .tell(place, |breaker| breaker.granted(held.permit));
                    held.probe |= probe == Some(true);
                }
            }
        }
        if held.probe && may_probe {
            let lasts_ms = self.settings.probe_ms.min(self.settings.lease_ms);
            held.expires_at = held.granted_at.plus_ms(lasts_ms);
        }
        self.leases.insert(held);
        Grant {
            permit: held.permit,
            expires_at: held.expires_at,
        }
    }

    /// Charges a lease that was granted before and written down.
    pub(crate) fn recharge(&mut self, lease: &Lease) {
        let stand = self.stand(&lease.call);
        let (user, global) = self.places_of(&lease.call, &stand);
        let held = Held {
            permit: lease.permit,
            user,
            global,
            weight: lease.call.weight,
            lane: lease.call.lane,
            probe: lease.probe,
            spares_user: lease.spares_user,
            lingers: false,
            granted_at: lease.granted_at,
            expires_at: lease.expires_at,
        };
        self.go_on_with(lease.permit.0.saturating_add(1));
        self.charge(held, false);
    }

    /// A lease as its driver knows it.
    pub(crate) fn lease_of(&self, held: &Held) -> Lease {
        Lease {
            permit: held.permit,
            call: self.call_of(held.user, held.lane, held.weight),
            granted_at: held.granted_at,
            expires_at: held.expires_at,
            probe: held.probe,
            spares_user: held.spares_user,
        }
    }

    /// The call of a user's.
    pub(crate) fn call_of(&self, user: Place, lane: Lane, weight: u32) -> Call {
        let key = self.tree.key(user);
        let name =
            |name: fn(KeyRef<'_>) -> &str| key.map_or_else(String::new, |key| name(key).to_owned());
        Call {
            workload: key.map_or(0, |key| key.workload),
            app: name(|key| key.app),
            tenant: name(|key| key.tenant),
            user: name(|key| key.user),
            lane,
            weight,
        }
    }
}

pub(crate) fn impossible(call: &Call, scope: Scope, dimension: Dimension, cap: u32) -> Refusal {
    Refusal::Impossible {
        weight: call.weight,
        lane: call.lane,
        scope,
        dimension,
        cap,
    }
}
