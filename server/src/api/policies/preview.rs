//! What other limits would have done to the calls of the last quarter of an hour.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use spillway::PerLane;
use utoipa::ToSchema;

use crate::{
    limiter::{Preview, Tried},
    policy::Document,
};

/// Limits to try.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyTrial)]
pub(super) struct Trial {
    pub(super) policy: Document,
}

/// What limits do to the calls of the last quarter of an hour.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyPreview)]
pub(super) struct Shown {
    /// When the first of these calls asked; left out: there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    from: Option<String>,
    /// When the last one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    until: Option<String>,
    /// What really became of them: breakers and pauses counted, too. Who was refused is known, not
    /// who waited: its `waited` and `wait_ms_max` are 0.
    really: Lanes,
    /// Under the limits in force, tried again.
    current: Lanes,
    /// Under those that were sent.
    changed: Lanes,
    /// The same in a sentence.
    #[schema(
        example = "would have refused 12 of 340 calls (now 0): foreground 2 of 200, longest wait 1.2 s; background 10 of 140, longest wait 19.8 s"
    )]
    says: String,
}

/// Both lanes.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyPreviewLanes)]
struct Lanes {
    foreground: Lane,
    background: Lane,
}

/// What became of a lane's calls.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyPreviewLane)]
struct Lane {
    /// How many asked.
    asked: u64,
    /// How many of them may not go.
    refused: u64,
    /// How many of those that go have to wait.
    waited: u64,
    /// How long the longest of these waits is.
    wait_ms_max: u64,
}

impl From<&Preview> for Shown {
    fn from(preview: &Preview) -> Self {
        Self {
            from: preview.from.map(instant),
            until: preview.until.map(instant),
            really: (&preview.really).into(),
            current: (&preview.current).into(),
            changed: (&preview.changed).into(),
            says: preview.to_string(),
        }
    }
}

fn instant(at: Timestamp) -> String {
    format!("{at:.3}")
}

impl From<&PerLane<Tried>> for Lanes {
    fn from(lanes: &PerLane<Tried>) -> Self {
        Self {
            foreground: (&lanes.foreground).into(),
            background: (&lanes.background).into(),
        }
    }
}

impl From<&Tried> for Lane {
    fn from(outcome: &Tried) -> Self {
        Self {
            asked: outcome.asked,
            refused: outcome.refused,
            waited: outcome.waited,
            wait_ms_max: outcome.wait_ms_max,
        }
    }
}
