//! `/api/v1/breakers` and `/api/v1/lanes`: operators force breakers and pause background calls.
//!
//! What is asked is read in [`asked`]. Everything ends by itself, is written down before it
//! is answered, and is logged with its reason.

mod asked;

use std::time::Duration;

use axum::{
    Extension, Json,
    extract::{DefaultBodyLimit, Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use spillway::{Key, Whose};
use spillway_app::live::Breaker;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api,
    json::{BODY_BYTES_MAX, Body},
    named,
};
use crate::{
    access::Caller,
    http::Problem,
    limiter::{Limiter, NotDone, Pause},
};
use asked::{Lasting, Wish};

const FORCED: Lasting = Lasting {
    default: Duration::from_secs(10 * 60),
    max: Duration::from_secs(24 * 3_600),
    max_text: "24 hours",
};

const PAUSED: Lasting = Lasting {
    default: Duration::from_secs(3_600),
    max: Duration::from_secs(31 * 24 * 3_600),
    max_text: "31 days",
};

/// An upstream, and one of its workloads.
type Workload = Result<Path<(String, String)>, PathRejection>;
type Upstream = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Problem>;
type Who = Extension<Caller>;

/// A pause that is in force.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
struct Paused {
    /// `paused`.
    #[schema(pattern = "^paused$")]
    state: String,
    scope: asked::Scope,
    app: Option<String>,
    tenant: Option<String>,
    user: Option<String>,
    /// When it ends by itself, RFC 3339.
    #[schema(format = DateTime)]
    until: String,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(open))
        .routes(routes!(close))
        .routes(routes!(reset))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Stop all calls of a budget
///
/// For ten minutes, or until `until`, at most 24 hours ahead.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/open",
    tag = "steering",
    operation_id = "openBreaker",
    params(
        ("upstream" = String, Path, description = "A name in the configuration", example = "graph"),
        ("workload" = String, Path, description = "One of its workloads; `_global`: what limits all calls of an app together", example = "onenote"),
    ),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor asked us to stop" })),
    responses(
        (status = 200, description = "The breaker as it is now", body = Breaker),
        (status = 400, description = "`bad_json`"),
        (status = 404, description = "`unknown_upstream`, `unknown_workload`, with the names there are; `not_found`: the path is no UTF-8"),
        (status = 413, description = "`too_large`: a body of more than 64 KiB"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: it cannot be written down"),
    )
)]
async fn open(
    State(api): State<Api>,
    Extension(caller): Who,
    workload: Workload,
    Body(wish): Body<Wish>,
) -> Answer {
    force(&api, &caller, workload, &wish, true)
}

/// Let the calls of a budget through, whatever the upstream says
///
/// For ten minutes, or until `until`, at most 24 hours ahead.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/close",
    tag = "steering",
    operation_id = "closeBreaker",
    params(
        ("upstream" = String, Path, description = "A name in the configuration", example = "graph"),
        ("workload" = String, Path, description = "One of its workloads; `_global`: what limits all calls of an app together", example = "onenote"),
    ),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor raised the limit" })),
    responses(
        (status = 200, description = "The breaker as it is now", body = Breaker),
        (status = 400, description = "`bad_json`"),
        (status = 404, description = "`unknown_upstream`, `unknown_workload`, with the names there are; `not_found`: the path is no UTF-8"),
        (status = 413, description = "`too_large`: a body of more than 64 KiB"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: it cannot be written down"),
    )
)]
async fn close(
    State(api): State<Api>,
    Extension(caller): Who,
    workload: Workload,
    Body(wish): Body<Wish>,
) -> Answer {
    force(&api, &caller, workload, &wish, false)
}

