//! Errors in the dialects of Graph and OneNote.
//!
//! Codes and shapes: learn.microsoft.com/graph/onenote-error-codes and observed bodies. OneNote
//! sends no `Retry-After` with its 429 (throttling-limits, "OneNote service limits").

use axum::http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};

use super::answer::{Answer, Payload};
use super::call::Call;
use crate::budget::ledger::Refusal;
use crate::clock::date;

pub(super) const JSON: &str = "application/json";

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GraphError {
    status: StatusCode,
    code: &'static str,
    message: String,
    allow: Option<HeaderValue>,
}

impl GraphError {
    /// Nobody says whose call it is.
    pub(super) fn no_token() -> Self {
        Self::new(401, "InvalidAuthenticationToken", "Access token is empty.")
    }

    /// A version other than `v1.0` and `beta`.
    pub(super) fn version(segment: &str) -> Self {
        Self::new(400, "BadRequest", &format!("Invalid version: {segment}"))
    }

    /// A path that names nothing.
    pub(super) fn segment(segment: &str) -> Self {
        let message = format!("Resource not found for the segment '{segment}'.");
        Self::new(400, "BadRequest", &message)
    }

    /// A path that is not percent-encoded UTF-8.
    pub(super) fn encoding() -> Self {
        Self::new(400, "BadRequest", "The request URI is not valid.")
    }

    /// No usable `Host`.
    pub(super) fn host() -> Self {
        Self::new(400, "BadRequest", "Invalid host name.")
    }

    /// What it names has other methods.
    pub(super) fn method(allowed: &[Method]) -> Self {
        let message = "Specified HTTP method is not allowed for the request target.";
        let allowed: Vec<&str> = allowed.iter().map(Method::as_str).collect();
        Self {
            allow: HeaderValue::from_str(&allowed.join(", ")).ok(),
            ..Self::new(405, "Request_BadRequest", message)
        }
    }

    /// A body that is not what the target takes.
    pub(super) fn body() -> Self {
        let message = "The message body contains either incorrectly formatted JSON or fields \
                       that are not supported for this operation.";
        Self::new(400, "20126", message)
    }

    /// A body beyond what the lookalike reads.
    pub(super) fn too_large() -> Self {
        Self::new(413, "20008", "The size of the request is too large.")
    }

    /// A body of another type than the target takes.
    pub(super) fn media_type(wanted: &str) -> Self {
        let message = format!("The Content-Type must be {wanted}.");
        Self::new(415, "20131", &message)
    }

    /// A name that is missing.
    pub(super) fn no_name() -> Self {
        Self::new(
            400,
            "20152",
            "There is no name value specified for the entity.",
        )
    }

    /// A name with characters that none may have.
    pub(super) fn name(forbidden: &str) -> Self {
        let message = format!("The name cannot contain the following characters: {forbidden}");
        Self::new(400, "20153", &message)
    }

    /// A name of too many characters.
    pub(super) fn long_name(chars_max: usize) -> Self {
        let message = format!("The entity name is longer than {chars_max} characters.");
        Self::new(400, "20155", &message)
    }

    /// A name that something has already in the same place.
    pub(super) fn taken() -> Self {
        let message = "An item with this name already exists in this location.";
        Self::new(409, "20117", message)
    }

    /// No changes of a page, or too many.
    pub(super) fn edits(most: usize) -> Self {
        let message = format!("The PATCH request must contain 1 to {most} actions.");
        Self::new(400, "20125", &message)
    }

    /// A change of a page that OneNote or the lookalike does not know.
    pub(super) fn edit() -> Self {
        let message = "Only replacing the title, and appending or prepending to the body, is \
                       supported here.";
        Self::new(400, "20133", message)
    }

    /// More than the lookalike keeps.
    pub(super) fn full() -> Self {
        let message = "Exceeded the maximum number of pages allowed per section.";
        Self::new(507, "30102", message)
    }

    /// OneNote does not know the id.
    pub(super) fn not_found() -> Self {
        Self::new(404, "20102", "The specified resource ID does not exist.")
    }

    /// `$top` beyond 100.
    pub(super) fn top() -> Self {
        let message = "The maximum value for the 'top' query parameter is 100.";
        Self::new(400, "20129", message)
    }

    /// A query option that is malformed or that the lookalike does not have.
    pub(super) fn query(message: &str) -> Self {
        Self::new(400, "10017", message)
    }

    /// A batch that is none.
    pub(super) fn batch_format() -> Self {
        Self::new(400, "BadRequest", "Invalid batch payload format.")
    }

    /// A batch of too many parts.
    pub(super) fn batch_too_long(parts_max: usize) -> Self {
        let message =
            format!("Number of batch request steps exceeds the maximum value of {parts_max}.");
        Self::new(400, "MaximumValueExceeded", &message)
    }

    /// Two parts of one id.
    pub(super) fn batch_doubled_id(id: &str) -> Self {
        let message = format!("Request Id {id} has to be unique in a batch.");
        Self::new(400, "BadRequest", &message)
    }

    /// A part that is wrong.
    pub(super) fn batch_part(message: &str) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The process is stopping.
    pub(super) fn stopping() -> Self {
        Self::new(503, "10002", "The service is not currently available.")
    }

    /// As an answer to this call.
    pub(super) fn answer(&self, call: &Call) -> Answer {
        let body = body(self.code, &self.message, call).to_string();
        let allow = self.allow.clone().map(|value| (header::ALLOW, value));
        Answer {
            status: self.status,
            content_type: JSON,
            payload: Payload::Bytes(body.into()),
            headers: allow.into_iter().collect(),
        }
    }

    fn new(status: u16, code: &'static str, message: &str) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            status,
            code,
            message: message.to_owned(),
            allow: None,
        }
    }
}

impl From<Refusal> for GraphError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Limit(_) => Self::new(429, THROTTLED.0, THROTTLED.1),
            Refusal::Capacity => Self::new(
                503,
                "10007",
                "The server is too busy to handle the request.",
            ),
        }
    }
}

const THROTTLED: (&str, &str) = (
    "20166",
    "The app has issued too many requests on behalf of this user in a short time period.",
);

/// The code and message that usually come with a status.
pub(super) fn usual(status: StatusCode) -> (&'static str, &'static str) {
    match status.as_u16() {
        429 => THROTTLED,
        500 => (
            "10001",
            "An unexpected error occurred and the request failed.",
        ),
        502 | 503 => ("10002", "The service is not currently available."),
        504 => ("UnknownError", ""),
        _ => (
            "19999",
            "The request failed because an undetermined error occurred.",
        ),
    }
}

/// An error's JSON as OneNote and Graph write it.
pub(super) fn body(code: &str, message: &str, call: &Call) -> Value {
    json!({"error": {
        "code": code,
        "message": message,
        "innerError": {
            "date": date(call.wall_seconds),
            "request-id": call.request_id,
            "client-request-id": call.client_request_id,
        },
    }})
}

/// The same without its envelope, as some answers have been seen.
pub(super) fn root_body(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}
