//! `GET /api/v1/state`: everything as of now, users a page at a time.

use axum::{
    Extension, Json,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{
    Api,
    query::{bad, once, pairs, unknown},
};
use crate::{access::Caller, http::Problem, limiter::USERS_MAX, live::USERS_SHOWN};

#[derive(Debug, Default)]
struct Params {
    upstream: Option<String>,
    cursor: Option<String>,
    users_max: Option<usize>,
}

/// Show everything as of now
///
/// Users come a page at a time, closest to a limit first. Those of all workloads share one
/// cursor, so page through one upstream at a time.
#[utoipa::path(
    get,
    path = "/api/v1/state",
    tag = "state",
    operation_id = "getState",
    params(
        ("upstream" = Option<String>, Query, description = "This one alone"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
        (
            "limit" = Option<u16>, Query, minimum = 1, maximum = 1_000,
            description = "The most users of each workload; left out: 50"
        ),
    ),
    responses(
        (status = 200, description = "The state", body = spillway_app::live::State),
        (status = 404, description = "`unknown_upstream`"),
    )
)]
pub(super) async fn get(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = query.unwrap_or_default();
    answer(&api, &caller, &query).unwrap_or_else(IntoResponse::into_response)
}

impl Params {
    fn read(query: &str) -> Result<Self, String> {
        let mut params = Self::default();
        for pair in pairs(query) {
            let (name, value) = pair?;
            match name.as_str() {
                "upstream" => once(&mut params.upstream, &name, value),
                "cursor" => once(&mut params.cursor, &name, value),
                "limit" => once(&mut params.users_max, &name, users_max(&value)?),
                _ => Err(unknown(&name, "upstream, cursor, limit")),
            }?;
        }
        Ok(params)
    }
}

fn users_max(value: &str) -> Result<usize, String> {
    let number = value.parse().ok();
    number
        .filter(|number| (1..=USERS_MAX).contains(number))
        .ok_or_else(|| format!("limit must be a whole number from 1 to {USERS_MAX}"))
}

fn answer(api: &Api, caller: &Caller, query: &str) -> Result<Response, Problem> {
    let params = Params::read(query).map_err(bad)?;
    match &params.upstream {
        Some(upstream) => caller.may_use(upstream)?,
        None => caller.may_see_all()?,
    }
    let users_max = params.users_max.unwrap_or(USERS_SHOWN);
    let upstream = params.upstream.as_deref();
    if let Some(name) = upstream
        && !api
            .limiters
            .all()
            .iter()
            .any(|limiter| limiter.name() == name)
    {
        let names: Vec<_> = api
            .limiters
            .all()
            .iter()
            .map(|limiter| limiter.name())
            .collect();
        let problem = Problem::new(
            StatusCode::NOT_FOUND,
            "unknown_upstream",
            "There is no upstream of this name",
        );
        return Err(problem.detail(format!("the upstreams are: {}", names.join(", "))));
    }
    let state = api
        .limiters
        .state(upstream, params.cursor.as_deref(), users_max);
    let state = state.map_err(|error| bad(error.to_string()))?;
    let mut response = Json(state).into_response();
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_forms_write_them() {
        let params = Params::read("upstream=gr%61ph&cursor=a%2Bb+c&limit=1000&").unwrap();
        assert_eq!(params.upstream.as_deref(), Some("graph"));
        assert_eq!(params.cursor.as_deref(), Some("a+b c"));
        assert_eq!(params.users_max, Some(1000));
        assert!(Params::read("").unwrap().users_max.is_none());
    }

    #[test]
    fn what_is_wrong_is_said_in_words_of_ours() {
        let limit = "limit must be a whole number from 1 to 1000";
        for (query, expected) in [
            ("limit=x", limit),
            ("limit", limit),
            ("limit=0", limit),
            ("limit=1001", limit),
            ("limit=-1", limit),
            ("limit=99999999999999999999", limit),
            ("limit=1&limit=2", "limit is given twice"),
            ("upstream=%ff", "the query must be UTF-8"),
            (
                "limits=5",
                "there is no parameter \"limits\"; known: upstream, cursor, limit",
            ),
        ] {
            assert_eq!(Params::read(query).unwrap_err(), expected, "{query}");
        }
        let long = Params::read(&"x".repeat(10_000)).unwrap_err();
        assert!(long.len() < 150, "{long}");
    }
}
