//! The score that `GET /_sim/stats` gives.

use serde::{Deserialize, Serialize};

/// What the lookalike has seen since it started. Windows and instants are unscaled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Calls that arrived, of whatever kind, `/_sim` apart; of batches their parts.
    pub arrived: u64,
    /// Batches that arrived; they are no calls themselves.
    #[serde(default)]
    pub batches: u64,
    /// Parts of well-formed batches, those that were not carried out included.
    #[serde(default)]
    pub parts: u64,
    /// Calls refused by a limit.
    pub rejected: u64,
    /// Calls and batches that a fault was spent on, ordered or by chance.
    pub faulted: u64,
    /// When this was read: unscaled milliseconds since the start.
    pub as_of_ms: u64,
    /// How many times faster than the wall the lookalike runs.
    pub time_scale: u32,
    /// One entry per user and per application, and then per connection of Notion, in the order of
    /// their keys.
    pub budgets: Vec<BudgetStats>,
}

/// One budget's score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStats {
    /// Which API's limits these are.
    pub upstream: Upstream,
    /// Whose it is.
    pub scope: Scope,
    /// `app/tenant/user` or `app`; `*` stands for all long idle ones together.
    pub key: String,
    /// The application; Notion's connections are such.
    pub app: String,
    /// The tenant; empty at app scope, or where the token names none.
    pub tenant: String,
    /// The user; empty at app scope.
    pub user: String,
    /// The rates in their order, then concurrency.
    pub layers: Vec<LayerStats>,
}

/// One limit's score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerStats {
    /// The rate's window; none for concurrency.
    pub window_ms: Option<u64>,
    /// What is enforced.
    pub limit: u32,
    /// The most arrivals in any sliding window of that length, or the most calls in flight,
    /// refused ones included. A rate's stops at four times its limit (or 1,000 if that is more).
    pub peak: u32,
    /// Calls that this layer refused; one call may be refused by several.
    pub rejected: u64,
    /// Arrivals in the window that ends now, for a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_window: Option<u32>,
    /// Calls in flight now, for concurrency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

/// The API whose limits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Upstream {
    /// Microsoft Graph's OneNote.
    Graph,
    /// Notion.
    Notion,
}

/// Whose budget it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One application over all its users.
    App,
    /// One user of one application in one tenant.
    User,
}

impl Scope {
    /// As it is written in the score.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::User => "user",
        }
    }
}