fn force(api: &Api, caller: &Caller, workload: Workload, wish: &Wish, open: bool) -> Answer {
    let (limiter, key) = budget(api, caller, workload, wish)?;
    let lasts = wish.lasts(api.limiters.clock().wall_now(), FORCED)?;
    let reason = wish.reason()?;
    let breaker = limiter.force_breaker(&key, open, lasts).map_err(not_done)?;
    let until = breaker.until.as_deref();
    log_breaker(
        limiter,
        &key,
        if open { "open" } else { "closed" },
        until,
        reason,
    );
    Ok(in_force(Json(breaker)))
}

/// Forget what was forced on a budget and what was learnt of it
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/reset",
    tag = "steering",
    operation_id = "resetBreaker",
    params(
        ("upstream" = String, Path, description = "A name in the configuration", example = "graph"),
        ("workload" = String, Path, description = "One of its workloads; `_global`: what limits all calls of an app together", example = "onenote"),
    ),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor is back" })),
    responses(
        (status = 200, description = "The breaker as it is now", body = Breaker),
        (status = 400, description = "`bad_json`"),
        (status = 404, description = "`unknown_upstream`, `unknown_workload`, with the names there are; `not_found`: the path is no UTF-8"),
        (status = 413, description = "`too_large`: a body of more than 64 KiB"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: it cannot be written down"),
    )
)]
async fn reset(
    State(api): State<Api>,
    Extension(caller): Who,
    workload: Workload,
    Body(wish): Body<Wish>,
) -> Answer {
    let (limiter, key) = budget(&api, &caller, workload, &wish)?;
    wish.is_for_now()?;
    let reason = wish.reason()?;
    let breaker = limiter.reset_breaker(&key).map_err(not_done)?;
    log_breaker(limiter, &key, "reset", None, reason);
    Ok(in_force(Json(breaker)))
}

/// Pause background calls
///
/// Of the whole upstream, or of one app, tenant or user; for an hour, or until `until`, at most
/// 31 days ahead.
#[utoipa::path(
    post,
    path = "/api/v1/lanes/{upstream}/background/pause",
    tag = "steering",
    operation_id = "pauseBackground",
    params(("upstream" = String, Path, description = "A name in the configuration", example = "graph")),
    request_body(content = Wish, example = json!({ "scope": "user", "user": "u1", "reason": "runaway export" })),
    responses(
        (status = 200, description = "The pause as it is in force", body = Paused),
        (status = 400, description = "`bad_json`"),
        (status = 404, description = "`unknown_upstream`; `not_found`: the path is no UTF-8"),
        (status = 409, description = "`too_many_pauses`: 1,000 are in force"),
        (status = 413, description = "`too_large`: a body of more than 64 KiB"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: it cannot be written down"),
    )
)]
async fn pause(
    State(api): State<Api>,
    Extension(caller): Who,
    upstream: Upstream,
    Body(wish): Body<Wish>,
) -> Answer {
    let (limiter, whose) = lane(&api, &caller, upstream, &wish)?;
    let lasts = wish.lasts(api.limiters.clock().wall_now(), PAUSED)?;
    let reason = wish.reason()?;
    let pause = limiter.pause(whose, lasts).map_err(not_done)?;
    tracing::info!(
        upstream = limiter.name(),
        whose = ?pause.whose,
        until = %pause.until,
        reason,
        "an operator paused background calls"
    );
    Ok(in_force(Json(shown(&pause))))
}

