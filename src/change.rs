//! A policy that changes while permits are out and calls wait.
//!
//! Limits, shorter windows, added and removed layers hold at once; a longer window is
//! guaranteed one window later, since what landed before was not kept for so long. Lowering
//! revokes nothing: what is over drains. Raising wakes who waits.

use crate::call::Scope;
use crate::counts::Counts;
use crate::decision::Settled;
use crate::engine::Engine;
use crate::node::Running;
use crate::policy::Policy;
use crate::queue::Queue;
use crate::shape::Shape;
use crate::time::Instant;

impl Engine {
    /// From now on `workload` has this policy. Waiting calls that it makes impossible are
    /// refused; the others are looked at again.
    pub fn change_policy(&mut self, now: Instant, workload: usize, policy: Policy) {
        let now = self.advance(now);
        let Some(of) = self.workloads.get_mut(workload) else {
            return;
        };
        let before = of.shape.clone();
        of.change(policy, now);
        // Counting anew takes a while with many users, and the most usual change, another limit
        // or share, needs none of it.
        if self.counts_otherwise(workload, &before) {
            self.recount(workload, &before, now);
        }
        if self.limits_other_scopes(workload, &before) {
            self.recharge_all();
        }
        self.tree.recount_users(&self.workloads);
        self.refuse_impossible();
        self.stir_all();
        self.settle(now);
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self, workload: usize) -> Option<&Policy> {
        self.workloads.get(workload).map(|of| &of.policy)
    }

    /// Whether any of its budgets has other logs, or other windows on them, than `before`.
    fn counts_otherwise(&self, workload: usize, before: &Shape) -> bool {
        let shape = &self.workloads[workload].shape;
        Scope::ALL.into_iter().any(|scope| {
            let (before, now) = (before.at(scope), shape.at(scope));
            before.logs != now.logs || before.views != now.views
        })
    }

    /// Whether calls are charged to budgets of other scopes than `before`.
    fn limits_other_scopes(&self, workload: usize, before: &Shape) -> bool {
        let shape = &self.workloads[workload].shape;
        Scope::ALL
            .into_iter()
            .any(|scope| before.has(scope) != shape.has(scope))
    }

    /// Every budget goes on with what its logs hold.
    fn recount(&mut self, workload: usize, before: &Shape, now: Instant) {
        for place in self.tree.places() {
            let shape = &self.workloads[workload].shape;
            if let Some(node) = self.tree.get_mut(place)
                && usize::from(node.workload) == workload
            {
                let landed = node.counts.landed(before.at(node.scope));
                node.counts = Counts::restored(shape.at(node.scope), &landed, now);
                self.tree.mark(place);
            }
        }
    }

    /// What runs counts in every budget that has layers now.
    fn recharge_all(&mut self) {
        for place in self.tree.places() {
            if let Some(node) = self.tree.get_mut(place) {
                node.running = Running::default();
            }
        }
        let held: Vec<_> = self.leases.iter().copied().collect();
        for held in held {
            for place in self.charged_places(&held) {
                if let Some(node) = self.tree.get_mut(place) {
                    node.start(held.lane, held.weight);
                    if held.lingers {
                        node.linger(held.permit, held.expires_at);
                    }
                }
            }
        }
    }

    fn refuse_impossible(&mut self) {
        let waiters: Vec<_> = self
            .queues
            .values()
            .flat_map(Queue::waiters)
            .copied()
            .collect();
        for waiter in waiters {
            let call = self.call_of(waiter.user, waiter.lane, waiter.weight);
            if let Err(refusal) = self.possible(&call)
                && self.unpark(waiter.ticket).is_some()
            {
                self.settled.push(Settled {
                    ticket: waiter.ticket,
                    outcome: Err(refusal),
                });
            }
        }
    }
}
