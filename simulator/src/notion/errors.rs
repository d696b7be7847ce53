//! Errors as Notion writes them.
//!
//! Codes and messages: developers.notion.com/reference/status-codes and observed bodies.

use std::time::Duration;

use serde_json::{Value, json};

use super::id::Id;

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) status: u16,
    code: &'static str,
    message: String,
    reason: Option<&'static str>,
    /// How long to wait, which is told in whole seconds.
    pub(super) wait: Option<Duration>,
}

impl Error {
    /// Nobody says which connection it is.
    pub(super) fn no_token() -> Self {
        Self::new(401, "unauthorized", "API token is invalid.")
    }

    /// The connection's rate is spent.
    pub(super) fn rate_limited(wait: Duration) -> Self {
        let message = "You have been rate limited. Please try again in a few minutes.";
        Self {
            reason: Some("public_api_request_rate_limit"),
            wait: Some(wait),
            ..Self::new(429, "rate_limited", message)
        }
    }

    /// The lookalike cannot keep count of any more connections.
    pub(super) fn overloaded() -> Self {
        let message = "Notion is unavailable, please try again later.";
        Self::new(529, "service_overload", message)
    }

    /// The process is stopping.
    pub(super) fn stopping() -> Self {
        let message = "Notion is unavailable, please try again later.";
        Self::new(503, "service_unavailable", message)
    }

    pub(super) fn missing_version() -> Self {
        let message = "Notion-Version header failed validation: Notion-Version header should be \
                       defined, instead was `undefined`.";
        Self::new(400, "missing_version", message)
    }

    pub(super) fn unknown_version(given: &str) -> Self {
        Self::invalid(&format!(
            "Notion-Version header failed validation: Notion-Version header should be \
             `\"2022-06-28\"`, `\"2025-09-03\"` or `\"2026-03-11\"`, instead was `{}`.",
            shown(given)
        ))
    }

    /// A method or a path that names nothing.
    pub(super) fn url() -> Self {
        Self::new(400, "invalid_request_url", "Invalid request URL.")
    }

    /// A part of a path that is not an id.
    pub(super) fn not_an_id(given: &str) -> Self {
        Self::invalid(&format!(
            "path failed validation: path id should be a valid uuid, instead was `\"{}\"`.",
            shown(given)
        ))
    }

    /// A body that is no JSON object.
    pub(super) fn invalid_json() -> Self {
        Self::new(400, "invalid_json", "Error parsing JSON body.")
    }

    /// A body beyond 500 KB.
    pub(super) fn too_large() -> Self {
        Self::invalid("body failed validation: body should be at most 500 KB.")
    }

    /// A part of the body that is not as it should be: `at` names it, and `what` goes on with
    /// "should be …".
    pub(super) fn body(at: &str, what: &str) -> Self {
        Self::invalid(&format!("body failed validation: {at} {what}."))
    }

    /// More of something than one request may hold.
    pub(super) fn length(at: &str, most: usize, length: usize) -> Self {
        let what = format!("should be ≤ `{most}`, instead was `{length}`");
        Self::body(&format!("{at}.length"), &what)
    }

    /// A value that a request cannot have.
    pub(super) fn invalid(message: &str) -> Self {
        Self::new(400, "validation_error", message)
    }

    /// No page or block of that id.
    pub(super) fn not_found(kind: &str, id: Id) -> Self {
        let message = format!(
            "Could not find {kind} with ID: {id}. Make sure the relevant pages and databases are \
             shared with your integration."
        );
        Self::new(404, "object_not_found", &message)
    }

    /// A change of something that is in the trash.
    pub(super) fn in_trash(kind: &str) -> Self {
        Self::invalid(&format!(
            "Can't edit {kind} that is archived. You must unarchive the {kind} before editing."
        ))
    }

    /// The lookalike keeps no more.
    pub(super) fn full() -> Self {
        let message = "This workspace has reached its block limit.";
        Self::new(400, "validation_error", message)
    }

    /// As its body.
    pub(super) fn json(&self, request_id: &str) -> Value {
        let mut body = json!({
            "object": "error",
            "status": self.status,
            "code": self.code,
            "message": self.message,
            "request_id": request_id,
        });
        if let Some(reason) = self.reason {
            body["additional_data"] = json!({ "rate_limit_reason": reason });
        }
        body
    }

    fn new(status: u16, code: &'static str, message: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
            reason: None,
            wait: None,
        }
    }
}

/// The error that usually comes with a status.
pub(super) fn usual(status: u16) -> Error {
    let (code, message) = match status {
        401 => ("unauthorized", "API token is invalid."),
        403 => (
            "restricted_resource",
            "Insufficient permissions for this endpoint.",
        ),
        404 => ("object_not_found", "Could not find it."),
        409 => (
            "conflict_error",
            "Conflict occurred while saving. Please try again.",
        ),
        429 => {
            return Error {
                wait: None,
                ..Error::rate_limited(Duration::ZERO)
            };
        }
        503 => (
            "service_unavailable",
            "Notion is unavailable, please try again later.",
        ),
        504 => (
            "gateway_timeout",
            "Notion timed out while processing this request.",
        ),
        529 => (
            "service_overload",
            "Notion is unavailable, please try again later.",
        ),
        400..=499 => ("validation_error", "The request is invalid."),
        _ => ("internal_server_error", "Unexpected error occurred."),
    };
    Error::new(status, code, message)
}

/// As much of what a caller sent as an answer repeats.
fn shown(given: &str) -> String {
    given.chars().take(100).collect()
}
