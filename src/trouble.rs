//! Which breakers stop calls: what somebody may have to be told of.
//!
//! Apps and tenants by name, the first [`NAMED_MAX`] that are found; users counted, as a hundred
//! thousand of them may be in trouble at once. Taken a few steps at a time, as a
//! [survey](crate::survey) is.

use crate::breaker::{Status, View};
use crate::call::Scope;
use crate::engine::Engine;
use crate::key::Key;
use crate::time::Instant;
use crate::tree::Place;

/// The most budgets of apps and tenants that are named, of each workload.
pub const NAMED_MAX: usize = 50;

/// Breakers of one workload that are not closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// Apps' and tenants' budgets.
    pub named: Vec<(Key, View)>,
    /// How many more of them there are.
    pub unnamed: u64,
    /// How many users' breakers are open.
    pub users: u64,
}

impl Stopped {
    /// Takes in what another engine of the same policies found.
    pub fn add(&mut self, other: Self) {
        for found in other.named {
            self.name(found);
        }
        self.unnamed += other.unnamed;
        self.users += other.users;
    }

    fn name(&mut self, found: (Key, View)) {
        if self.named.len() < NAMED_MAX {
            self.named.push(found);
        } else {
            self.unnamed += 1;
        }
    }
}

impl Engine {
    /// Looks at `steps` budgets, from position `first` on, for breakers that stop calls; what it
    /// finds goes to its workload's place in `found`. Says where to go on, if there are more.
    pub fn find_trouble(
        &mut self,
        now: Instant,
        found: &mut [Stopped],
        first: usize,
        steps: usize,
    ) -> Option<usize> {
        let now = self.advance(now);
        let until = first.saturating_add(steps).min(self.tree.places_len());
        for position in first..until {
            self.look_for_trouble(now, found, position);
        }
        (until < self.tree.places_len()).then_some(until)
    }

    fn look_for_trouble(&mut self, now: Instant, found: &mut [Stopped], position: usize) {
        let Some(node) = self.tree.at_mut(position) else {
            return;
        };
        // Most budgets were never told anything.
        if node.breaker().is_none() {
            return;
        }
        let (workload, scope) = (usize::from(node.workload), node.scope);
        let Some((it, found)) = self.workloads.get(workload).zip(found.get_mut(workload)) else {
            return;
        };
        node.advance(it.shape.at(scope), now);
        let view = node.breaker().map(crate::breaker::Breaker::view);
        // Soft stops background calls alone, which can wait.
        let Some(view) = view.filter(|view| view.status > Status::Soft) else {
            return;
        };
        if scope == Scope::User {
            found.users += u64::from(view.status == Status::Open);
        } else if let Some(key) = self.tree.key(Place::at(position)) {
            found.name((key.to_key(), view));
        }
    }
}
