//! What operators see of the engine: budgets, how much of them is used, who waits.

use crate::budget::{Budget, Key};
use crate::call::{Lane, PerLane, Scope};
use crate::engine::Engine;
use crate::policy::{Dimension, Layer, Policy};
use crate::time::Instant;
use crate::window::{Window, stretched_ms};

/// The most budgets of apps and tenants in a view: what a page can show.
pub const SHARED_MAX: usize = 50;

/// One workload at one instant.
#[derive(Clone, Debug, Default)]
pub struct WorkloadView {
    /// App budgets, then tenants', each closest to a limit first; at most [`SHARED_MAX`].
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
}

/// One budget at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetView {
    /// Whose budget.
    pub key: Key,
    /// How close it is to a limit, per mille of the layer that is used most.
    pub closeness_permille: u64,
    /// Its layers, in the policy's order.
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
        let full_at = self.assumed(workload).full_at;
        let Some(policy) = self
            .workloads
            .get(workload)
            .map(|workload| workload.policy.clone())
        else {
            return WorkloadView::default();
        };
        let look = Look {
            policy: &policy,
            now,
            full_at,
            lease_ms: self.settings.lease_ms,
        };
        let mut view = WorkloadView::default();
        let mut users = Vec::new();
        for budget in self
            .ledger
            .budgets(now)
            .filter(|budget| budget.key().workload == workload && !budget.is_idle())
        {
            match budget.key().scope {
                Scope::User => {
                    view.users_total += 1;
                    users.push((look.closeness_permille(budget), budget));
                }
                Scope::Tenant | Scope::App => view.shared.push(look.at(budget)),
            }
        }
        view.shared.sort_by(|a, b| {
            (b.key.scope, b.closeness_permille, &a.key).cmp(&(
                a.key.scope,
                a.closeness_permille,
                &b.key,
            ))
        });
        view.shared_total = view.shared.len();
        view.shared.truncate(SHARED_MAX);
        view.full_until = look.full_until();
        users.retain(|(closeness, budget)| {
            cursor.is_none_or(|(last, key)| (last, budget.key()) > (closeness, key))
        });
        users.sort_unstable_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.key().cmp(y.key())));
        view.users = users
            .into_iter()
            .take(users_max)
            .map(|(_, budget)| look.at(budget))
            .collect();
        self.look_at_queues(workload, &mut view);
        view
    }

    /// What the budget of `key` looks like, seen before or not.
    pub fn budget_view(&mut self, now: Instant, key: &Key) -> Option<BudgetView> {
        let now = self.advance(now);
        let full_at = self.assumed(key.workload).full_at;
        let policy = self.workloads.get(key.workload)?.policy.clone();
        let lease_ms = self.settings.lease_ms;
        let look = Look {
            policy: &policy,
            now,
            full_at,
            lease_ms,
        };
        Some(
            self.ledger
                .with(key, &policy, now, |budget| look.at(budget)),
        )
    }

    fn look_at_queues(&self, workload: usize, view: &mut WorkloadView) {
        for queue in self
            .queues
            .iter()
            .filter(|((of, _), _)| *of == workload)
            .map(|(_, queue)| queue)
        {
            for lane in Lane::ALL {
                *view.waiting.get_mut(lane) += queue.waiting(lane) as u64;
                let since = view.waiting_since.get_mut(lane);
                *since = [*since, queue.oldest(lane)].into_iter().flatten().min();
            }
        }
    }
}

struct Look<'a> {
    policy: &'a Policy,
    now: Instant,
    full_at: Option<Instant>,
    lease_ms: u64,
}

impl Look<'_> {
    fn closeness_permille(&self, budget: &Budget) -> u64 {
        self.layers(budget)
            .map(|layer| layer.used.total() * 1000 / u64::from(layer.limit))
            .max()
            .unwrap_or(0)
    }

    fn at(&self, budget: &Budget) -> BudgetView {
        let closeness_permille = self.closeness_permille(budget);
        BudgetView {
            key: budget.key().clone(),
            closeness_permille,
            layers: self.layers(budget).collect(),
            breaker: budget
                .breaker()
                .map(crate::breaker::Breaker::view)
                .unwrap_or_default(),
        }
    }

    fn layers<'a>(&'a self, budget: &'a Budget) -> impl Iterator<Item = LayerView> + 'a {
        budget
            .counted(self.policy)
            .map(|(layer, window)| self.layer(budget, layer, window))
    }

    fn layer(&self, budget: &Budget, layer: &Layer, window: Option<&Window>) -> LayerView {
        let mut used = budget.used(window);
        let over = (used.total() + 1).saturating_sub(u64::from(layer.limit()));
        let mut frees_at = match window {
            _ if over == 0 => None,
            Some(window) => window.forgets_at(over, 0),
            None => budget.expires_at(over),
        };
        let lasts_ms = window.map_or(self.lease_ms, Window::span_ms);
        let full_until = self.full_at.map(|at| at.plus_ms(lasts_ms));
        if let Some(until) = full_until.filter(|until| *until > self.now) {
            let free = u64::from(layer.limit()).saturating_sub(used.total());
            used.foreground += free;
            frees_at = frees_at.max(Some(until));
        }
        LayerView {
            dimension: layer.dimension(),
            limit: layer.limit(),
            used,
            share_permille: self.policy.background_share().permille(),
            frees_at,
            lingering: if window.is_none() {
                budget.lingering()
            } else {
                0
            },
        }
    }

    /// Until when the last layer counts as full, because the counts were lost.
    fn full_until(&self) -> Option<Instant> {
        let spans = self
            .policy
            .layers()
            .iter()
            .map(|layer| match layer.dimension() {
                Dimension::Rate { window_ms } => stretched_ms(window_ms),
                Dimension::Concurrency => self.lease_ms,
            });
        let until = self.full_at?.plus_ms(spans.max()?);
        Some(until).filter(|until| *until > self.now)
    }
}
