//! Breakers: forced open, forced closed, reset.

use std::time::Duration;

use axum::Json;
use serde_json::{Value, json};
use spillway::Key;
use spillway_app::live::Breaker;
use utoipa::IntoResponses;

use super::super::json::BodyRefused;
use super::asked::{Lasting, Wish};
use super::target::{Asked, OfWorkload, Steered, Steering};
use super::{Answer, Refused, in_force, not_done};
use crate::{
    audit::action,
    limiter::{Limiter, NotDone},
};

const FORCED: Lasting = Lasting {
    default: Duration::from_secs(10 * 60),
    max: Duration::from_secs(24 * 3_600),
    max_text: "24 hours",
};

/// What all three answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum Forced {
    /// The breaker as it is now
    #[response(status = 200)]
    Now(Breaker),
    /// `unknown_upstream`, `unknown_workload`, with the names there are; `not_found`: the path is no UTF-8
    #[response(status = 404)]
    Unknown,
}

/// Stop all calls of a budget
///
/// For ten minutes, or until `until`, at most 24 hours ahead.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/open",
    tag = "steering",
    operation_id = "openBreaker",
    params(OfWorkload),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor asked us to stop" })),
    responses(BodyRefused, Refused, Forced)
)]
pub(super) async fn open(asked: Asked<OfWorkload>) -> Answer {
    force(&asked, true).await
}

/// Let the calls of a budget through, whatever the upstream says
///
/// For ten minutes, or until `until`, at most 24 hours ahead.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/close",
    tag = "steering",
    operation_id = "closeBreaker",
    params(OfWorkload),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor raised the limit" })),
    responses(BodyRefused, Refused, Forced)
)]
pub(super) async fn close(asked: Asked<OfWorkload>) -> Answer {
    force(&asked, false).await
}

/// Forget what was forced on a budget and what was learnt of it
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{upstream}/{workload}/reset",
    tag = "steering",
    operation_id = "resetBreaker",
    params(OfWorkload),
    request_body(content = Wish, example = json!({ "scope": "app", "reason": "the vendor is back" })),
    responses(BodyRefused, Refused, Forced)
)]
pub(super) async fn reset(asked: Asked<OfWorkload>) -> Answer {
    let (limiter, key) = asked.budget()?;
    asked.wish.is_for_now()?;
    steer(&asked, limiter, &key, action::BREAKER_RESET, || {
        limiter.reset_breaker(&key)
    })
    .await
}

async fn force(asked: &Asked<OfWorkload>, open: bool) -> Answer {
    let (limiter, key) = asked.budget()?;
    let now = asked.api.limiters.clock().wall_now();
    let lasts = asked.wish.lasts(now, FORCED)?;
    let action = if open {
        action::BREAKER_OPEN
    } else {
        action::BREAKER_CLOSE
    };
    let note = asked.note()?;
    steer(asked, limiter, &key, action, || {
        limiter.force_breaker(&key, open, lasts, &note)
    })
    .await
}

async fn steer(
    asked: &Asked<OfWorkload>,
    limiter: &Limiter,
    key: &Key,
    action: &'static str,
    act: impl FnOnce() -> Result<Breaker, NotDone>,
) -> Answer {
    let workload = limiter.limited().nth(key.workload).unwrap_or_default();
    let steering = Steering {
        action,
        subject: format!("breaker:{}/{workload}", limiter.name()),
        reason: asked.wish.reason()?,
    };
    let breaker = asked.steer(steering, || {
        let was = limiter.breaker(key);
        let breaker = act().map_err(not_done)?;
        Ok(Steered {
            was: Some(shown(key, &was)),
            became: Some(shown(key, &breaker)),
            answer: breaker,
        })
    });
    Ok(in_force(Json(breaker.await?)))
}

/// Whose breaker, and how it is.
fn shown(key: &Key, breaker: &Breaker) -> Value {
    json!({
        "scope": key.scope,
        "app": key.app,
        "tenant": key.tenant,
        "user": key.user,
        "breaker": breaker,
    })
}
