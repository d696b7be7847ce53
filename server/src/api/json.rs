//! JSON bodies: read to their end, bounded, refused with a reason.

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
};
use http::StatusCode;
use serde::de::DeserializeOwned;

use crate::http::Problem;

/// The most bytes of a body, 64 KiB: far more than any request of the API needs.
pub(super) const BODY_BYTES_MAX: usize = 64 * 1024;

/// A request's body as `T`. The routes bound it by [`BODY_BYTES_MAX`].
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(problem(&rejection)),
        }
    }
}

fn problem(rejection: &JsonRejection) -> Problem {
    let (code, title) = match rejection {
        JsonRejection::MissingJsonContentType(_) => (
            "unsupported_media_type",
            "Send the body as application/json",
        ),
        JsonRejection::JsonDataError(_) => ("bad_field", "A field is not as it should be"),
        JsonRejection::JsonSyntaxError(_) => ("bad_json", "The body is no JSON"),
        rejection if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let problem = Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                "The body is too large",
            );
            return problem.detail(format!("at most {BODY_BYTES_MAX} bytes"));
        }
        _ => ("bad_body", "The body cannot be read"),
    };
    Problem::new(rejection.status(), code, title).detail(rejection.body_text())
}
