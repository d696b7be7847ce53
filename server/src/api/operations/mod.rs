//! `/api/v1/breakers` and `/api/v1/lanes`: operators force breakers and pause background calls.
//!
//! Whom it concerns is read in [`target`], what is wished for in [`asked`]; [`order`] does it. Everything ends by
//! itself, is written down before it is answered, and is audited with its reason.

mod asked;
mod breakers;
mod lanes;
mod order;
mod target;

pub(crate) use asked::{Scope as SteeringScope, Wish};
pub(crate) use order::{Order, Steered};

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use utoipa::IntoResponses;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::Api;
use crate::{http::Problem, limiter::NotDone};

type Answer = Result<Response, Problem>;

/// What any of them may be refused for, beside its body.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
enum Refused {
    /// `storage`: it cannot be written down, and was not done; or, where the title says so, it is in
    /// force and missing in the audit log
    #[response(status = 503)]
    Storage,
}

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(breakers::open))
        .routes(routes!(breakers::close))
        .routes(routes!(breakers::reset))
        .routes(routes!(lanes::pause))
        .routes(routes!(lanes::resume))
}

/// What was in force when it was answered may be no more when it is read again.
fn in_force(body: impl IntoResponse) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, body).into_response()
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
