//! What operators see of the engine: budgets, how much of them is used, who waits.

use std::cmp::Reverse;

use crate::call::{Lane, PerLane, Scope};
use crate::engine::Engine;
use crate::key::{Key, KeyRef};
use crate::lease::Lease;
use crate::node::Node;
use crate::policy::Dimension;
use crate::shadow::ShadowView;
use crate::shape::{Limit, ScopeShape, Shape};
use crate::time::Instant;
use crate::tree::Place;

/// The most budgets of apps and tenants in a view: what a page can show.
pub const SHARED_MAX: usize = 50;

/// One workload at one instant.
#[derive(Clone, Debug, Default)]
pub struct WorkloadView {
    /// App budgets, then tenants', each by trouble: what its breaker stops most first, then
    /// what is closest to a limit; at most [`SHARED_MAX`].
    pub shared: Vec<BudgetView>,
    /// How many of them there are.
    pub shared_total: usize,
    /// Until when every budget counts as full, because the counts were lost.
    pub full_until: Option<Instant>,
    /// A page of users' budgets, closest to a limit first.
    pub users: Vec<BudgetView>,
    /// How many users hold counts or leases.
    pub users_total: usize,
    /// How many calls wait.
    pub waiting: PerLane<u64>,
    /// Since when the longest-waiting call waits.
    pub waiting_since: PerLane<Option<Instant>>,
    /// Layers that refuse nothing, and what they would have refused.
    pub shadows: Vec<ShadowView>,
}

/// One budget at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetView {
    /// Whose budget.
    pub key: Key,
    /// How close it is to a limit, per mille of the layer that is used most.
    pub closeness_permille: u64,
    /// Its layers that can refuse, in the policy's order; one of its own in the place of the
    /// workload's.
    pub layers: Vec<LayerView>,
    /// What the upstream said of it, or an operator.
    pub breaker: crate::breaker::View,
}

/// One layer at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerView {
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The most that may be used.
    pub limit: u32,
    /// What is used, by lane.
    pub used: PerLane<u64>,
    /// The background's share.
    pub share_permille: u16,
    /// When one more foreground call of weight 1 fits, where none does now and only time is needed.
    pub frees_at: Option<Instant>,
    /// Of a concurrency layer: how many calls only their expiry will end.
    pub lingering: u64,
}

/// One user at one instant.
#[derive(Clone, Debug)]
pub struct UserView {
    /// Its budgets and those of its tenant and app that also limit it, narrowest first, the
    /// upstream's own last. One without layers is left out.
    pub budgets: Vec<BudgetView>,
    /// Its calls in flight, oldest grant first.
    pub leases: Vec<LeaseView>,
    /// How many of its calls wait.
    pub waiting: PerLane<u64>,
    /// Since when the longest-waiting one waits.
    pub waiting_since: PerLane<Option<Instant>>,
}

/// A call in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseView {
    /// What was granted.
    pub lease: Lease,
    /// Whether only its expiry will end it.
    pub lingers: bool,
}

/// Where a page of users ended: closeness and key of its last.
pub type Cursor = (u64, Key);

impl Engine {
    /// What `workload` looks like: at most `users_max` users, those after `cursor`.
    pub fn view(
        &mut self,
        now: Instant,
        workload: usize,
        cursor: Option<&Cursor>,
        users_max: usize,
    ) -> WorkloadView {
        let now = self.advance(now);
        if self.workloads.get(workload).is_none() {
            return WorkloadView::default();
        }
        self.advance_all(workload, now);
        let mut view = WorkloadView {
            full_until: self.full_until(workload),
            shadows: self.workloads[workload].shadows.views().to_vec(),
            ..WorkloadView::default()
        };
        let (mut users, mut shared) = (Vec::new(), Vec::new());
        for (place, node) in self.tree.nodes() {
            if usize::from(node.workload) != workload || !node.is_charged() {
                continue;
            }
            let Some(key) = self.tree.key(place) else {
                continue;
            };
            let closeness = self.look(node, key).closeness_permille();
            match node.scope {
                Scope::User => users.push((closeness, place, key)),
                Scope::Tenant | Scope::App => {
                    let breaker = node.breaker().map(crate::breaker::Breaker::view);
                    let status = breaker.unwrap_or_default().status;
                    shared.push((Reverse(key.scope), Reverse((status, closeness)), key, place));
                }
            }
        }
        shared.sort_unstable_by_key(|(scope, trouble, key, _)| (*scope, *trouble, *key));
        view.shared_total = shared.len();
        let shared = shared.into_iter().take(SHARED_MAX);
        view.shared = shared
            .filter_map(|(.., place)| self.budget_at(place))
            .collect();
        view.users_total = users.len();
        view.users = self.page(users, cursor, users_max);
        self.look_at_queues(workload, &mut view);
        view
    }

