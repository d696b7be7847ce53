//! `GET /api/v1/users/{upstream}/{workload}?user=`: one user's limits, waiting calls and leases.
//!
//! The page of a user asks this once a second while somebody looks at it, rather than have
//! the stream carry it: the stream tells every browser the same bytes, and a stream for each
//! user looked at would use up the six connections that a browser opens to one host. What it
//! costs is bounded by [`Watched`](crate::live::Watched).

use axum::{
    Extension,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{
    Api,
    query::{bad, once, pairs, unknown},
};
use crate::{
    access::Caller,
    http::Problem,
    limiter::{NoSuchLimits, UserKey},
    live::NotWatched,
};

/// The longest key of an app, a tenant or a user, in bytes, as where calls are let in.
const KEY_BYTES_MAX: usize = 256;

/// Show one user
///
/// What limits it, what of it waits, and what it has in flight. One who was never seen has its
/// limits and nothing else.
#[utoipa::path(
    get,
    path = "/api/v1/users/{upstream}/{workload}",
    tag = "state",
    operation_id = "getUser",
    params(
        ("upstream" = String, Path, description = "A name in the configuration", example = "graph"),
        ("workload" = String, Path, description = "One of its workloads", example = "onenote"),
        ("user" = String, Query, min_length = 1, max_length = 256, description = "The user's key"),
        ("tenant" = Option<String>, Query, max_length = 256, description = "The tenant's; left out: none"),
        ("app" = Option<String>, Query, max_length = 256, description = "The app's; left out: the configured one"),
    ),
    responses(
        (status = 200, description = "The user", body = spillway_app::live::UserState),
        (status = 404, description = "`unknown_upstream`, `unknown_workload`; `not_found`: the path is no UTF-8"),
        (status = 503, description = "`capacity`: more than 64 users are looked at in a quarter of a second"),
    )
)]
pub(super) async fn get(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    named: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(Path((upstream, workload))) = named else {
        return Problem::not_found().into_response();
    };
    let query = query.unwrap_or_default();
    if let Err(denied) = caller.may_use(&upstream) {
        return Problem::from(denied).into_response();
    }
    answer(&api, upstream, workload, &query).unwrap_or_else(IntoResponse::into_response)
}

/// Whom an address names.
///
/// # Errors
/// What is wrong with it, in words.
pub fn user_key(upstream: String, workload: String, query: &str) -> Result<UserKey, String> {
    let (mut app, mut tenant, mut user) = (None, None, None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        let place = match name.as_str() {
            "app" => &mut app,
            "tenant" => &mut tenant,
            "user" => &mut user,
            _ => return Err(unknown(&name, "app, tenant, user")),
        };
        if value.len() > KEY_BYTES_MAX {
            return Err(format!("{name} must have at most {KEY_BYTES_MAX} bytes"));
        }
        once(place, &name, value)?;
    }
    let user = user.filter(|user| !user.is_empty());
    Ok(UserKey {
        upstream,
        workload,
        app: app.filter(|app| !app.is_empty()),
        tenant: tenant.unwrap_or_default(),
        user: user.ok_or("user is missing")?,
    })
}

fn answer(api: &Api, upstream: String, workload: String, query: &str) -> Result<Response, Problem> {
    let key = user_key(upstream, workload, query).map_err(bad)?;
    let json = api.publisher.user(&key).map_err(problem)?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, json.to_string()).into_response())
}

fn problem(error: NotWatched) -> Problem {
    let detail = error.to_string();
    let (status, code, title) = match error {
        NotWatched::NoSuch(NoSuchLimits::Upstream { .. }) => (
            StatusCode::NOT_FOUND,
            "unknown_upstream",
            "There is no upstream of this name",
        ),
        NotWatched::NoSuch(NoSuchLimits::Workload { .. }) => (
            StatusCode::NOT_FOUND,
            "unknown_workload",
            "There is no workload of this name",
        ),
        NotWatched::TooMany => (
            StatusCode::SERVICE_UNAVAILABLE,
            "capacity",
            "As many users as may be are looked at",
        ),
    };
    Problem::new(status, code, title).detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<UserKey, String> {
        user_key("graph".to_owned(), "onenote".to_owned(), query)
    }

    #[test]
    fn any_key_can_be_asked_for() {
        let key = read("app=a%26b&tenant=&user=%2541%20%2F+%E6%9D%8E").unwrap();
        assert_eq!(key.app.as_deref(), Some("a&b"));
        assert_eq!((key.tenant.as_str(), key.user.as_str()), ("", "%41 / 李"));
        assert_eq!(read("user=u&app=").unwrap().app, None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (query, expected) in [
            ("", "user is missing"),
            ("user=", "user is missing"),
            ("user=a&user=b", "user is given twice"),
            ("user=%ff", "the query must be UTF-8"),
            (
                "user=a&cursor=b",
                "there is no parameter \"cursor\"; known: app, tenant, user",
            ),
        ] {
            assert_eq!(read(query).unwrap_err(), expected, "{query}");
        }
        let long = format!("user={}", "x".repeat(KEY_BYTES_MAX + 1));
        assert_eq!(read(&long).unwrap_err(), "user must have at most 256 bytes");
    }
}
