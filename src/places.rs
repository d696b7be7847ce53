//! Virtual places: who was refused stands in line until the instant that was announced.
//!
//! Callers refused together would return together, find room for one, and be refused
//! together again. So each takes a place, and the next is told when one more fits. Places
//! reserve nothing: whoever comes is judged by the counts alone. They expire at their
//! instant, are bounded, and never add more than one window.

use std::collections::{BTreeMap, VecDeque};

use smallvec::SmallVec;

use crate::budget::{Ahead, Cost, Shortage, Sight};
use crate::call::{Call, Lane, PerLane, Scope};
use crate::charge::{Charge, Charges, Stand};
use crate::decision::{BlockedBy, Busy, Obstacle};
use crate::engine::Engine;
use crate::time::Instant;

/// The most places of one budget; who comes after them is told one window.
const PLACES_MAX: usize = 1_000;

/// Whoever was refused by a budget and has not been told to return yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// In the order in which they were first refused.
    line: VecDeque<Place>,
    /// In a budget that several share: each tenant's users. One who comes as told and is
    /// refused again keeps its order, else those who came meanwhile would starve it.
    of: BTreeMap<Box<str>, BTreeMap<Box<str>, u64>>,
    sum: Ahead,
    next: u64,
    /// No place ends before.
    ends_at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    order: u64,
    until: Instant,
    weight: u32,
    lane: Lane,
}

