//! `GET /api/v1/history?upstream=&workload=&range=`: what was.

use axum::{
    Extension, Json,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    Api, named,
    query::{bad, once, pairs, unknown},
};
use crate::{
    access::Caller,
    history::{Past, Point, Range},
    http::Problem,
    store,
};

/// What was recorded of a workload. Names no user.
#[derive(Serialize, ToSchema)]
#[schema(as = History)]
struct Shown {
    /// The upstream.
    upstream: String,
    /// The workload.
    workload: String,
    /// How far back it looks.
    range: Range,
    /// How long a point lasts, milliseconds: 10 s in `1h`, a minute in `24h`, an hour in `30d`.
    step_ms: i64,
    /// When the first point begins that could be there.
    #[schema(format = DateTime)]
    from: String,
    /// Until when it was asked.
    #[schema(format = DateTime)]
    until: String,
    /// The points that there are, the earliest first, at most 1,440. Where nobody looked, because
    /// the server was down, there is none: that is not zero. The one that runs now comes when ten
    /// seconds are over.
    points: Vec<At>,
}

/// A point and when it begins.
#[derive(Serialize, ToSchema)]
#[schema(as = HistoryAt)]
struct At {
    #[schema(format = DateTime)]
    at: String,
    #[serde(flatten)]
    point: Point,
}

#[derive(Debug, PartialEq, Eq)]
struct Params {
    upstream: String,
    workload: String,
    range: Range,
}

/// Read the history
///
/// How full limits were, what became of calls, and how breakers stood: percentages and states as
/// the worst of each point, counts as its sum.
#[utoipa::path(
    get,
    path = "/api/v1/history",
    tag = "state",
    operation_id = "getHistory",
    params(
        ("upstream" = String, Query, description = "A name in the configuration", example = "graph"),
        ("workload" = String, Query, description = "One of its workloads", example = "onenote"),
        ("range" = Option<Range>, Query, description = "How far back; left out: `1h`"),
    ),
    responses(
        (status = 200, description = "What was recorded", body = Shown),
        (status = 404, description = "`unknown_upstream`, `unknown_workload`"),
        (status = 503, description = "`storage`: the history cannot be read"),
    )
)]
pub(super) async fn get(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(&query.unwrap_or_default()).map_err(bad)?;
    let Params {
        upstream,
        workload,
        range,
    } = params;
    caller.may_use(&upstream)?;
    let limiter = named::upstream(api.limiters.all(), &upstream)?;
    named::workload(limiter, &workload)?;
    let now_ms = Timestamp::now().as_millisecond();
    let past = api.history.past(&upstream, &workload, range, now_ms).await;
    let past = past.map_err(unreadable)?;
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(Shown::of(upstream, workload, range, past))).into_response())
}

impl Params {
    fn read(query: &str) -> Result<Self, String> {
        let (mut upstream, mut workload, mut range) = (None, None, None);
        for pair in pairs(query) {
            let (name, value) = pair?;
            match name.as_str() {
                "upstream" => once(&mut upstream, &name, value),
                "workload" => once(&mut workload, &name, value),
                "range" => once(&mut range, &name, read_range(&value)?),
                _ => Err(unknown(&name, "upstream, workload, range")),
            }?;
        }
        Ok(Self {
            upstream: upstream.ok_or("upstream is missing")?,
            workload: workload.ok_or("workload is missing")?,
            range: range.unwrap_or_default(),
        })
    }
}

impl Shown {
    fn of(upstream: String, workload: String, range: Range, past: Past) -> Self {
        let points = past.points.into_iter().map(|(at_ms, point)| At {
            at: instant(at_ms),
            point,
        });
        Self {
            upstream,
            workload,
            range,
            step_ms: past.step_ms,
            from: instant(past.from_ms),
            until: instant(past.until_ms),
            points: points.collect(),
        }
    }
}

fn read_range(value: &str) -> Result<Range, String> {
    let names = Range::ALL.map(Range::name).join(", ");
    Range::named(value).ok_or_else(|| format!("range must be one of {names}"))
}

fn instant(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.3}"))
}

fn unreadable(error: store::Error) -> Problem {
    let title = "The history cannot be read";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read_strictly() {
        let read = Params::read("upstream=graph&workload=one%2Fnote&range=24h");
        let expected = Params {
            upstream: "graph".to_owned(),
            workload: "one/note".to_owned(),
            range: Range::Day,
        };
        assert_eq!(read, Ok(expected));
        for (query, expected) in [
            ("workload=onenote", "upstream is missing"),
            ("upstream=graph", "workload is missing"),
            (
                "upstream=graph&workload=onenote&range=1y",
                "range must be one of 1h, 24h, 30d",
            ),
            ("upstream=a&upstream=b", "upstream is given twice"),
            ("user=a", "there is no parameter \"user\""),
        ] {
            assert_eq!(
                Params::read(query).unwrap_err().split(';').next(),
                Some(expected),
                "{query}"
            );
        }
    }
}
