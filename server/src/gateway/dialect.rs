//! How a refused call is told so in its upstream's own words, so that the upstream's own
//! clients understand it.

use http::StatusCode;
use serde_json::{Value, json};
use spillway::{
    Scope,
    policy::Dimension,
    preset::{Preset, Vendor},
};

use crate::{
    config::{Claims, Workload},
    http::Problem,
    limiter::{BlockedBy, Busy},
};

/// The cap for clients of unknown upstreams: that of the generic Kiota handlers, which obey
/// up to 179 s. A longer wait is told in parts.
const GENERIC_RETRY_AFTER_S_MAX: u32 = 179;

/// Whose words are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OneNote behind Microsoft Graph.
    OneNote,
    /// Any other service of Microsoft Graph.
    Graph,
    /// Notion.
    Notion,
    /// Anyone else's: RFC 9457.
    Generic,
}

/// What names one refusal in logs and support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// The gateway's own.
    pub request: String,
    /// The caller's, else the gateway's.
    pub client: String,
}

impl Dialect {
    /// The dialect of a workload's clients. A workload of one's own that is named after Notion
    /// is answered in its words.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        match &workload.claims {
            Claims::Preset(Preset::OneNote) => Self::OneNote,
            Claims::Preset(preset) => match preset.vendor() {
                Vendor::Graph => Self::Graph,
                Vendor::Notion => Self::Notion,
            },
            Claims::Paths(_) if workload.name == "notion" => Self::Notion,
            Claims::Paths(_) | Claims::Global => Self::Generic,
        }
    }

    /// The dialect of calls that belong to none of an upstream's workloads: its vendor's,
    /// where they tell one.
    #[must_use]
    pub fn of_vendor(workloads: &[Workload]) -> Self {
        let mut told = workloads.iter().map(Self::of);
        match told.find(|dialect| *dialect != Self::Generic) {
            Some(Self::OneNote) => Self::Graph,
            told => told.unwrap_or(Self::Generic),
        }
    }

    /// The longest `Retry-After` that the upstream's SDKs obey, in seconds.
    #[must_use]
    pub fn retry_after_s_max(self) -> u32 {
        match self {
            Self::OneNote | Self::Graph => Vendor::Graph.retry_after_s_max(),
            Self::Notion => Vendor::Notion.retry_after_s_max(),
            Self::Generic => GENERIC_RETRY_AFTER_S_MAX,
        }
    }

    /// The media type and the body of a 429.
    #[must_use]
    pub fn throttled(self, busy: &Busy, ids: &Ids, at: jiff::Timestamp) -> (&'static str, Value) {
        match self {
            Self::OneNote => ("application/json", onenote(ids, at)),
            Self::Graph => ("application/json", graph(ids, at)),
            Self::Notion => ("application/json", notion(ids)),
            Self::Generic => ("application/problem+json", generic(busy)),
        }
    }
}

impl Dialect {
    /// The media type and the body of a 401 for the reason that `message` gives.
    #[must_use]
    pub fn unauthorized(
        self,
        message: &str,
        ids: &Ids,
        at: jiff::Timestamp,
    ) -> (&'static str, Value) {
        match self {
            Self::OneNote | Self::Graph => (
                "application/json",
                json!({"error": {
                    "code": "InvalidAuthenticationToken",
                    "message": message,
                    "innerError": {
                        "date": date(at),
                        "request-id": ids.request,
                        "client-request-id": ids.client,
                    },
                }}),
            ),
            Self::Notion => (
                "application/json",
                json!({
                    "object": "error",
                    "status": 401,
                    "code": "unauthorized",
                    "message": message,
                    "request_id": ids.request,
                }),
            ),
            Self::Generic => {
                let title = "Whoever calls must bring a valid token";
                let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title);
                let problem = problem.detail(message.to_owned());
                ("application/problem+json", problem.to_json())
            }
        }
    }
}

/// As OneNote writes it, code 20166 and all (Microsoft Graph, OneNote error codes).
fn onenote(ids: &Ids, at: jiff::Timestamp) -> Value {
    let message =
        "The app has issued too many requests on behalf of this user in a short time period.";
    graph_error("20166", message, ids, at)
}

/// Any error, as Graph and OneNote write it.
#[must_use]
pub fn graph_error(code: &str, message: &str, ids: &Ids, at: jiff::Timestamp) -> Value {
    json!({"error": {
        "code": code,
        "message": message,
        "innerError": {
            "date": date(at),
            "request-id": ids.request,
            "client-request-id": ids.client,
        },
    }})
}

