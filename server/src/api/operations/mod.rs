//! `/api/v1/breakers` and `/api/v1/lanes`: operators force breakers and pause background calls.
//!
//! What is asked is read in [`asked`]. Everything ends by itself, is written down before it
//! is answered, and is logged with its reason.

mod asked;

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
    routing::post,
};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use spillway::{Key, Whose};

use super::{
    Api,
    json::{BODY_BYTES_MAX, Body},
    named,
};
use crate::{
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
type Wished = Result<Body<Wish>, Problem>;
type Answer = Result<Response, Problem>;

pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/api/v1/breakers/{upstream}/{workload}/open", post(open))
        .route("/api/v1/breakers/{upstream}/{workload}/close", post(close))
        .route("/api/v1/breakers/{upstream}/{workload}/reset", post(reset))
        .route("/api/v1/lanes/{upstream}/background/pause", post(pause))
        .route("/api/v1/lanes/{upstream}/background/resume", post(resume))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

async fn open(State(api): State<Api>, workload: Workload, wish: Wished) -> Answer {
    force(&api, workload, wish, true)
}

async fn close(State(api): State<Api>, workload: Workload, wish: Wished) -> Answer {
    force(&api, workload, wish, false)
}

fn force(api: &Api, workload: Workload, wish: Wished, open: bool) -> Answer {
    let Body(wish) = wish?;
    let (limiter, key) = budget(api, workload, &wish)?;
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

async fn reset(State(api): State<Api>, workload: Workload, wish: Wished) -> Answer {
    let Body(wish) = wish?;
    let (limiter, key) = budget(&api, workload, &wish)?;
    wish.is_for_now()?;
    let reason = wish.reason()?;
    let breaker = limiter.reset_breaker(&key).map_err(not_done)?;
    log_breaker(limiter, &key, "reset", None, reason);
    Ok(in_force(Json(breaker)))
}

async fn pause(State(api): State<Api>, upstream: Upstream, wish: Wished) -> Answer {
    let Body(wish) = wish?;
    let (limiter, whose) = lane(&api, upstream, &wish)?;
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

async fn resume(State(api): State<Api>, upstream: Upstream, wish: Wished) -> Answer {
    let Body(wish) = wish?;
    let (limiter, whose) = lane(&api, upstream, &wish)?;
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
    workload: Workload,
    wish: &Wish,
) -> Result<(&'a Limiter, Key), Problem> {
    let Path((upstream, workload)) = workload.map_err(|_| Problem::not_found())?;
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
    Ok((limiter, wish.budget(limiter, index)?))
}

fn lane<'a>(
    api: &'a Api,
    upstream: Upstream,
    wish: &Wish,
) -> Result<(&'a Limiter, Whose), Problem> {
    let Path(upstream) = upstream.map_err(|_| Problem::not_found())?;
    let limiter = named::upstream(api.limiters.all(), &upstream)?;
    Ok((limiter, wish.whose(limiter)?))
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
