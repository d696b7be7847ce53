//! One workload: its policy, worked out, and how long its calls take.

use std::collections::VecDeque;

use crate::call::Scope;
use crate::policy::{Dimension, Policy};
use crate::shape::Shape;

/// How many of the last holds the estimate for running calls is drawn from.
const HOLDS_KEPT: usize = 63;

#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) policy: Policy,
    pub(crate) shape: Shape,
    pub(crate) holds: Holds,
    /// The layer that the upstream's own count of what is left speaks of.
    pub(crate) remaining_is_of: Option<(Scope, Dimension)>,
}

/// How long the last calls ran, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds(VecDeque<u64>);

impl Workload {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            shape: Shape::of(&policy),
            policy,
            holds: Holds::default(),
            remaining_is_of: None,
        }
    }

    /// From now on it has these limits.
    pub(crate) fn change(&mut self, policy: Policy) {
        self.shape = Shape::of(&policy);
        self.policy = policy;
    }
}

impl Holds {
    /// A call has run for so long.
    pub(crate) fn remember(&mut self, ms: u64) {
        if self.0.len() == HOLDS_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(ms);
    }

    /// How long calls usually run; 0 before the first has ended.
    pub(crate) fn median_ms(&self) -> u64 {
        let mut holds: Vec<u64> = self.0.iter().copied().collect();
        if holds.is_empty() {
            return 0;
        }
        let middle = holds.len() / 2;
        *holds.select_nth_unstable(middle).1
    }
}
