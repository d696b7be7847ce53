//! Errors in the dialects of Graph and OneNote.
//!
//! Codes and shapes: learn.microsoft.com/graph/onenote-error-codes and observed bodies. OneNote
//! sends no `Retry-After` with its 429 (throttling-limits, "OneNote service limits").

use axum::http::{HeaderValue, StatusCode, header};
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

    /// Only reads are offered.
    pub(super) fn method() -> Self {
        let message = "Specified HTTP method is not allowed for the request target.";
        Self::new(405, "Request_BadRequest", message)
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

    /// The process is stopping.
    pub(super) fn stopping() -> Self {
        Self::new(503, "10002", "The service is not currently available.")
    }

    /// As an answer to this call.
    pub(super) fn answer(&self, call: &Call) -> Answer {
        let body = body(self.code, &self.message, call).to_string();
        let allow = (self.status == StatusCode::METHOD_NOT_ALLOWED)
            .then(|| (header::ALLOW, HeaderValue::from_static("GET")));
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