    /// What the budget of `key` looks like, seen before or not.
    pub fn budget_view(&mut self, now: Instant, key: &Key) -> Option<BudgetView> {
        let now = self.advance(now);
        self.workloads.get(key.workload)?;
        self.view_of(now, key.as_ref())
    }

    /// What the user of `key` looks like, seen before or not: what limits it, what it has in
    /// flight, and what waits.
    pub fn user_view(&mut self, now: Instant, key: &Key) -> Option<UserView> {
        let now = self.advance(now);
        self.workloads.get(key.workload)?;
        let own = key.as_ref();
        let path = self.tree.path(own.workload, own.app, own.tenant, own.user);
        let mut view = UserView {
            budgets: Vec::new(),
            leases: Vec::new(),
            waiting: PerLane::default(),
            waiting_since: PerLane::default(),
        };
        for workload in [Some(own.workload), self.global_of(own.workload)]
            .into_iter()
            .flatten()
        {
            for scope in Scope::ALL {
                if self.workloads[workload].shape.has(scope) {
                    view.budgets
                        .extend(self.view_of(now, own.widened(workload, scope)));
                }
            }
        }
        let Some(user) = path.at(Scope::User) else {
            return Some(view);
        };
        let held = self.leases.iter().filter(|held| held.user == user);
        view.leases = held
            .map(|held| LeaseView {
                lease: self.lease_of(held),
                lingers: held.lingers,
            })
            .collect();
        let queue = path.at(Scope::App).and_then(|app| self.queues.get(&app));
        if let Some((queue, tenant)) = queue.zip(path.at(Scope::Tenant)) {
            for lane in Lane::ALL {
                *view.waiting.get_mut(lane) = queue.waiting_of(lane, tenant, user) as u64;
                *view.waiting_since.get_mut(lane) = queue.oldest_of(lane, tenant, user);
            }
        }
        Some(view)
    }

    fn advance_all(&mut self, workload: usize, now: Instant) {
        for place in self.tree.places() {
            if let Some(node) = self.tree.get_mut(place)
                && usize::from(node.workload) == workload
            {
                node.advance(self.workloads[workload].shape.at(node.scope), now);
            }
        }
    }

