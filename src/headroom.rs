//! What the budgets of one call still have room for: what its caller is told beside the
//! decision.

use std::cmp::Reverse;

use crate::budget::Sight;
use crate::call::{Call, Lane, PerLane, Scope};
use crate::engine::Engine;
use crate::key::KeyRef;
use crate::node::Node;
use crate::policy::Dimension;
use crate::shape::Limit;
use crate::time::Instant;

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
        self.advance(now);
        self.workloads.get(call.workload)?;
        let stand = self.stand(call);
        let charges = self.charges(KeyRef::of(call, call.workload, Scope::User), &stand);
        let tightest = charges.iter().filter_map(|charge| {
            let sight = self.sight(*charge, call.workload);
            let rooms = sight.shape.deciding();
            rooms
                .map(|limit| headroom(&sight, charge.scope, limit, call.lane))
                .min_by_key(tightness)
        });
        tightest.min_by_key(tightness)
    }
}

fn headroom(sight: &Sight<'_>, scope: Scope, limit: &Limit, lane: Lane) -> Headroom {
    let room = Headroom {
        scope,
        dimension: limit.dimension,
        limit: *limit.caps.get(lane),
        remaining: free(sight, limit, lane),
        more_in_ms: None,
    };
    let Some(view) = limit.view else {
        return room;
    };
    let span_ms = sight.shape.views[view].span_ms;
    let assumed = sight.assumed.full_at.map(|at| at.plus_ms(span_ms));
    if let Some(until) = assumed.filter(|until| *until > sight.now) {
        return Headroom {
            remaining: 0,
            more_in_ms: Some(until.ms_since(sight.now)),
            ..room
        };
    }
    let oldest_goes = sight
        .node
        .and_then(|node| node.counts.forgets_at(sight.shape, view, 1, 0));
    Headroom {
        more_in_ms: Some(oldest_goes.map_or(span_ms, |at| at.ms_since(sight.now))),
        ..room
    }
}

/// What is free for the lane: what nobody uses, and of that no more than its share leaves.
fn free(sight: &Sight<'_>, limit: &Limit, lane: Lane) -> u32 {
    let used = |node: &Node| node.used(limit);
    let used = sight.node.map_or_else(PerLane::default, used);
    let free = u64::from(limit.limit()).saturating_sub(used.total());
    let room = match lane {
        Lane::Foreground => free,
        Lane::Background => {
            free.min(u64::from(limit.caps.background).saturating_sub(used.background))
        }
    };
    u32::try_from(room).unwrap_or(u32::MAX)
}

fn tightness(room: &Headroom) -> (bool, u32, Reverse<Option<u64>>) {
    let window_ms = match room.dimension {
        Dimension::Rate { window_ms } => Some(window_ms),
        Dimension::Concurrency => None,
    };
    (window_ms.is_none(), room.remaining, Reverse(window_ms))
}
