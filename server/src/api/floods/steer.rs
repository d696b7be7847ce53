//! What people do to lists and sites.

use std::time::Duration;

use axum::{Json, response::IntoResponse as _};
use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    asked::{Asked, OfList, OfSite},
    events::ComponentName,
};
use crate::{
    api::{
        json::{Body, BodyRefused},
        named::{bad_field, reason},
    },
    floods::{NotOperated, Paused, Whose},
    http::Problem,
};

type Answer = Result<axum::response::Response, Problem>;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(31 * 24 * 3_600);

/// Which component is put right.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodEnable)]
pub(super) struct Enable {
    component: ComponentName,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: Option<String>,
}

/// How long it is paused, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodPause)]
pub(super) struct Pause {
    /// When it ends by itself, RFC 3339, at most 31 days ahead.
    #[schema(format = DateTime)]
    until: String,
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Why it is resumed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodResume)]
pub(super) struct Resume {
    /// One line for the history and the audit log.
    #[schema(min_length = 1, max_length = 500)]
    reason: Option<String>,
}

/// A pause in force.
#[derive(Serialize, ToSchema)]
#[schema(as = FloodPaused)]
struct InForce {
    /// When it ends by itself.
    #[schema(format = DateTime)]
    until: String,
}

/// Re-enable a component on a list
///
/// Its running minute starts again, its day's strikes do not: the next strike of that day disables
/// it again.
#[utoipa::path(
    post,
    path = "/api/v1/sites/{site}/lists/{list}/enable",
    tag = "floods",
    operation_id = "enableList",
    params(OfList),
    request_body(content = Enable, example = json!({ "component": "action", "reason": "rule mended" })),
    responses(
        BodyRefused,
        (status = 204, description = "It is enabled"),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 409, description = "`not_disabled`"),
        (status = 503, description = "`capacity`, `storage`: the problem says whether it is in force"),
    )
)]
pub(super) async fn enable(asked: Asked<OfList>, Body(wish): Body<Enable>) -> Answer {
    let key = asked.list()?;
    let by = because(&asked.by, wish.reason.as_deref())?;
    let enabled = asked
        .api
        .floods
        .enable(&key, wish.component.into(), &by)
        .await;
    enabled?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Pause a list
///
/// Its events are neither handled nor counted. A pause in force gets the new end.
#[utoipa::path(
    post,
    path = "/api/v1/sites/{site}/lists/{list}/pause",
    tag = "floods",
    operation_id = "pauseList",
    params(OfList),
    request_body(content = Pause, example = json!({ "until": "2026-12-01T06:00:00Z", "reason": "bulk import" })),
    responses(
        BodyRefused,
        (status = 200, description = "The pause as it is in force", body = InForce),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 503, description = "`capacity`, `storage`: the problem says whether it is in force"),
    )
)]
pub(super) async fn pause_list(asked: Asked<OfList>, Body(wish): Body<Pause>) -> Answer {
    let whose = Whose::List(asked.list()?);
    paused(&asked, &whose, &wish).await
}

/// End a list's pause; its site's goes on
#[utoipa::path(
    post,
    path = "/api/v1/sites/{site}/lists/{list}/resume",
    tag = "floods",
    operation_id = "resumeList",
    params(OfList),
    request_body(content = Resume, example = json!({ "reason": "done" })),
    responses(
        BodyRefused,
        (status = 204, description = "It has ended"),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 409, description = "`not_paused`"),
        (status = 503, description = "`capacity`, `storage`: the problem says whether it is in force"),
    )
)]
pub(super) async fn resume_list(asked: Asked<OfList>, Body(wish): Body<Resume>) -> Answer {
    let whose = Whose::List(asked.list()?);
    resumed(&asked, &whose, &wish).await
}

/// Pause all lists of a site
#[utoipa::path(
    post,
    path = "/api/v1/sites/{site}/pause",
    tag = "floods",
    operation_id = "pauseSite",
    params(OfSite),
    request_body(content = Pause, example = json!({ "until": "2026-12-01T06:00:00Z", "reason": "move" })),
    responses(
        BodyRefused,
        (status = 200, description = "The pause as it is in force", body = InForce),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 503, description = "`capacity`, `storage`: the problem says whether it is in force"),
    )
)]
pub(super) async fn pause_site(asked: Asked<OfSite>, Body(wish): Body<Pause>) -> Answer {
    let whose = Whose::Site(asked.site()?);
    paused(&asked, &whose, &wish).await
}

/// End a site's pause; those of its lists go on
#[utoipa::path(
    post,
    path = "/api/v1/sites/{site}/resume",
    tag = "floods",
    operation_id = "resumeSite",
    params(OfSite),
    request_body(content = Resume, example = json!({ "reason": "done" })),
    responses(
        BodyRefused,
        (status = 204, description = "It has ended"),
        (status = 404, description = "`not_found`: the path is no UTF-8"),
        (status = 409, description = "`not_paused`"),
        (status = 503, description = "`capacity`, `storage`: the problem says whether it is in force"),
    )
)]
pub(super) async fn resume_site(asked: Asked<OfSite>, Body(wish): Body<Resume>) -> Answer {
    let whose = Whose::Site(asked.site()?);
    resumed(&asked, &whose, &wish).await
}

async fn paused<P>(asked: &Asked<P>, whose: &Whose, wish: &Pause) -> Answer {
    let by = asked.by.clone().because(reason(&wish.reason)?);
    let now = asked.api.limiters.clock().wall_now();
    let lasts = lasts(now, &wish.until)?;
    let Paused { until } = asked.api.floods.pause(whose, lasts, &by).await?;
    Ok(Json(InForce {
        until: format!("{until:.3}"),
    })
    .into_response())
}

async fn resumed<P>(asked: &Asked<P>, whose: &Whose, wish: &Resume) -> Answer {
    let by = because(&asked.by, wish.reason.as_deref())?;
    asked.api.floods.resume(whose, &by).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn because(by: &crate::audit::By, why: Option<&str>) -> Result<crate::audit::By, Problem> {
    match why {
        Some(why) => Ok(by.clone().because(reason(why)?)),
        None => Ok(by.clone()),
    }
}

fn lasts(now: Timestamp, until: &str) -> Result<Duration, Problem> {
    let until: Timestamp = until.parse().map_err(|_| {
        bad_field("until must be an instant of RFC 3339, like 2026-12-01T06:00:00Z")
    })?;
    let lasts = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    if lasts.is_zero() {
        return Err(bad_field("until must lie ahead"));
    }
    if lasts > PAUSE_MAX {
        return Err(bad_field("until must be at most 31 days ahead"));
    }
    Ok(lasts)
}

impl From<NotOperated> for Problem {
    fn from(not: NotOperated) -> Self {
        let (status, code, title) = match not {
            NotOperated::NotDisabled => {
                (StatusCode::CONFLICT, "not_disabled", "It is not disabled")
            }
            NotOperated::NotPaused => (StatusCode::CONFLICT, "not_paused", "It is not paused"),
            NotOperated::Full => {
                let title = "No more lists can be counted";
                (StatusCode::SERVICE_UNAVAILABLE, "capacity", title)
            }
            NotOperated::Busy | NotOperated::Unwritten => {
                let title = "The database cannot take it now";
                (StatusCode::SERVICE_UNAVAILABLE, "storage", title)
            }
        };
        Self::new(status, code, title).detail(not.to_string())
    }
}