/// As Graph's other services write it (Microsoft Graph throttling, "Sample response").
fn graph(ids: &Ids, at: jiff::Timestamp) -> Value {
    json!({"error": {
        "code": "TooManyRequests",
        "innerError": {
            "code": "429",
            "date": date(at),
            "message": "Please retry after",
            "request-id": ids.request,
            "client-request-id": ids.client,
            "status": "429",
        },
        "message": "Please retry again later.",
    }})
}

fn date(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// As Notion writes it (developers.notion.com, request limits).
fn notion(ids: &Ids) -> Value {
    json!({
        "object": "error",
        "status": 429,
        "code": "rate_limited",
        "message": "You have been rate limited. Please try again in a few minutes.",
        "request_id": ids.request,
        "additional_data": {"rate_limit_reason": "public_api_request_rate_limit"},
    })
}

/// As the permit API tells it.
fn generic(busy: &Busy) -> Value {
    let title = "The upstream's limits leave no room for this call yet";
    let wait_ms = u64::try_from(busy.wait.as_millis()).unwrap_or(u64::MAX);
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "throttled", title)
        .kind("https://iana.org/assignments/http-problem-types#quota-exceeded")
        .with("retry_after_ms", wait_ms)
        .with("exact", busy.exact);
    match busy.blocked_by {
        BlockedBy::Layer { scope, dimension } => problem
            .with("blocked_by", layer(scope, dimension))
            .with("reason", "limit"),
        BlockedBy::Breaker { scope } => problem
            .with("blocked_by", breaker(scope))
            .with("reason", "breaker"),
        BlockedBy::Soft { scope } => problem
            .with("blocked_by", breaker(scope))
            .with("reason", "soft"),
        BlockedBy::Paused => problem.with("reason", "paused"),
        BlockedBy::Queue => problem.with("reason", "queue"),
    }
    .to_json()
}

fn breaker(scope: Scope) -> Value {
    json!({"scope": scope.to_string(), "dimension": "breaker"})
}

fn layer(scope: Scope, dimension: Dimension) -> Value {
    let scope = scope.to_string();
    match dimension {
        Dimension::Rate { window_ms } => {
            json!({"scope": scope, "dimension": "rate", "window_ms": window_ms})
        }
        Dimension::Concurrency => json!({"scope": scope, "dimension": "concurrency"}),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const IDS: fn() -> Ids = || Ids {
        request: "r".into(),
        client: "c".into(),
    };

    fn busy(blocked_by: BlockedBy) -> Busy {
        Busy {
            wait: Duration::from_millis(1_234),
            exact: true,
            blocked_by,
        }
    }

    #[test]
    fn each_upstream_s_clients_are_told_in_its_words() {
        let at = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let (media_type, graph) = Dialect::OneNote.throttled(&busy(BlockedBy::Queue), &IDS(), at);
        assert_eq!(media_type, "application/json");
        assert_eq!(graph["error"]["code"], "20166");
        let inner =
            json!({"date": "2026-01-02T03:04:05", "request-id": "r", "client-request-id": "c"});
        assert_eq!(graph["error"]["innerError"], inner);

        let (_, other) = Dialect::Graph.throttled(&busy(BlockedBy::Queue), &IDS(), at);
        assert_eq!(other["error"]["code"], "TooManyRequests");
        assert_eq!(other["error"]["innerError"]["client-request-id"], "c");

        let (_, notion) = Dialect::Notion.throttled(&busy(BlockedBy::Queue), &IDS(), at);
        assert_eq!(
            (&notion["object"], &notion["code"]),
            (&json!("error"), &json!("rate_limited"))
        );

        let rate = BlockedBy::Layer {
            scope: Scope::User,
            dimension: Dimension::Rate { window_ms: 60_000 },
        };
        let (media_type, problem) = Dialect::Generic.throttled(&busy(rate), &IDS(), at);
        assert_eq!(media_type, "application/problem+json");
        assert_eq!(problem["retry_after_ms"], 1_234);
        let blocked_by = json!({"scope": "user", "dimension": "rate", "window_ms": 60_000});
        assert_eq!(
            (&problem["blocked_by"], &problem["reason"]),
            (&blocked_by, &json!("limit"))
        );
    }

    #[test]
    fn no_wait_is_longer_than_the_clients_obey() {
        assert_eq!(Dialect::OneNote.retry_after_s_max(), 179);
        assert_eq!(Dialect::Notion.retry_after_s_max(), 60);
    }
}
