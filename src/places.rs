//! Virtual places: who was refused stands in line until the instant that was announced.
//!
//! Callers refused together would return together, find room for one, and be refused
//! together again. So each takes a place, and the next is told when one more fits. Places
//! reserve nothing: whoever comes is judged by the counts alone. They expire at their
//! instant, are bounded, and never add more than one window.

use crate::budget::{Ahead, Shortage};
use crate::call::{Call, Lane, PerLane, Scope};
use crate::decision::{BlockedBy, Busy, Obstacle};
use crate::engine::{Engine, QueueKey};
use crate::time::Instant;

/// The most places of one budget; who comes after them is told one window.
const PLACES_MAX: usize = 1_000;

/// Whoever was refused by a budget and has not been told to return yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<Place>);

#[derive(Clone, Debug)]
struct Place {
    /// Tenant and user, in a budget that several share.
    of: Option<(String, String)>,
    until: Instant,
    lane: Lane,
    weight: u64,
}

impl Places {
    /// Lets go whose instant has come.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.0.retain(|place| place.until > now);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who stands before `call` in the budget of `scope`. In a shared one its own user does not.
    pub(crate) fn ahead(&self, scope: Scope, call: &Call) -> Ahead {
        let mut ahead = Ahead::default();
        for place in self
            .0
            .iter()
            .filter(|place| scope == Scope::User || !place.is_of(call))
        {
            *ahead.calls.get_mut(place.lane) += 1;
            *ahead.weight.get_mut(place.lane) += place.weight;
        }
        ahead
    }

    /// `call` was told to return at `until`. In its user's own budget it takes a place each
    /// time; in a shared one each user takes at most one, so that a caller who polls wildly
    /// pushes nobody.
    pub(crate) fn take(&mut self, scope: Scope, call: &Call, until: Instant) {
        let shared = scope != Scope::User;
        if shared {
            self.0.retain(|place| !place.is_of(call));
        }
        if self.0.len() < PLACES_MAX {
            let of = shared.then(|| (call.tenant.clone(), call.user.clone()));
            self.0.push(Place {
                of,
                until,
                lane: call.lane,
                weight: u64::from(call.weight),
            });
        }
    }
}

impl Place {
    fn is_of(&self, call: &Call) -> bool {
        self.of
            .as_ref()
            .is_some_and(|(tenant, user)| *tenant == call.tenant && *user == call.user)
    }
}

impl Engine {
    /// Refuses a call: says when to return, and gives it its place until then. `behind`: it
    /// would fit, but others came first, and go then at the latest.
    pub(crate) fn refuse(
        &mut self,
        queue: &QueueKey,
        call: &Call,
        behind: Option<Instant>,
    ) -> Busy {
        let blocking = self.shortages(call);
        if blocking.is_empty() {
            let at = behind.unwrap_or(self.now).max(self.now.plus_ms(1));
            return Busy {
                at,
                exact: false,
                blocked_by: BlockedBy::Queue,
            };
        }
        let told = self.announced(queue, call);
        let busy = told.map_or(
            Busy {
                at: self.now.plus_ms(1),
                exact: false,
                blocked_by: BlockedBy::Queue,
            },
            |(scope, told)| Busy {
                at: told.at,
                exact: told.exact,
                blocked_by: told.obstacle.at(scope),
            },
        );
        let by_layers = blocking
            .iter()
            .filter(|(_, shortage)| matches!(shortage.obstacle, Obstacle::Layer(_)));
        let scopes: Vec<_> = by_layers.map(|(scope, _)| *scope).collect();
        for (scope, key) in self.keys(call) {
            if scopes.contains(&scope)
                && let Some(budget) = self.ledger.find_mut(&key, self.now)
            {
                budget.places.take(scope, call, busy.at);
            }
        }
        busy
    }

    /// When the call fits after all that stand before it, and what stands in its way longest.
    fn announced(&mut self, queue: &QueueKey, call: &Call) -> Option<(Scope, Shortage)> {
        let (now, assumed) = (self.now, self.assumed(call.workload));
        let mut told = Vec::new();
        for (scope, key) in self.keys(call) {
            let waiting = self.waiting_ahead(queue, scope, call);
            let policy = &self.workloads[call.workload].policy;
            let short = self.ledger.with(&key, policy, now, |budget| {
                let ahead = budget.places.ahead(scope, call).and(waiting);
                budget.announced(policy, call, now, assumed, ahead)
            });
            told.extend(short.map(|shortage| (scope, shortage)));
        }
        told.into_iter()
            .reduce(|(scope, a), (other, b)| (if b.at > a.at { other } else { scope }, a.and(b)))
    }

    /// Who waits in the queue for the same room: they are served first.
    fn waiting_ahead(&self, queue: &QueueKey, scope: Scope, call: &Call) -> Ahead {
        let mut calls = PerLane::default();
        if let Some(queue) = self.queues.get(queue) {
            for lane in Lane::ALL.into_iter().filter(|lane| *lane <= call.lane) {
                *calls.get_mut(lane) = match scope {
                    Scope::User => queue.waiting_of(lane, call) as u64,
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
