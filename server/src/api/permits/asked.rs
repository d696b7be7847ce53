//! What callers ask, checked.

use std::{collections::BTreeMap, time::Duration};

use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use spillway::{Lane, Signal, signal};
use utoipa::ToSchema;

use super::super::json::{object, parse};
use super::super::named::{bad_field, key, plain, upstream};
use crate::{
    access::Caller,
    http::Problem,
    limiter::{Ask, Call, Limiter, WorkloadIndex},
};

/// What an answer's header begins with, in lower case, if it can speak of limits.
const THROTTLE_HEADERS: [&str; 5] = [
    "retry-after",
    "ratelimit",
    "x-ms-resource-unit",
    "x-ms-retry-after",
    "x-ms-throttle-",
];

/// The most calls in one request.
pub(super) const ITEMS_MAX: usize = 100;

/// What one request asks for.
#[derive(Debug)]
pub(super) enum Wants {
    /// A call.
    One(Wanted),
    /// A list of calls, those that cannot be read included.
    Many(Vec<Result<Wanted, Problem>>),
}

/// A call that wants to go upstream.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// A name in the configuration.
    upstream: String,
    /// One of the upstream's; left out: the only one.
    workload: Option<String>,
    /// Whose budget, as the gateway reads it: 1 to 256 bytes without control characters.
    #[schema(min_length = 1, max_length = 256)]
    user: String,
    /// Likewise, or none.
    #[serde(default)]
    #[schema(max_length = 256)]
    tenant: String,
    /// Likewise; left out: the configured one.
    #[schema(min_length = 1, max_length = 256)]
    app: Option<String>,
    /// Who waits; left out: `foreground`.
    #[schema(value_type = Option<spillway_app::live::LaneName>)]
    lane: Option<Lane>,
    /// What the call costs in rate layers; left out: 1.
    #[schema(minimum = 1, maximum = 4_294_967_295_u64)]
    weight: Option<u32>,
    /// How long the caller bears to wait, in milliseconds, at most the upstream's `hold_max_ms`.
    #[serde(default)]
    wait_ms: u64,
}

impl Wants {
    /// Reads a call, or a list of calls.
    ///
    /// # Errors
    /// It is neither, or the list is too long. What is wrong with an item stands in its place.
    pub(super) fn read(text: &[u8]) -> Result<Self, Problem> {
        if text.trim_ascii_start().first() != Some(&b'[') {
            return object(text).map(Self::One);
        }
        let items: Vec<&RawValue> = parse(text)?;
        if items.len() > ITEMS_MAX {
            return Err(too_many(items.len()));
        }
        let items = items.into_iter().map(|item| object(item.get().as_bytes()));
        Ok(Self::Many(items.collect()))
    }

    /// How many calls they are.
    pub(super) fn calls(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(items) => items.len(),
        }
    }

    /// Whether they came as a list.
    pub(super) fn are_many(&self) -> bool {
        matches!(self, Self::Many(_))
    }
}

fn too_many(items: usize) -> Problem {
    let title = "The list is too long";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_items", title).detail(format!(
        "at most {ITEMS_MAX} calls at once, and these are {items}"
    ))
}

impl Wanted {
    /// Whom to ask, for what, and how long it may take, wall time.
    pub(super) fn check<'a>(
        self,
        limiters: &'a [Limiter],
        caller: &Caller,
    ) -> Result<(&'a Limiter, Ask, Duration), Problem> {
        caller.may_use(&self.upstream)?;
        let limiter = upstream(limiters, &self.upstream)?;
        let app = caller.app(self.app.as_deref(), "", limiter.app())?;
        let hold = limiter.hold_max().min(Duration::from_millis(self.wait_ms));
        let ask = Ask {
            call: Call {
                workload: workload(limiter, self.workload.as_deref())?,
                app: key("app", app)?,
                tenant: plain("tenant", self.tenant)?,
                user: key("user", self.user)?,
                lane: self.lane.unwrap_or_else(|| caller.lane()),
                weight: weight(self.weight)?,
            },
            account: caller.account().cloned(),
        };
        Ok((limiter, ask, hold))
    }
}

