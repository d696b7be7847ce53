//! What is shown of a policy's versions.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    policy::{Document, Place, Policies},
    store::StoredPolicy,
};

/// The limits of a workload, as the newest version says.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyState)]
pub(super) struct Shown {
    upstream: String,
    workload: String,
    #[serde(flatten)]
    version: Version,
    /// Whether this very version is in force; another is for a moment after the command line
    /// has made it.
    in_force: bool,
    /// Whether it can be changed here; not where the configuration file rules.
    editable: bool,
}

/// One version of a workload's limits. Texts are as they were given: show them as text.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyVersion)]
pub(super) struct Version {
    /// From 1 upwards, without gaps.
    #[schema(minimum = 1)]
    version: i64,
    /// Left out: it cannot be read, so it was never in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Document>,
    /// Why it was made.
    reason: String,
    /// Who made it.
    author: String,
    #[schema(format = DateTime)]
    created_at: String,
}

/// A page of the history.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyVersions)]
pub(super) struct Versions {
    /// Newest first.
    pub(super) versions: Vec<Version>,
    /// Where the next page begins; left out: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

impl Shown {
    pub(super) fn of(policies: &Policies, place: &Place<'_>, newest: &StoredPolicy) -> Self {
        let in_force = place.limiter.policy_version(place.workload);
        Self {
            upstream: place.limiter.name().to_owned(),
            workload: place.name.to_owned(),
            version: Version::from(newest),
            in_force: in_force == Some(newest.version),
            editable: policies.are_editable(),
        }
    }
}

impl From<&StoredPolicy> for Version {
    fn from(stored: &StoredPolicy) -> Self {
        let at = Timestamp::from_millisecond(stored.created_at_ms);
        Self {
            version: stored.version,
            policy: serde_json::from_str(&stored.document).ok(),
            reason: stored.reason.clone(),
            author: stored.author.clone(),
            created_at: at.map_or_else(|_| String::new(), |at| format!("{at:.3}")),
        }
    }
}
