//! Layers that only count: what they would have refused of what was let go.
//!
//! They are looked at once for each grant, with everything counted that was really let go: a call
//! that such a layer had no room for is one that it would have refused, or kept waiting.

use crate::budget::Cost;
use crate::call::{Call, Lane, PerLane, Scope};
use crate::engine::Engine;
use crate::key::KeyRef;
use crate::lease::Held;
use crate::node::Node;
use crate::policy::{Dimension, Policy};
use crate::shape::Limit;
use crate::time::Instant;

/// A layer that only counts, and what it counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShadowView {
    /// Whose budgets.
    pub scope: Scope,
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// What it would let each of them use, but for overrides.
    pub limit: u32,
    /// How many calls of each lane were let go for which it had no room.
    pub would_refuse: PerLane<u64>,
    /// Since when it counts.
    pub since: Instant,
}

/// All of a workload's, in the policy's order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadows(Vec<ShadowView>);

impl Shadows {
    /// Those of `policy`; which were there `before` go on to count.
    pub(crate) fn of(policy: &Policy, now: Instant, before: &Self) -> Self {
        let layers = policy.layers().iter().filter(|layer| layer.is_shadow());
        let views = layers.map(|layer| {
            let fresh = ShadowView {
                scope: layer.scope(),
                dimension: layer.dimension(),
                limit: layer.limit(),
                would_refuse: PerLane::default(),
                since: now,
            };
            let what = |it: &ShadowView| (it.scope, it.dimension, it.limit);
            let mut before = before.0.iter();
            *before.find(|it| what(it) == what(&fresh)).unwrap_or(&fresh)
        });
        Self(views.collect())
    }

    pub(crate) fn views(&self) -> &[ShadowView] {
        &self.0
    }

    fn count(&mut self, scope: Scope, dimension: Dimension, lane: Lane) {
        let mut views = self.0.iter_mut();
        let view = views.find(|it| it.scope == scope && it.dimension == dimension);
        if let Some(view) = view {
            *view.would_refuse.get_mut(lane) += 1;
        }
    }
}

impl Engine {
    /// A call is about to be charged: counts the layers that would not have let it go.
    #[inline]
    pub(crate) fn count_shadows(&mut self, call: &Call, held: &Held) {
        for leaf in [Some(held.user), held.global].into_iter().flatten() {
            let workload = self.tree.get(leaf).map(|node| usize::from(node.workload));
            let Some(workload) = workload.filter(|it| self.workloads[*it].shape.has_shadows())
            else {
                continue;
            };
            let lineage: Vec<_> = self.tree.lineage(leaf).collect();
            for place in lineage {
                let Some(node) = self.tree.get_mut(place) else {
                    continue;
                };
                let (of, scope) = (&mut self.workloads[workload], node.scope);
                let shape = of.shape.of_key(KeyRef::of(call, workload, scope));
                if !shape.shadows {
                    continue;
                }
                node.advance(shape, self.now);
                let short = shape
                    .limits
                    .iter()
                    .filter(|it| is_short(node, it, call.cost()));
                for limit in short {
                    of.shadows.count(scope, limit.dimension, call.lane);
                }
            }
        }
    }
}

/// Whether a layer that only counts has no room for a call of this cost.
fn is_short(node: &Node, limit: &Limit, cost: Cost) -> bool {
    let Some(caps) = limit.shadow else {
        return false;
    };
    let used = node.used(limit);
    let asked = match limit.view {
        Some(_) => u64::from(cost.weight),
        None => 1,
    };
    let over_share =
        cost.lane == Lane::Background && used.background + asked > u64::from(caps.background);
    over_share || used.total() + asked > u64::from(caps.foreground)
}
