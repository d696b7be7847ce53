//! One workload: its policy, worked out, and how long its calls take.

use std::collections::VecDeque;

use crate::call::Scope;
use crate::policy::{Dimension, Policy};
use crate::shadow::Shadows;
use crate::shape::Shape;
use crate::time::Instant;

/// How many of the last holds the estimate for running calls is drawn from.
const HOLDS_KEPT: usize = 63;

/// The median is found anew after so many more.
const SORTED_EACH: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) policy: Policy,
    pub(crate) shape: Shape,
    pub(crate) holds: Holds,
    /// What layers that only count would have refused.
    pub(crate) shadows: Shadows,
    /// The layer that the upstream's own count of what is left speaks of.
    pub(crate) remaining_is_of: Option<(Scope, Dimension)>,
}

/// How long the last calls ran, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    last: VecDeque<u64>,
    remembered: usize,
    median_ms: u64,
}

impl Workload {
    pub(crate) fn new(policy: Policy, now: Instant) -> Self {
        Self {
            shape: Shape::of(&policy),
            shadows: Shadows::of(&policy, now, &Shadows::default()),
            policy,
            holds: Holds::default(),
            remaining_is_of: None,
        }
    }

    /// From now on it has these limits.
    pub(crate) fn change(&mut self, policy: Policy, now: Instant) {
        self.shape = Shape::of(&policy);
        self.shadows = Shadows::of(&policy, now, &self.shadows);
        self.policy = policy;
    }
}

impl Holds {
    /// A call has run for so long.
    pub(crate) fn remember(&mut self, ms: u64) {
        if self.last.len() == HOLDS_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(ms);
        self.remembered = self.remembered.wrapping_add(1);
        // It changes little from one call to the next, and sorting costs as much as a grant.
        if self.last.len() < 2 * SORTED_EACH || self.remembered.is_multiple_of(SORTED_EACH) {
            let mut sorted: Vec<u64> = self.last.iter().copied().collect();
            let middle = sorted.len() / 2;
            self.median_ms = *sorted.select_nth_unstable(middle).1;
        }
    }

    /// How long calls usually run; 0 before the first has ended.
    pub(crate) const fn median_ms(&self) -> u64 {
        self.median_ms
    }
}
