//! What the dashboard shows and `GET /api/v1/state` answers: plain data, shared by
//! the server that fills it and the page that draws it.
//!
//! A [`State`] is complete; a [`Delta`] holds what changed since the last one, so that
//! `old.apply(old.delta_to(&new))` equals `new` for states in [order](State::sort).
//! Instants are RFC 3339 in UTC, wall time; limits, windows and counts are the policy's
//! own, never scaled.

#[cfg(test)]
mod arbitrary;
mod breaker;
mod budget;
mod delta;
mod house;
mod pause;
#[cfg(any(feature = "hydrate", test))]
mod read;
mod user;

use serde::{Deserialize, Serialize};

pub use breaker::{Breaker, BreakerReason, BreakerState, ForcedBreaker};
pub use budget::{Budget, BudgetKey, Dimension, Layer, Scope, sort_budgets};
pub use delta::{Delta, RecentDelta, UpstreamDelta, WorkloadDelta};
pub use house::{Attention, CHANGES_MAX, Change, House, HousePart};
pub use pause::{Pause, PauseScope, SetBy};
#[cfg(any(feature = "hydrate", test))]
pub(crate) use read::{Json, Read, member};
#[cfg(feature = "hydrate")]
pub(crate) use read::{parse, structs};
pub use user::{LaneName, Lease, Queue, UserState};

/// Everything the overview shows, as of one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
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
    /// How Spillway itself is, and what happened to it lately. In the live stream alone, and not
    /// before the first look, which the server takes when it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub house: Option<House>,
}

/// One throttled API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Upstream {
    /// The name used in the gateway's path: `graph`.
    pub name: String,
    /// Whether its counters cannot be written down: then every call is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritable: bool,
    /// The pauses of background calls that are in force, the widest first; at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Pause>,
    /// The breakers that operators hold where they are, by workload, the widest first; at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<ForcedBreaker>,
    /// Its parts with limits of their own.
    pub workloads: Vec<Workload>,
}

/// A part of an upstream with limits of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Workload {
    /// `onenote`, `sharepoint`, …
    pub name: String,
    /// App budgets first, then tenants, then users, each closest to a limit first; of apps
    /// and tenants the fifty in most trouble.
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
    /// Limits that refuse nothing, and what they would have refused; browsers do not read it.
    #[cfg(feature = "ssr")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadows: Vec<Shadow>,
}

/// A limit that refuses nothing, and what it would have refused.
#[cfg(feature = "ssr")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Shadow {
    /// Whose budgets.
    pub scope: Scope,
    /// What it would limit.
    pub dimension: Dimension,
    /// The window's length; rates alone have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// What it would let each of them use, but for overrides.
    pub limit: u32,
    /// How many foreground calls were let go for which it had no room.
    pub foreground: u64,
    /// How many background calls were.
    pub background: u64,
    /// Since when it counts.
    pub since: String,
}

/// How many seconds of history [`Workload::recent`] holds: what a sparkline of 160 px can show.
pub const RECENT_SECONDS: usize = 60;

/// What became of the calls of both lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Lanes {
    /// Calls a person waits for.
    pub foreground: Lane,
    /// Jobs.
    pub background: Lane,
}

/// What became of one lane's calls since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
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
    /// Since when it waits; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<String>,
    /// The mean wait of all admitted calls, those that did not wait included, wall milliseconds.
    pub hold_ms_mean: u64,
}

/// One second of a workload, both lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
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
