//! Lanes: background calls paused and resumed.

use std::time::Duration;

use axum::{Json, response::IntoResponse as _};
use http::StatusCode;
use serde_json::json;
use spillway::Whose;
use utoipa::ToSchema;

use super::super::json::BodyRefused;
use super::asked::{Lasting, Scope, Wish};
use super::order::{Done, Order, Steered, Steering};
use super::target::{Asked, OfUpstream};
use super::{Answer, Refused, in_force, not_done};
use crate::{
    audit::action,
    http::Problem,
    limiter::{Limiter, Pause},
};

const PAUSED: Lasting = Lasting {
    default: Duration::from_secs(3_600),
    max: Duration::from_secs(31 * 24 * 3_600),
    max_text: "31 days",
};

/// A pause that is in force.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
struct Paused {
    /// `paused`.
    #[schema(pattern = "^paused$")]
    state: String,
    scope: Scope,
    app: Option<String>,
    tenant: Option<String>,
    user: Option<String>,
    /// When it ends by itself, RFC 3339.
    #[schema(format = DateTime)]
    until: String,
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
    params(OfUpstream),
    request_body(content = Wish, example = json!({ "scope": "user", "user": "u1", "reason": "runaway export" })),
    responses(
        BodyRefused,
        Refused,
        (status = 200, description = "The pause as it is in force", body = Paused),
        (status = 404, description = "`unknown_upstream`; `not_found`: the path is no UTF-8"),
        (status = 409, description = "`too_many_pauses`: 1,000 are in force"),
    )
)]
pub(super) async fn pause(asked: Asked<OfUpstream>) -> Answer {
    let pause = asked.order.pause().await?.now;
    Ok(in_force(Json(pause.as_ref().map(shown))))
}

/// End a pause, named as it began
#[utoipa::path(
    post,
    path = "/api/v1/lanes/{upstream}/background/resume",
    tag = "steering",
    operation_id = "resumeBackground",
    params(OfUpstream),
    request_body(content = Wish, example = json!({ "scope": "user", "user": "u1", "reason": "fixed" })),
    responses(
        BodyRefused,
        Refused,
        (status = 204, description = "It has ended"),
        (status = 404, description = "`unknown_upstream`; `not_paused`: no pause of exactly these is in force; `not_found`: the path is no UTF-8"),
    )
)]
pub(super) async fn resume(asked: Asked<OfUpstream>) -> Answer {
    asked.order.resume().await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl Order {
    /// The pause of exactly these, if one is in force.
    ///
    /// # Errors
    /// See [`Order::lane`].
    pub(crate) fn background(&self) -> Result<Option<Pause>, Problem> {
        let (limiter, whose) = self.lane()?;
        Ok(in_force_on(limiter, &whose))
    }

    /// Pauses background calls.
    ///
    /// # Errors
    /// What is asked for cannot be, or cannot be written down.
    pub(crate) async fn pause(&self) -> Result<Steered<Option<Pause>>, Problem> {
        let (limiter, whose) = self.lane()?;
        let now = self.api.limiters.clock().wall_now();
        let lasts = self.wish.lasts(now, PAUSED)?;
        let steering = Steering {
            action: action::LANE_PAUSE,
            subject: subject(limiter),
            reason: self.wish.reason()?,
        };
        let note = self.note()?;
        let paused = self.steer(steering, || {
            let was = in_force_on(limiter, &whose);
            let pause = limiter.pause(whose, lasts, &note).map_err(not_done)?;
            Ok(Done {
                was: was.as_ref().map(shown),
                became: Some(shown(&pause)),
                answer: Steered {
                    was,
                    now: Some(pause),
                },
            })
        });
        paused.await
    }

    /// Ends the pause of exactly these.
    ///
    /// # Errors
    /// There is none, or that cannot be written down.
    pub(crate) async fn resume(&self) -> Result<Steered<Option<Pause>>, Problem> {
        let (limiter, whose) = self.lane()?;
        self.wish.is_for_now()?;
        let steering = Steering {
            action: action::LANE_RESUME,
            subject: subject(limiter),
            reason: self.wish.reason()?,
        };
        let resumed = self.steer(steering, || {
            let was = in_force_on(limiter, &whose);
            if !limiter.resume(&whose).map_err(not_done)? {
                return Err(not_paused());
            }
            Ok(Done {
                was: was.as_ref().map(shown),
                became: None,
                answer: Steered { was, now: None },
            })
        });
        resumed.await
    }
}

fn subject(limiter: &Limiter) -> String {
    format!("lane:{}/background", limiter.name())
}

/// The pause of exactly these.
fn in_force_on(limiter: &Limiter, whose: &Whose) -> Option<Pause> {
    let mut pauses = limiter.pauses().into_iter();
    pauses.find(|pause| pause.whose == *whose)
}

/// `{"state":"paused","scope":"user","app":…,"tenant":…,"user":…,"until":…}`
fn shown(pause: &Pause) -> serde_json::Value {
    let mut shown = json!(pause.whose);
    shown["state"] = "paused".into();
    shown["until"] = format!("{:.3}", pause.until).into();
    shown
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