impl Places {
    /// Lets go whose instant has come.
    pub(crate) fn advance(&mut self, now: Instant) {
        if self.line.is_empty() || self.ends_at > now {
            return;
        }
        let sum = &mut self.sum;
        self.line.retain(|place| {
            let stays = place.until > now;
            if !stays {
                sum.take(place.cost());
            }
            stays
        });
        let ends = self.line.iter().map(|place| place.until);
        self.ends_at = ends.min().unwrap_or_default();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Who stands before `call` in the budget of `scope`. In a shared one its own user does
    /// not, nor who was refused after it.
    pub(crate) fn ahead(&self, scope: Scope, call: &Call) -> Ahead {
        let own = if scope == Scope::User {
            None
        } else {
            self.own(call)
        };
        let Some(own) = own else {
            return self.sum;
        };
        let mut ahead = Ahead::default();
        let before = self.line.iter().take_while(|place| place.order < own);
        before.for_each(|place| ahead.add(place.cost()));
        ahead
    }

    /// `call` was told to return at `until`. In its user's own budget it takes a place each
    /// time; in a shared one each user takes at most one, so that a caller who polls wildly
    /// pushes nobody.
    pub(crate) fn take(&mut self, scope: Scope, call: &Call, until: Instant) {
        let shared = scope != Scope::User;
        let known = if shared { self.own(call) } else { None };
        if let Some(order) = known {
            self.end(order);
        }
        if self.line.len() >= PLACES_MAX {
            return;
        }
        let order = known.unwrap_or(self.next);
        self.next = self.next.max(order + 1);
        let place = Place {
            order,
            until,
            weight: call.weight,
            lane: call.lane,
        };
        self.ends_at = if self.line.is_empty() {
            until
        } else {
            self.ends_at.min(until)
        };
        self.sum.add(place.cost());
        let position = self.line.partition_point(|other| other.order < order);
        self.line.insert(position, place);
        if shared && known.is_none() {
            self.remember(call, order);
        }
    }

    /// This user was let go: whoever it pushed back may come forward.
    pub(crate) fn leave(&mut self, tenant: &str, user: &str) {
        if let Some(users) = self.of.get_mut(tenant)
            && let Some(order) = users.remove(user)
        {
            self.end(order);
        }
    }

    fn own(&self, call: &Call) -> Option<u64> {
        let users = self.of.get(call.tenant.as_str())?;
        users.get(call.user.as_str()).copied()
    }

    fn end(&mut self, order: u64) {
        if let Ok(position) = self.line.binary_search_by_key(&order, |place| place.order)
            && let Some(place) = self.line.remove(position)
        {
            self.sum.take(place.cost());
        }
    }

    fn remember(&mut self, call: &Call, order: u64) {
        // Some are of places that ended; there are never twice as many.
        if self.of.values().map(BTreeMap::len).sum::<usize>() >= 2 * PLACES_MAX {
            let line = &self.line;
            let stands = |order: &u64| {
                line.binary_search_by_key(order, |place| place.order)
                    .is_ok()
            };
            self.of
                .values_mut()
                .for_each(|users| users.retain(|_, order| stands(order)));
            self.of.retain(|_, users| !users.is_empty());
        }
        let users = self.of.entry(call.tenant.as_str().into()).or_default();
        users.insert(call.user.as_str().into(), order);
    }
}

impl Place {
    fn cost(&self) -> Ahead {
        Ahead {
            calls: alone(self.lane, 1),
            weight: alone(self.lane, u64::from(self.weight)),
        }
    }
}

/// When a call that does not fit now fits after those ahead, and whether a layer stands in its way.
fn short_of(sight: &Sight<'_>, cost: Cost, ahead: Ahead) -> Option<(Shortage, bool)> {
    let alone = sight.shortage(cost);
    if ahead == Ahead::default() {
        return alone.map(|alone| (alone, matches!(alone.obstacle, Obstacle::Layer(_))));
    }
    // It has room by itself: whoever stands ahead has been told to come when it fits for both.
    let alone = alone?;
    let by_layer = matches!(alone.obstacle, Obstacle::Layer(_));
    Some((sight.announced(cost, ahead).unwrap_or(alone), by_layer))
}

/// The later of two instants names what stands in the way.
fn later(
    told: Option<(Charge, Shortage)>,
    (charge, shortage): (Charge, Shortage),
) -> (Charge, Shortage) {
    match told {
        Some((of, other)) if shortage.at <= other.at => (of, other.and(shortage)),
        Some((_, other)) => (charge, other.and(shortage)),
        None => (charge, shortage),
    }
}

fn alone(lane: Lane, amount: u64) -> PerLane<u64> {
    let mut alone = PerLane::default();
    *alone.get_mut(lane) = amount;
    alone
}

impl Engine {
    /// Refuses a call: says when to return, and gives it its place until then. `behind`: it
    /// would fit, but others came first, and go then at the latest.
    pub(crate) fn refuse(
        &mut self,
        stand: &Stand,
        charges: &Charges,
        call: &Call,
        behind: Option<Instant>,
    ) -> Busy {
        let mut told = self.paused(call);
        let mut lines = SmallVec::<[Charge; 6]>::new();
        for charge in charges {
            let mut ahead = self.waiting_ahead(stand, charge.scope, call.lane);
            let sight = self.sight(*charge, call.workload);
            if let Some(places) = sight.node.and_then(|node| node.places()) {
                ahead.add(places.ahead(charge.scope, call));
            }
            let Some((shortage, by_layer)) = short_of(&sight, call.cost(), ahead) else {
                continue;
            };
            lines.extend(by_layer.then_some(*charge));
            told = Some(later(told, (*charge, shortage)));
        }
        let Some((charge, told)) = told else {
            let at = behind.unwrap_or(self.now).max(self.now.plus_ms(1));
            return Busy {
                at,
                exact: false,
                blocked_by: BlockedBy::Queue,
            };
        };
        let until = told.at.min(self.now.plus_ms(self.settings.told_ms_max));
        for charge in lines {
            if let Some(node) = charge.place.and_then(|place| self.tree.get_mut(place)) {
                node.places_mut().take(charge.scope, call, until);
            }
        }
        Busy {
            at: told.at,
            exact: told.exact,
            blocked_by: told.obstacle.at(charge.scope),
        }
    }

    /// Who waits in the queue for the same room: they are served first.
    fn waiting_ahead(&self, stand: &Stand, scope: Scope, lane: Lane) -> Ahead {
        let mut calls = PerLane::default();
        let app = stand.own.at(Scope::App);
        if let Some(queue) = app.and_then(|app| self.queues.get(&app)) {
            for lane in Lane::ALL.into_iter().filter(|better| *better <= lane) {
                *calls.get_mut(lane) = match scope {
                    Scope::User => stand.waiting_of(queue, lane) as u64,
                    Scope::Tenant => 0,
                    Scope::App => queue.waiting(lane) as u64,
                };
            }
        }
        // Most calls weigh 1; heavier ones make the estimate a little early.
        Ahead {
            calls,
            weight: calls,
        }
    }
}
