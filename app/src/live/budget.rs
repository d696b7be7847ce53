//! Budgets: whose they are, what they limit, how much of it is used.

use serde::{Deserialize, Serialize};

use super::Breaker;

/// The counters of one policy at one scope key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Budget {
    /// Whose budget it is.
    pub scope: Scope,
    /// The application's key.
    pub app: String,
    /// The tenant's key, empty where there is none or the scope is the app.
    pub tenant: String,
    /// The user's key, empty unless the scope is the user.
    pub user: String,
    /// Its limits, in the policy's order.
    pub layers: Vec<Layer>,
    /// Whether it lets calls through.
    pub breaker: Breaker,
}

/// What tells one budget of a workload from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BudgetKey {
    /// Whose budget it is.
    pub scope: Scope,
    /// The application's key.
    pub app: String,
    /// The tenant's key, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The user's key, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
}

/// Whose budget is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One application registration.
    App,
    /// The app within one tenant.
    Tenant,
    /// One user of an app.
    User,
}

/// What a layer limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Weight per window.
    Rate,
    /// Calls in flight.
    Concurrency,
}

/// One limit and how much of it is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Layer {
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The window of a rate in milliseconds; absent for concurrency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// The most that may be used at once.
    pub limit: u32,
    /// What is used now, both lanes.
    pub used: u32,
    /// What of it the background lane uses.
    pub used_background: u32,
    /// The background's share of the limit, per mille.
    pub share_permille: u16,
    /// When one more foreground call fits, if none does now and only time is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frees_at: Option<String>,
    /// Of the calls in flight, those whose connection broke or whose server died: they may
    /// still run upstream, and count until their leases expire.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lingering: u32,
}

impl Budget {
    /// What tells it from the workload's other budgets.
    #[must_use]
    pub fn key(&self) -> BudgetKey {
        BudgetKey {
            scope: self.scope,
            app: self.app.clone(),
            tenant: self.tenant.clone(),
            user: self.user.clone(),
        }
    }

    /// How full its fullest layer is, per mille of the limit, both lanes together.
    #[must_use]
    pub fn closeness_permille(&self) -> u32 {
        self.layers
            .iter()
            .map(Layer::used_permille)
            .max()
            .unwrap_or(0)
    }
}

impl Layer {
    /// How full it is, per mille of the limit, rounded down; above 1000 after the limit
    /// was lowered below what is in use.
    #[must_use]
    pub fn used_permille(&self) -> u32 {
        let permille = u64::from(self.used) * 1000 / u64::from(self.limit.max(1));
        u32::try_from(permille).unwrap_or(u32::MAX)
    }
}

/// App budgets, tenants, users; each closest to a limit first, equals by key.
pub fn sort_budgets(budgets: &mut [Budget]) {
    budgets.sort_by(|a, b| {
        a.scope
            .cmp(&b.scope)
            .then_with(|| b.closeness_permille().cmp(&a.closeness_permille()))
            .then_with(|| (&a.app, &a.tenant, &a.user).cmp(&(&b.app, &b.tenant, &b.user)))
    });
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
pub(super) fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(scope: Scope, user: &str, used: u32) -> Budget {
        let layer = |limit| Layer {
            dimension: Dimension::Rate,
            window_ms: Some(60_000),
            limit,
            used,
            used_background: 0,
            share_permille: 500,
            frees_at: None,
            lingering: 0,
        };
        Budget {
            scope,
            app: "app".to_owned(),
            tenant: String::new(),
            user: user.to_owned(),
            layers: vec![layer(120), layer(400)],
            breaker: Breaker::default(),
        }
    }

    #[test]
    fn the_fullest_layer_counts() {
        assert_eq!(budget(Scope::User, "u", 60).closeness_permille(), 500);
        assert_eq!(budget(Scope::User, "u", 0).closeness_permille(), 0);
    }

    #[test]
    fn apps_come_first_then_whoever_is_closest_then_the_key() {
        let mut all = vec![
            budget(Scope::User, "b", 5),
            budget(Scope::User, "a", 5),
            budget(Scope::User, "c", 90),
            budget(Scope::App, "", 1),
        ];
        sort_budgets(&mut all);
        let users: Vec<_> = all.iter().map(|it| it.user.as_str()).collect();
        assert_eq!(users, ["", "c", "a", "b"]);
    }
}