/// End a pause, named as it began
#[utoipa::path(
    post,
    path = "/api/v1/lanes/{upstream}/background/resume",
    tag = "steering",
    operation_id = "resumeBackground",
    params(("upstream" = String, Path, description = "A name in the configuration", example = "graph")),
    request_body(content = Wish, example = json!({ "scope": "user", "user": "u1", "reason": "fixed" })),
    responses(
        (status = 204, description = "It has ended"),
        (status = 400, description = "`bad_json`"),
        (status = 404, description = "`unknown_upstream`; `not_paused`: no pause of exactly these is in force; `not_found`: the path is no UTF-8"),
        (status = 413, description = "`too_large`: a body of more than 64 KiB"),
        (status = 415, description = "`unsupported_media_type`"),
        (status = 422, description = "`bad_field`"),
        (status = 503, description = "`storage`: it cannot be written down"),
    )
)]
async fn resume(
    State(api): State<Api>,
    Extension(caller): Who,
    upstream: Upstream,
    Body(wish): Body<Wish>,
) -> Answer {
    let (limiter, whose) = lane(&api, &caller, upstream, &wish)?;
    wish.is_for_now()?;
    let reason = wish.reason()?;
    if !limiter.resume(&whose).map_err(not_done)? {
        return Err(not_paused());
    }
    let upstream = limiter.name();
    tracing::info!(
        upstream,
        ?whose,
        reason,
        "an operator resumed background calls"
    );
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn budget<'a>(
    api: &'a Api,
    caller: &Caller,
    workload: Workload,
    wish: &Wish,
) -> Result<(&'a Limiter, Key), Problem> {
    let Path((upstream, workload)) = workload.map_err(|_| Problem::not_found())?;
    caller.may_use(&upstream)?;
    let limiter = named::upstream(api.limiters.all(), &upstream)?;
    let names: Vec<_> = limiter.limited().collect();
    let index = names.iter().position(|name| *name == workload);
    let index = index.ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "unknown_workload",
            "There is no workload of this name",
        )
        .detail(format!("the workloads are: {}", names.join(", ")))
    })?;
    let key = wish.budget(limiter, index)?;
    caller.may_steer(Some(&key.app))?;
    Ok((limiter, key))
}

fn lane<'a>(
    api: &'a Api,
    caller: &Caller,
    upstream: Upstream,
    wish: &Wish,
) -> Result<(&'a Limiter, Whose), Problem> {
    let Path(upstream) = upstream.map_err(|_| Problem::not_found())?;
    caller.may_use(&upstream)?;
    let limiter = named::upstream(api.limiters.all(), &upstream)?;
    let whose = wish.whose(limiter)?;
    caller.may_steer(app_of(&whose))?;
    Ok((limiter, whose))
}

/// Whose app's calls are meant; none: all apps'.
fn app_of(whose: &Whose) -> Option<&str> {
    match whose {
        Whose::Upstream => None,
        Whose::App { app } | Whose::Tenant { app, .. } | Whose::User { app, .. } => Some(app),
    }
}

fn in_force(body: impl IntoResponse) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, body).into_response()
}

/// `{"state":"paused","scope":"user","app":…,"tenant":…,"user":…,"until":…}`
fn shown(pause: &Pause) -> serde_json::Value {
    let mut shown = json!(pause.whose);
    shown["state"] = "paused".into();
    shown["until"] = format!("{:.3}", pause.until).into();
    shown
}

fn log_breaker(limiter: &Limiter, key: &Key, to: &str, until: Option<&str>, reason: &str) {
    tracing::info!(
        upstream = limiter.name(),
        workload = limiter.limited().nth(key.workload),
        scope = %key.scope,
        app = key.app,
        tenant = key.tenant,
        user = key.user,
        to,
        until,
        reason,
        "an operator forced a breaker"
    );
}

fn not_done(not: NotDone) -> Problem {
    let (status, code, title) = match not {
        NotDone::TooMany(_) => (
            StatusCode::CONFLICT,
            "too_many_pauses",
            "As many pauses are in force as may be",
        ),
        NotDone::NoSuchBudget { .. } => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_field",
            "A field is not as it should be",
        ),
        NotDone::Storage => (
            StatusCode::SERVICE_UNAVAILABLE,
            "storage",
            "It cannot be written down",
        ),
    };
    Problem::new(status, code, title).detail(not.to_string())
}

fn not_paused() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "not_paused",
        "There is no such pause",
    )
    .detail(
        "no pause of exactly these is in force; one of a wider scope is resumed under that scope",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_down_is_503() {
        let problem = not_done(NotDone::Storage);
        assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(problem.to_json()["code"], "storage");
    }
}
