//! Breakers: whether a budget lets calls through, and what its upstream said.

use serde::{Deserialize, Serialize};

use super::{Pause, PauseScope, Scope, SetBy, budget::is_zero};

/// Whether a budget lets calls through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Breaker {
    /// What it does to calls now.
    pub state: BreakerState,
    /// Since when it is in this state, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
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
    /// The share from which on background is refused, per mille, where it reported one and the
    /// policy has another than the usual 800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_permille: Option<u32>,
    /// When it reported that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<String>,
    /// How often the upstream throttled although everything fitted: somebody else uses the
    /// quota, or the limit is lower than the policy says. Forgotten when all is quiet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift: u32,
    /// Who forced it, where somebody did and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SetBy>,
}

/// A breaker that an operator holds where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ForcedBreaker {
    /// Which limits.
    pub workload: String,
    /// Whose budget.
    pub scope: Scope,
    /// The application's key.
    pub app: String,
    /// The tenant's key, where the budget has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The user's key, where the budget is a user's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Where it is held: `open` or `closed`.
    pub state: BreakerState,
    /// When it is let go by itself, RFC 3339.
    #[cfg_attr(feature = "ssr", schema(format = DateTime))]
    pub until: String,
    /// Who holds it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SetBy>,
}

/// Why a breaker is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
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

/// The same budgets, as those whose background calls could be paused.
impl From<&ForcedBreaker> for Pause {
    fn from(forced: &ForcedBreaker) -> Self {
        Self {
            scope: match forced.scope {
                Scope::App => PauseScope::App,
                Scope::Tenant => PauseScope::Tenant,
                Scope::User => PauseScope::User,
            },
            app: forced.app.clone(),
            tenant: forced.tenant.clone(),
            user: forced.user.clone(),
            ..Self::default()
        }
    }
}
