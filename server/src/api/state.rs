//! `GET /api/v1/state`: everything as of now, users a page at a time.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::Api;
use crate::{http::Problem, limiter::USERS_MAX, live::USERS_SHOWN};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    upstream: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn get(
    State(api): State<Api>,
    params: Result<Query<Params>, QueryRejection>,
) -> Response {
    answer(&api, params).unwrap_or_else(IntoResponse::into_response)
}

fn answer(api: &Api, params: Result<Query<Params>, QueryRejection>) -> Result<Response, Problem> {
    let Query(params) = params.map_err(|rejection| bad(rejection.body_text()))?;
    let users_max = params.limit.unwrap_or(USERS_SHOWN);
    if !(1..=USERS_MAX).contains(&users_max) {
        return Err(bad(format!("limit must be from 1 to {USERS_MAX}")));
    }
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

fn bad(detail: String) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "bad_query",
        "The query cannot be understood",
    )
    .detail(detail)
}
