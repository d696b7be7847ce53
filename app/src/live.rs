//! What the dashboard shows and `GET /api/v1/state` answers: plain data, shared by
//! the server that fills it and the page that draws it.
//!
//! A [`State`] is complete; a [`Delta`] holds what changed since the last one, so that
//! `old.apply(old.delta_to(&new))` equals `new` for states in [order](State::sort).
//! Instants are RFC 3339 in UTC, wall time; limits, windows and counts are the policy's
//! own, never scaled.

mod delta;

use serde::{Deserialize, Serialize};

pub use delta::{Delta, RecentDelta, UpstreamDelta, WorkloadDelta};

/// Everything the overview shows, as of one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// When this was true, RFC 3339 with milliseconds, UTC.
    pub as_of: String,
    /// When the server that says so started, in the same form: tells a restart from a lost line.
    #[serde(default)]
    pub started_at: String,
    /// How many times faster than the wall clock the limiter's clock runs (1 outside the demo).
    pub time_scale: u32,
    /// The throttled APIs, by name.
    pub upstreams: Vec<Upstream>,
}

/// One throttled API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Upstream {
    /// The name used in the gateway's path: `graph`.
    pub name: String,
    /// Whether its counters cannot be written down: then every call is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritable: bool,
    /// Its parts with limits of their own.
    pub workloads: Vec<Workload>,
}

/// A part of an upstream with limits of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// `onenote`, `sharepoint`, …
    pub name: String,
    /// App budgets first, then tenants, then users, each closest to a limit first; of apps
    /// and tenants together at most fifty.
    pub budgets: Vec<Budget>,
    /// How many budgets of apps and tenants there are; `budgets` may show fewer.
    #[serde(default)]
    pub shared: u64,
    /// Until when every budget, seen or not, counts as full: the counters were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_until: Option<String>,
    /// What became of the calls, by lane, since the server started.
    pub lanes: Lanes,
    /// The last minute, one entry a whole second, idle ones included, oldest first, at most
    /// [`RECENT_SECONDS`]. The running second is left out.
    pub recent: Vec<Second>,
    /// How many users hold counts or leases now; `budgets` may show fewer.
    pub users: u64,
    /// Where the next page of users begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// How many seconds of history [`Workload::recent`] holds: what a sparkline of 160 px can show.
pub const RECENT_SECONDS: usize = 60;

/// The counters of one policy at one scope key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Weight per window.
    Rate,
    /// Calls in flight.
    Concurrency,
}

/// One limit and how much of it is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Whether a budget lets calls through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    /// What it does to calls now.
    pub state: BreakerState,
    /// When the state ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why it is not closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<BreakerReason>,
    /// While half-open: whether its probe is on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probing: bool,
    /// While recovering: how many calls may be in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_calls: Option<u32>,
    /// The share of the limit that the upstream last reported, per mille; may exceed 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_permille: Option<u32>,
    /// When it reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<String>,
    /// How often the upstream throttled although everything fitted: somebody else uses the
    /// quota, or the limit is lower than the policy says. Forgotten when all is quiet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: u32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why a breaker is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerReason {
    /// The upstream said that it throttles.
    Throttled,
    /// The upstream reported that the limit is used up, or nearly.
    Percentage,
    /// The upstream does not work.
    Outage,
    /// An operator said so.
    Forced,
}

/// The states of a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Calls pass.
    #[default]
    Closed,
    /// Background calls are refused.
    Soft,
    /// All calls are refused.
    Open,
    /// One probe may pass.
    HalfOpen,
    /// Concurrency is rising again.
    Recovering,
}

/// What became of the calls of both lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lanes {
    /// Calls a person waits for.
    pub foreground: Lane,
    /// Jobs.
    pub background: Lane,
}

/// What became of one lane's calls since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Calls let through, at once or after a wait.
    pub admitted: u64,
    /// Those of the admitted that had to wait first.
    pub held: u64,
    /// Calls refused without reaching the upstream: no room (429), or no room to count them (503).
    pub refused: u64,
    /// Calls waiting now.
    pub waiting: u32,
    /// How long the longest of them has waited, wall milliseconds.
    pub waiting_ms_max: u64,
    /// The mean wait of all admitted calls, those that did not wait included, wall milliseconds.
    pub hold_ms_mean: u64,
}

/// One second of a workload, both lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// The second, Unix time.
    pub at: u64,
    /// Calls let through in it.
    pub admitted: u32,
    /// Those of them that had waited.
    pub held: u32,
    /// Calls refused in it.
    pub refused: u32,
}

impl State {
    /// The workload called `name` of `upstream`.
    #[must_use]
    pub fn workload(&self, upstream: &str, name: &str) -> Option<&Workload> {
        let upstream = self.upstreams.iter().find(|it| it.name == upstream)?;
        upstream.workloads.iter().find(|it| it.name == name)
    }

    /// Brings everything into the one order: upstreams and workloads by name, budgets by
    /// scope, then closest to a limit, then key.
    pub fn sort(&mut self) {
        self.upstreams.sort_by(|a, b| a.name.cmp(&b.name));
        for upstream in &mut self.upstreams {
            upstream.workloads.sort_by(|a, b| a.name.cmp(&b.name));
            for workload in &mut upstream.workloads {
                sort_budgets(&mut workload.budgets);
            }
        }
    }
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
