//! Errors as RFC 9457 `application/problem+json`, with a `code` that stays the same.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

/// What the media type says.
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// When to come back to a server that ends, in seconds: when it has ended at the latest.
const CLOSING_RETRY_AFTER_S: u64 = 10;

/// What `Retry-After` says beside such a problem, in seconds; `None`: nobody knows when it ends.
#[must_use]
pub fn retry_after_s(status: StatusCode, code: &str) -> Option<u64> {
    let closing = status == StatusCode::SERVICE_UNAVAILABLE && code == "closing";
    closing.then_some(CLOSING_RETRY_AFTER_S)
}

/// An error as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    title: &'static str,
    detail: Option<Cow<'static, str>>,
    more: Map<String, Value>,
}

/// An error (RFC 9457). Programs know it by `code`, which stays the same, people by `title`.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[schema(as = Problem, example = json!({
    "type": "about:blank", "title": "A field is not as it should be", "status": 422,
    "code": "bad_field", "detail": "weight must be at least 1"
}))]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
pub struct ProblemDocument {
    /// A URI that names its kind; `about:blank` where the code says it all.
    #[schema(format = "uri")]
    r#type: String,
    /// What it is, in words that are the same each time.
    title: String,
    /// The answer's status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What it is, for programs.
    #[schema(pattern = "^[a-z_]+$")]
    code: String,
    /// What is wrong this time, and what to do.
    detail: Option<String>,
}

impl Problem {
    /// A problem that programs know by `code` and people by `title`.
    pub fn new(status: StatusCode, code: &'static str, title: &'static str) -> Self {
        Self {
            status,
            kind: "about:blank",
            code,
            title,
            detail: None,
            more: Map::new(),
        }
    }

    /// Nothing is at this address.
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "Nothing is at this address",
        )
    }

    /// The address exists, the method does not.
    pub fn method_not_allowed() -> Self {
        let title = "This address does not answer to this method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", title)
    }

    /// Names a problem type other than `about:blank`.
    #[must_use]
    pub fn kind(mut self, uri: &'static str) -> Self {
        self.kind = uri;
        self
    }

    /// Says more about this occurrence. Never put a secret here.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a member of the problem's own.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// The answer's status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What programs know it by.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// As it is written.
    pub fn to_json(&self) -> Value {
        let mut members = self.more.clone();
        members.insert("type".into(), self.kind.into());
        members.insert("title".into(), self.title.into());
        members.insert("status".into(), self.status.as_u16().into());
        members.insert("code".into(), self.code.into());
        if let Some(detail) = &self.detail {
            members.insert("detail".into(), detail.as_ref().into());
        }
        Value::Object(members)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, MEDIA_TYPE),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        let body = self.to_json().to_string();
        let mut response = (self.status, headers, body).into_response();
        if let Some(seconds) = retry_after_s(self.status, self.code) {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_the_members_of_its_rfc_and_its_own() {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "throttled", "Too many")
            .kind("https://iana.org/assignments/http-problem-types#quota-exceeded")
            .with("retry_after_ms", 5);
        let expected = serde_json::json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Too many", "status": 429, "code": "throttled", "retry_after_ms": 5,
        });
        assert_eq!(problem.to_json(), expected);
        let response = problem.into_response();
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "application/problem+json"
        );
    }

    #[test]
    fn who_comes_while_the_server_ends_is_told_when_to_come_back() {
        for (status, code, told) in [
            (StatusCode::SERVICE_UNAVAILABLE, "closing", Some("10")),
            (StatusCode::SERVICE_UNAVAILABLE, "capacity", None),
            (StatusCode::BAD_REQUEST, "bad_path", None),
        ] {
            let response = Problem::new(status, code, "No").into_response();
            let found = response.headers().get(header::RETRY_AFTER);
            assert_eq!(found.map(|it| it.to_str().unwrap()), told, "{code}");
        }
    }
}