/// What the upstream answered.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Completed {
    /// A final HTTP status.
    #[schema(minimum = 200, maximum = 599)]
    status: u16,
    /// Of these only what speaks of limits is looked at. Leave secrets out.
    #[serde(default)]
    headers: BTreeMap<String, Values>,
}

/// A header's value, or several of one name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "a header's value must be a text or a list of texts"
)]
enum Values {
    One(String),
    Several(Vec<String>),
}

impl Completed {
    /// The answer's status.
    pub(super) fn status(&self) -> Option<StatusCode> {
        StatusCode::from_u16(self.status).ok()
    }

    /// What the answer, which came just before `now`, says of limits. Headers that cannot
    /// speak of limits are not looked at.
    pub(super) fn signal(&self, now: jiff::Timestamp) -> Result<Signal, Problem> {
        if !(200..=599).contains(&self.status) {
            return Err(bad_field(
                "status must be a final HTTP status, from 200 to 599",
            ));
        }
        let speaking = self
            .headers
            .iter()
            .filter(|(name, _)| speaks_of_limits(name));
        let headers: Vec<_> = speaking
            .flat_map(|(name, values)| values.iter().map(|value| (name.as_str(), value.as_bytes())))
            .collect();
        Ok(signal::read(&signal::Answer {
            status: self.status,
            headers: &headers,
            body: &[],
            unix_ms: u64::try_from(now.as_millisecond()).unwrap_or(0),
        }))
    }
}

impl Values {
    fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(value) => std::slice::from_ref(value).iter(),
            Self::Several(values) => values.iter(),
        }
    }
}

fn speaks_of_limits(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    THROTTLE_HEADERS
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn workload(limiter: &Limiter, name: Option<&str>) -> Result<WorkloadIndex, Problem> {
    let mut names = limiter.workloads();
    let (code, title) = match name {
        Some(name) => match names.position(|known| known == name) {
            Some(index) => return Ok(index),
            None => ("unknown_workload", "There is no workload of this name"),
        },
        None if names.nth(1).is_none() => return Ok(0),
        None => ("workload_missing", "Name one of the upstream's workloads"),
    };
    let names: Vec<_> = limiter.workloads().collect();
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, title)
        .detail(format!("the workloads are: {}", names.join(", "))))
}

fn weight(weight: Option<u32>) -> Result<u32, Problem> {
    match weight {
        Some(0) => Err(bad_field("weight must be at least 1")),
        Some(weight) => Ok(weight),
        None => Ok(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway::Verdict;

    fn signal(body: serde_json::Value) -> Result<Signal, Problem> {
        let completed: Completed = serde_json::from_value(body).unwrap();
        completed.signal(jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn headers_are_read_in_any_case_and_as_often_as_sent() {
        let said = signal(serde_json::json!({
            "status": 429,
            "headers": {
                "Retry-After": ["3", "7"],
                "X-MS-Throttle-Scope": "Application",
                "Authorization": "Bearer secret"
            }
        }))
        .unwrap();
        assert_eq!(said.verdict, Verdict::Throttled);
        assert_eq!(said.retry_after_ms, Some(7_000));
        assert!(said.named.unwrap().app);
    }

    #[test]
    fn only_throttle_headers_are_looked_at() {
        for name in [
            "Retry-After",
            "retry-after-ms",
            "x-ms-retry-after-ms",
            "x-ms-throttle-scope",
            "x-ms-throttle-limit-percentage",
            "X-MS-Resource-Unit",
            "RateLimit",
            "RateLimit-Remaining",
        ] {
            assert!(speaks_of_limits(name), "{name}");
        }
        for name in ["", "authorization", "set-cookie", "x-ms-request-id", "é"] {
            assert!(!speaks_of_limits(name), "{name}");
        }
    }

    #[test]
    fn only_final_statuses_end_a_call() {
        assert!(signal(serde_json::json!({ "status": 200 })).is_ok());
        assert!(signal(serde_json::json!({ "status": 599 })).is_ok());
        for status in [0, 100, 199, 600, 65_535] {
            assert!(
                signal(serde_json::json!({ "status": status })).is_err(),
                "{status}"
            );
        }
    }
}
