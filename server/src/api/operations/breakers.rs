//! Breakers: forced open, forced closed, reset.

use std::time::Duration;

use axum::Json;
use serde_json::{Value, json};
use spillway::Key;
use spillway_app::live::Breaker;
use utoipa::IntoResponses;

use super::super::json::BodyRefused;
use super::asked::{Lasting, Wish};
use super::order::{Done, Order, Steered, Steering};
use super::target::{Asked, OfWorkload};
use super::{Answer, Refused, in_force, not_done};
use crate::{
    audit::action,
    http::Problem,
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
    forced(asked.order.force(true).await?)
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
    forced(asked.order.force(false).await?)
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
    forced(asked.order.reset().await?)
}

fn forced(steered: Steered<Breaker>) -> Answer {
    Ok(in_force(Json(steered.now)))
}

impl Order {
    /// The breaker as it is now.
    ///
    /// # Errors
    /// See [`Order::budget`].
    pub(crate) fn breaker(&self) -> Result<Breaker, Problem> {
        let (limiter, key) = self.budget()?;
        Ok(limiter.breaker(&key))
    }

    /// Forces the breaker open or closed.
    ///
    /// # Errors
    /// What is asked for cannot be, or cannot be written down.
    pub(crate) async fn force(&self, open: bool) -> Result<Steered<Breaker>, Problem> {
        let (limiter, key) = self.budget()?;
        let now = self.api.limiters.clock().wall_now();
        let lasts = self.wish.lasts(now, FORCED)?;
        let action = if open {
            action::BREAKER_OPEN
        } else {
            action::BREAKER_CLOSE
        };
        let note = self.note()?;
        self.change(limiter, &key, action, || {
            limiter.force_breaker(&key, open, lasts, &note)
        })
        .await
    }

    /// Ends what the breaker was forced to, and forgets what it has learnt.
    ///
    /// # Errors
    /// That cannot be, or cannot be written down.
    pub(crate) async fn reset(&self) -> Result<Steered<Breaker>, Problem> {
        let (limiter, key) = self.budget()?;
        self.wish.is_for_now()?;
        self.change(limiter, &key, action::BREAKER_RESET, || {
            limiter.reset_breaker(&key)
        })
        .await
    }

    async fn change(
        &self,
        limiter: &Limiter,
        key: &Key,
        action: &'static str,
        act: impl FnOnce() -> Result<Breaker, NotDone>,
    ) -> Result<Steered<Breaker>, Problem> {
        let workload = limiter.limited().nth(key.workload).unwrap_or_default();
        let steering = Steering {
            action,
            subject: format!("breaker:{}/{workload}", limiter.name()),
            reason: self.wish.reason()?,
        };
        let done = self.steer(steering, || {
            let was = limiter.breaker(key);
            let now = act().map_err(not_done)?;
            Ok(Done {
                was: Some(shown(key, &was)),
                became: Some(shown(key, &now)),
                answer: Steered { was, now },
            })
        });
        done.await
    }
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
