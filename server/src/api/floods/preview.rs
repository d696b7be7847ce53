//! What another flood policy would have done to the events that came.

use axum::{Json, response::IntoResponse as _};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    asked::{Asked, OfComponent, storage},
    policies::bad_policy,
};
use crate::{
    api::json::{Body, BodyRefused},
    floods::{self, FloodDocument, NotTried},
    http::Problem,
};

type Answer = Result<axum::response::Response, Problem>;

/// A policy to try.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodPolicyTrial)]
pub(super) struct Trial {
    policy: FloodDocument,
}

/// What two policies do to the minutes that were recorded in the last 30 days. What came while a
/// list was disabled or paused was not counted; and nobody re-enables, so that all events behind a
/// disablement are stopped.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreview)]
pub(super) struct Shown {
    /// When the first recorded minute began; left out: nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    from: Option<String>,
    #[schema(format = DateTime)]
    until: String,
    /// How many lists had events.
    lists: usize,
    /// Thresholds from here on are tried on all minutes that reach them. Of a lower one strikes are
    /// missing: quieter minutes are recorded only as the busiest of their day.
    complete_from: u32,
    /// When quiet lists were last left out of `lists` and `peaks`, for want of room; left out: all
    /// are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    left_out_at: Option<String>,
    peaks: Peaks,
    /// The thresholds of lists without a policy of their own.
    per_minute: Thresholds,
    /// What the policy in force does.
    now: Outcome,
    /// What the one that was sent does.
    then: Outcome,
    /// On how many lists they differ.
    differ: usize,
    /// Of these the 100 with the most stopped events between them. Texts are as they were given: show
    /// them as text.
    differing: Vec<List>,
    /// The same in a sentence.
    #[schema(
        example = "of 812 lists it would have struck 3 (now 1), stopped 4120 events (now 900) and disabled 1 lists (now 0)"
    )]
    says: String,
}

/// Over lists, the events of their busiest minute: so many per cent stay at or below.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreviewPeaks)]
struct Peaks {
    p50: u32,
    p90: u32,
    p95: u32,
    p99: u32,
    /// 99.9 %.
    p999: u32,
    max: u32,
}

/// Two thresholds.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreviewThresholds)]
struct Thresholds {
    now: u32,
    then: u32,
}

/// What a policy does to all lists.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreviewOutcome)]
struct Outcome {
    lists_struck: usize,
    lists_disabled: usize,
    strikes: u64,
    /// Events that are not handled.
    events_stopped: u64,
}

/// What both policies do to a list.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreviewList)]
struct List {
    site: String,
    list: String,
    /// The events of its busiest minute.
    peak: u32,
    now: Fate,
    then: Fate,
}

/// What a policy does to one list.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPolicyPreviewFate)]
struct Fate {
    strikes: u32,
    /// Events that are not handled.
    events_stopped: u64,
    /// Left out: it is not disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    disabled_at: Option<String>,
}

/// Try a flood policy on the events of the last 30 days
///
/// Nothing is changed. Lists that have a policy of their own, in force or in the one that is sent,
/// are tried under that.
#[utoipa::path(
    post,
    path = "/api/v1/flood-policies/{component}/preview",
    tag = "floods",
    operation_id = "previewFloodPolicy",
    params(OfComponent),
    request_body(content = Trial, example = json!({
        "policy": { "per_minute": 50, "strikes_per_day": 20, "grace": 3 }
    })),
    responses(
        BodyRefused,
        (status = 200, description = "What both do", body = Shown),
        (status = 404, description = "`unknown_component`"),
        (status = 422, description = "`bad_policy`"),
        (status = 503, description = "`capacity`: one is tried at a time; `storage`: the database does not answer"),
    )
)]
pub(super) async fn try_out(asked: Asked<OfComponent>, Body(trial): Body<Trial>) -> Answer {
    let component = asked.component()?;
    let policy = trial.policy.check().map_err(bad_policy)?;
    let tried = asked.api.floods.try_policy(component, policy).await;
    let shown = Shown::from(tried.map_err(refused)?);
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(shown)).into_response())
}

fn refused(not: NotTried) -> Problem {
    let detail = not.to_string();
    match not {
        NotTried::Store(error) => storage(error),
        NotTried::Busy => {
            let title = "One preview is made at a time";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title).detail(detail)
        }
        NotTried::Policy(_) => {
            let title = "The policy in force cannot be read";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(detail)
        }
    }
}

fn text(at: Timestamp) -> String {
    format!("{at:.3}")
}

impl From<floods::Tried> for Shown {
    fn from(tried: floods::Tried) -> Self {
        let says = tried.to_string();
        let [now, then] = tried.per_minute;
        Self {
            from: tried.from.map(text),
            until: text(tried.until),
            lists: tried.lists,
            complete_from: tried.complete_from,
            left_out_at: tried.left_out_at.map(text),
            peaks: Peaks {
                p50: tried.peaks.p50,
                p90: tried.peaks.p90,
                p95: tried.peaks.p95,
                p99: tried.peaks.p99,
                p999: tried.peaks.p999,
                max: tried.peaks.max,
            },
            per_minute: Thresholds { now, then },
            now: tried.now.into(),
            then: tried.then.into(),
            differ: tried.differ,
            differing: tried.differing.into_iter().map(List::from).collect(),
            says,
        }
    }
}

impl From<floods::Outcome> for Outcome {
    fn from(it: floods::Outcome) -> Self {
        Self {
            lists_struck: it.lists_struck,
            lists_disabled: it.lists_disabled,
            strikes: it.strikes,
            events_stopped: it.events_stopped,
        }
    }
}

impl From<floods::Trial> for List {
    fn from(it: floods::Trial) -> Self {
        Self {
            site: it.key.site,
            list: it.key.list,
            peak: it.peak,
            now: it.now.into(),
            then: it.then.into(),
        }
    }
}

impl From<floods::Fate> for Fate {
    fn from(it: floods::Fate) -> Self {
        Self {
            strikes: it.strikes,
            events_stopped: it.events_stopped,
            disabled_at: it.disabled_at.map(text),
        }
    }
}
