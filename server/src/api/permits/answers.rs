//! What the permit API answers: the one place where its outcomes become statuses.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use spillway::Dimension;

use super::rate_limit::{self, whole_s};
use crate::{
    http::Problem,
    limiter::{BlockedBy, Busy, HandedOut, Left, NotHandedOut, NotRenewed, Refused},
};

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The permit was handed out.
pub(super) fn taken(handed_out: &HandedOut) -> Response {
    let id = handed_out.id.to_string();
    let body = json!({ "id": id, "ttl_ms": whole_ms(handed_out.ttl) });
    let mut response = Json(body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    rate_limit::tell(headers, handed_out.left.as_ref());
    response
}

/// The call may not go now.
pub(super) fn busy(busy: &Busy, left: Option<&Left>) -> Response {
    let (reason, blocked_by) = obstacle(busy.blocked_by);
    let wait = busy.wait.max(Duration::from_millis(1));
    let problem = Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "throttled",
        "There is no room for this call now",
    )
    .kind(QUOTA_EXCEEDED)
    .detail(format!("no room: {}", busy.blocked_by))
    .with("retry_after_ms", ms_rounded_up(wait))
    .with("exact", busy.exact)
    .with("blocked_by", blocked_by)
    .with("reason", reason);
    let mut response = problem.into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_s(wait)));
    rate_limit::tell(headers, left);
    response
}

/// No permit for another reason than that there is no room now.
pub(super) fn not_handed_out(not: &NotHandedOut) -> Problem {
    let (status, code) = match not {
        NotHandedOut::Refused(Refused::Impossible(_)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "impossible")
        }
        NotHandedOut::Refused(Refused::Busy(_)) => (StatusCode::TOO_MANY_REQUESTS, "throttled"),
        NotHandedOut::TooMany | NotHandedOut::Refused(Refused::Capacity) => {
            (StatusCode::SERVICE_UNAVAILABLE, "capacity")
        }
        NotHandedOut::Refused(Refused::Storage) => (StatusCode::SERVICE_UNAVAILABLE, "storage"),
        NotHandedOut::Refused(Refused::Closing) => (StatusCode::SERVICE_UNAVAILABLE, "closing"),
    };
    Problem::new(status, code, "No permit was given").detail(not.to_string())
}

/// A permit lasts no longer.
pub(super) fn not_renewed(not: NotRenewed) -> Problem {
    let (status, code) = match not {
        NotRenewed::Ended => (StatusCode::GONE, "ended"),
        NotRenewed::TooLong => (StatusCode::CONFLICT, "not_renewable"),
    };
    Problem::new(status, code, "The permit cannot be renewed").detail(not.to_string())
}

/// The caller holds no such permit.
pub(super) fn unknown() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "unknown_permit",
        "You hold no such permit",
    )
}

/// Rounded down: a permit is not counted on for longer than it lasts.
pub(super) fn whole_ms(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}

fn ms_rounded_up(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The reason, and where it lies. A queue is its app's.
fn obstacle(blocked_by: BlockedBy) -> (&'static str, Value) {
    match blocked_by {
        BlockedBy::Layer {
            scope,
            dimension: Dimension::Rate { window_ms },
        } => (
            "limit",
            json!({ "scope": scope, "dimension": "rate", "window_ms": window_ms }),
        ),
        BlockedBy::Layer {
            scope,
            dimension: Dimension::Concurrency,
        } => (
            "limit",
            json!({ "scope": scope, "dimension": "concurrency" }),
        ),
        BlockedBy::Breaker { scope } => ("breaker", json!({ "scope": scope })),
        BlockedBy::Soft { scope } => ("soft", json!({ "scope": scope })),
        BlockedBy::Paused => ("paused", json!({ "lane": "background" })),
        BlockedBy::Queue => ("queue", json!({ "scope": "app" })),
    }
}
