//! One user: what `GET /api/v1/users/{upstream}/{workload}` answers and its page draws.

use serde::{Deserialize, Serialize};

use super::{Budget, Pause};

/// Everything about one user, as of one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct UserState {
    /// When this was true, RFC 3339 with milliseconds, UTC.
    pub as_of: String,
    /// When the server that says so started, in the same form.
    pub started_at: String,
    /// How many times faster than the wall clock the limiter's clock runs.
    pub time_scale: u32,
    /// The upstream's name.
    pub upstream: String,
    /// The workload's name.
    pub workload: String,
    /// The application's key.
    pub app: String,
    /// The tenant's key, empty where there is none.
    pub tenant: String,
    /// The user's key.
    pub user: String,
    /// What limits it, in the order of [`State::sort`](super::State::sort): the app's budget
    /// and the tenant's where they have limits, then the user's own.
    pub budgets: Vec<Budget>,
    /// The upstream's own limits of the app, which every call meets beside its workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<Budget>,
    /// Whether the upstream's counters cannot be written down: then every call is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritable: bool,
    /// The pauses that stop its background calls, the widest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Pause>,
    /// Its calls that wait, of those that a person waits for.
    pub foreground: Queue,
    /// Its jobs' calls that wait.
    pub background: Queue,
    /// What was granted to it and has not ended, the oldest grant first, at most
    /// [`LEASES_MAX`](Self::LEASES_MAX).
    pub leases: Vec<Lease>,
    /// How many of them there are.
    pub leases_total: u64,
}

/// The calls of one user and lane that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Queue {
    /// How many.
    pub waiting: u32,
    /// Since when the first of them waits, RFC 3339; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A granted call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Lease {
    /// The permit's number, as the log has it. Not the name under which a caller completes
    /// it: who may read must not be able to end others' calls.
    pub permit: u64,
    /// Who waits for the call.
    pub lane: LaneName,
    /// What it costs in rate layers.
    pub weight: u32,
    /// When it was granted, RFC 3339.
    pub granted_at: String,
    /// When it ends by itself unless it is renewed, RFC 3339.
    pub expires_at: String,
    /// Whether the upstream is tried with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
    /// Whether nobody will end it but its expiry: its connection broke or its server died.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lingering: bool,
}

/// Who waits for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneName {
    /// A person.
    Foreground,
    /// A job.
    Background,
}

impl UserState {
    /// The most leases that are listed: more than any published limit lets one user hold.
    pub const LEASES_MAX: usize = 100;
}