    /// The page of users after `cursor`, closest to a limit first.
    fn page(
        &self,
        mut users: Vec<(u64, Place, KeyRef<'_>)>,
        cursor: Option<&Cursor>,
        users_max: usize,
    ) -> Vec<BudgetView> {
        let order = |closeness: u64, key| (Reverse(closeness), key);
        if let Some((last, key)) = cursor {
            let last = order(*last, key.as_ref());
            users.retain(|(closeness, _, key)| order(*closeness, *key) > last);
        }
        if users.len() > users_max && users_max > 0 {
            users.select_nth_unstable_by_key(users_max - 1, |(closeness, _, key)| {
                order(*closeness, *key)
            });
        }
        users.truncate(users_max);
        users.sort_unstable_by_key(|(closeness, _, key)| order(*closeness, *key));
        users
            .into_iter()
            .filter_map(|(_, place, _)| self.budget_at(place))
            .collect()
    }

    pub(crate) fn look<'a>(&'a self, node: &'a Node, key: KeyRef<'_>) -> Look<'a> {
        let workload = &self.workloads[usize::from(node.workload)];
        Look {
            node: Some(node),
            shape: workload.shape.of_key(key),
            share_permille: workload.policy.background_share().permille(),
            now: self.now,
            full_at: self.full_at,
            lease_ms: self.settings.lease_ms,
        }
    }

    fn budget_at(&self, place: Place) -> Option<BudgetView> {
        let key = self.tree.key(place)?;
        Some(self.look(self.tree.get(place)?, key).at(key))
    }

    fn view_of(&mut self, now: Instant, key: KeyRef<'_>) -> Option<BudgetView> {
        let workload = self.workloads.get(key.workload)?;
        let shape = workload.shape.of_key(key);
        let place = self.tree.place_of(key);
        if let Some(node) = place.and_then(|place| self.tree.get_mut(place)) {
            node.advance(shape, now);
        }
        let look = Look {
            node: place.and_then(|place| self.tree.get(place)),
            shape,
            share_permille: workload.policy.background_share().permille(),
            now,
            full_at: self.full_at,
            lease_ms: self.settings.lease_ms,
        };
        Some(look.at(key))
    }

    /// Until when the last layer of a workload counts as full, because the counts were lost.
    fn full_until(&self, workload: usize) -> Option<Instant> {
        let shape: &Shape = &self.workloads[workload].shape;
        let until = self
            .full_at?
            .plus_ms(shape.span_ms_max().max(self.settings.lease_ms));
        Some(until).filter(|until| *until > self.now)
    }

    fn look_at_queues(&self, workload: usize, view: &mut WorkloadView) {
        for (app, queue) in &self.queues {
            let of = self.tree.get(*app).map(|node| usize::from(node.workload));
            if of != Some(workload) {
                continue;
            }
            for lane in Lane::ALL {
                *view.waiting.get_mut(lane) += queue.waiting(lane) as u64;
                let since = view.waiting_since.get_mut(lane);
                *since = [*since, queue.oldest(lane)].into_iter().flatten().min();
            }
        }
    }
}

/// One budget, seen or not.
pub(crate) struct Look<'a> {
    node: Option<&'a Node>,
    shape: &'a ScopeShape,
    share_permille: u16,
    now: Instant,
    full_at: Option<Instant>,
    lease_ms: u64,
}

impl Look<'_> {
    pub(crate) fn closeness_permille(&self) -> u64 {
        let layers = self.shape.deciding().map(|limit| self.layer(limit));
        layers
            .map(|layer| layer.used.total() * 1000 / u64::from(layer.limit))
            .max()
            .unwrap_or(0)
    }

    pub(crate) fn at(&self, key: KeyRef<'_>) -> BudgetView {
        let breaker = self.node.and_then(Node::breaker);
        BudgetView {
            key: key.to_key(),
            closeness_permille: self.closeness_permille(),
            layers: self
                .shape
                .deciding()
                .map(|limit| self.layer(limit))
                .collect(),
            breaker: breaker
                .map(crate::breaker::Breaker::view)
                .unwrap_or_default(),
        }
    }

    fn layer(&self, limit: &Limit) -> LayerView {
        let mut used = self
            .node
            .map_or_else(PerLane::default, |node| node.used(limit));
        let over = (used.total() + 1).saturating_sub(u64::from(limit.limit()));
        let frees = |node: &Node| match limit.view {
            Some(view) => node.counts.forgets_at(self.shape, view, over, 0),
            None => node.expires_at(over),
        };
        let mut frees_at = self.node.filter(|_| over > 0).and_then(frees);
        let full_until = self
            .full_at
            .map(|at| at.plus_ms(limit.span_ms(self.shape, self.lease_ms)));
        if let Some(until) = full_until.filter(|until| *until > self.now) {
            used.foreground += u64::from(limit.limit()).saturating_sub(used.total());
            frees_at = frees_at.max(Some(until));
        }
        LayerView {
            dimension: limit.dimension,
            limit: limit.limit(),
            used,
            share_permille: self.share_permille,
            frees_at,
            lingering: match limit.view {
                Some(_) => 0,
                None => self.node.map_or(0, Node::lingering),
            },
        }
    }
}
