//! What operators see of the engine: budgets, how much of them is used, who waits.

use crate::budget::{Budget, Key};
use crate::call::{Lane, PerLane, Scope};
use crate::engine::Engine;
use crate::policy::{Dimension, Policy};
use crate::time::Instant;

/// One workload at one instant.
#[derive(Clone, Debug, Default)]
pub struct WorkloadView {
    /// App budgets, then tenants', each closest to a limit first.
    pub shared: Vec<BudgetView>,
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
        let share_permille = self.policy.background_share().permille();
        budget.counted(self.policy).map(move |(layer, window)| {
            let mut used = budget.used(window);
            let over = (used.total() + 1).saturating_sub(u64::from(layer.limit()));
            let mut frees_at = window
                .filter(|_| over > 0)
                .and_then(|window| window.forgets_at(over, 0));
            let assumed_until = self
                .full_at
                .zip(window)
                .map(|(at, window)| at.plus_ms(window.span_ms()));
            if let Some(until) = assumed_until.filter(|until| *until > self.now) {
                used.foreground = used
                    .foreground
                    .max(u64::from(layer.limit()).saturating_sub(used.background));
                frees_at = frees_at.max(Some(until));
            }
            LayerView {
                dimension: layer.dimension(),
                limit: layer.limit(),
                used,
                share_permille,
                frees_at,
            }
        })
    }
}
