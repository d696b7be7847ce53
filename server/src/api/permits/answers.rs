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
use super::schemas::Taken;
use super::take::Outcome;
use crate::{
    http::{Problem, not_valid},
    limiter::{
        BlockedBy, Busy, HandedOut, Left, Limiter, NotHandedOut, NotRenewed, Owner, Refused,
    },
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// How many headers an answer has in the end, those of the edge included: the map grows once.
const HEADERS: usize = 14;

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// What came of a request, for whoever asked.
pub(super) struct Answer<'a> {
    pub(super) owner: Owner,
    pub(super) outcomes: &'a [Outcome],
    /// Whether time has passed since the permits were given.
    pub(super) aged: bool,
}

impl Answer<'_> {
    /// To a single call.
    pub(super) fn single(&self) -> Response {
        match self.outcomes.first() {
            Some(Outcome::Taken {
                limiter,
                handed_out,
            }) => {
                let (taken, left) = self.taken(limiter, handed_out);
                with_left(given(&taken), left.as_ref())
            }
            Some(Outcome::Busy { busy, left }) => {
                let mut response = throttled(busy).into_response();
                let seconds = HeaderValue::from(whole_s(wait(busy)));
                response.headers_mut().insert(header::RETRY_AFTER, seconds);
                with_left(response, left.as_ref())
            }
            Some(Outcome::Not(problem)) => problem.clone().into_response(),
            Some(Outcome::Ended(not)) => not_valid(*not),
            None => Problem::not_found().into_response(),
        }
    }

    /// To several calls, in their order.
    pub(super) fn list(&self) -> Response {
        let mut items = Vec::with_capacity(self.outcomes.len());
        for outcome in self.outcomes {
            items.push(match outcome {
                Outcome::Taken {
                    limiter,
                    handed_out,
                } => json!(self.taken(limiter, handed_out).0),
                Outcome::Busy { busy, .. } => throttled(busy).to_json(),
                Outcome::Not(problem) => problem.to_json(),
                Outcome::Ended(not) => return not_valid(*not),
            });
        }
        no_store(Json(items))
    }

    /// The permit, and what is left beside it, as of now.
    fn taken(&self, limiter: &Limiter, handed_out: &HandedOut) -> (Taken, Option<Left>) {
        let HandedOut { id, ttl, left } = *handed_out;
        let (ttl, left) = if self.aged {
            limiter.standing(&self.owner, id).unwrap_or_default()
        } else {
            (ttl, left)
        };
        let taken = Taken {
            id,
            ttl_ms: whole_ms(ttl),
        };
        (taken, left)
    }
}

/// A permit, by itself: what is answered most, without a detour.
fn given(taken: &Taken) -> Response {
    let mut response = Response::new(taken.text().into());
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    response
}

fn no_store(body: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, NO_STORE)], body).into_response()
}

fn with_left(mut response: Response, left: Option<&Left>) -> Response {
    rate_limit::tell(response.headers_mut(), left);
    response
}

/// The call may not go now.
fn throttled(busy: &Busy) -> Problem {
    let (reason, blocked_by) = obstacle(busy.blocked_by);
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "throttled",
        "There is no room for this call now",
    )
    .kind(QUOTA_EXCEEDED)
    .detail(format!("no room: {}", busy.blocked_by))
    .with("retry_after_ms", ms_rounded_up(wait(busy)))
    .with("exact", busy.exact)
    .with("blocked_by", blocked_by)
    .with("reason", reason)
}

/// Calls that run end when they do: to ask for them more often than every 100 ms costs more than it
/// gains.
const GUESS_MIN: Duration = Duration::from_millis(100);

fn wait(busy: &Busy) -> Duration {
    busy.wait.max(if busy.exact {
        Duration::from_millis(1)
    } else {
        GUESS_MIN
    })
}

/// No permit for another reason than that there is no room now.
pub(super) fn not_handed_out(not: &NotHandedOut) -> Problem {
    let (status, code) = match not {
        NotHandedOut::Refused(Refused::Impossible(_)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "impossible")
        }
        NotHandedOut::Refused(Refused::Busy(_)) => (StatusCode::TOO_MANY_REQUESTS, "throttled"),
        NotHandedOut::TooMany
        | NotHandedOut::Full(_)
        | NotHandedOut::Refused(Refused::Capacity | Refused::Full(_)) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_is_written_as_serde_would() {
        let taken = Taken {
            id: "3q2-7wAAAAAAAAAAAAAA_w".parse().unwrap(),
            ttl_ms: 120_000,
        };
        assert_eq!(taken.text(), serde_json::to_string(&taken).unwrap());
    }

    #[test]
    fn a_guess_is_never_short_and_an_exact_wait_is_as_it_is() {
        for (exact, ms, told_ms) in [
            (false, 2, 100),
            (false, 700, 700),
            (true, 2, 2),
            (true, 0, 1),
        ] {
            let busy = Busy {
                wait: Duration::from_millis(ms),
                exact,
                blocked_by: BlockedBy::Queue,
            };
            assert_eq!(wait(&busy), Duration::from_millis(told_ms), "{exact} {ms}");
        }
    }
}
