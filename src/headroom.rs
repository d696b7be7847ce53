//! What the budgets of one call still have room for: what its caller is told beside the
//! decision.

use std::cmp::Reverse;

use crate::budget::Budget;
use crate::call::{Call, Lane, Scope};
use crate::engine::Engine;
use crate::policy::{Dimension, Layer, Policy};
use crate::time::Instant;
use crate::window::Window;

/// The tightest of a call's layers: the rate with the least left, of equal ones the longest;
/// a concurrency only where no rate limits the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Whose budget.
    pub scope: Scope,
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The most that the call's lane may use: weight, or calls.
    pub limit: u32,
    /// How much more of it may be used now. 0 while lost counts are assumed to be full.
    pub remaining: u32,
    /// In how many milliseconds more can come back at the earliest: when the oldest landed
    /// weight is forgotten; one window where nothing has landed. None for a concurrency.
    pub more_in_ms: Option<u64>,
}

impl Engine {
    /// What the budgets of `call` have room for.
    pub fn headroom(&mut self, now: Instant, call: &Call) -> Option<Headroom> {
        let now = self.advance(now);
        let full_at = self.assumed(call.workload).full_at;
        let keys = self.keys(call);
        let policy = &self.workloads.get(call.workload)?.policy;
        let look = Look {
            policy,
            lane: call.lane,
            now,
            full_at,
        };
        let tightest = keys.into_iter().filter_map(|(_, key)| {
            self.ledger
                .with(&key, policy, now, |budget| look.tightest(budget))
        });
        tightest.min_by_key(tightness)
    }
}

struct Look<'a> {
    policy: &'a Policy,
    lane: Lane,
    now: Instant,
    full_at: Option<Instant>,
}

impl Look<'_> {
    fn tightest(&self, budget: &Budget) -> Option<Headroom> {
        let layers = budget.counted(self.policy);
        let rooms = layers.map(|(layer, window)| match window {
            Some(window) => self.rate(budget, layer, window),
            None => Headroom {
                remaining: self.room(budget, layer, None),
                more_in_ms: None,
                ..self.empty(layer)
            },
        });
        rooms.min_by_key(tightness)
    }

    fn rate(&self, budget: &Budget, layer: &Layer, window: &Window) -> Headroom {
        let assumed = self.full_at.map(|at| at.plus_ms(window.span_ms()));
        if let Some(until) = assumed.filter(|until| *until > self.now) {
            return Headroom {
                remaining: 0,
                more_in_ms: Some(until.ms_since(self.now)),
                ..self.empty(layer)
            };
        }
        let oldest_goes = window.forgets_at(1, 0);
        let more_in_ms = oldest_goes.map_or(window.span_ms(), |at| at.ms_since(self.now));
        Headroom {
            remaining: self.room(budget, layer, Some(window)),
            more_in_ms: Some(more_in_ms),
            ..self.empty(layer)
        }
    }

    fn empty(&self, layer: &Layer) -> Headroom {
        let limit = self.policy.cap(layer, self.lane);
        Headroom {
            scope: layer.scope(),
            dimension: layer.dimension(),
            limit,
            remaining: limit,
            more_in_ms: None,
        }
    }

    /// What is free for the lane: what nobody uses, and of that no more than its share leaves.
    fn room(&self, budget: &Budget, layer: &Layer, window: Option<&Window>) -> u32 {
        let used = budget.used(window);
        let free = u64::from(layer.limit()).saturating_sub(used.total());
        let cap = u64::from(self.policy.cap(layer, self.lane));
        let room = match self.lane {
            Lane::Foreground => free,
            Lane::Background => free.min(cap.saturating_sub(used.background)),
        };
        u32::try_from(room).unwrap_or(u32::MAX)
    }
}

fn tightness(room: &Headroom) -> (bool, u32, Reverse<Option<u64>>) {
    let window_ms = match room.dimension {
        Dimension::Rate { window_ms } => Some(window_ms),
        Dimension::Concurrency => None,
    };
    (window_ms.is_none(), room.remaining, Reverse(window_ms))
}
