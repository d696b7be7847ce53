//! `/healthz`: the process is up. `/readyz`: it can do its work.

use std::{fmt, sync::Arc};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Problem, Shutdown};
use crate::store::Store;

/// What readiness depends on.
#[derive(Clone)]
pub struct Health {
    /// The database must answer.
    pub store: Store,
    /// The journals must be writable and the limiters open; an error says what is not.
    pub limiters: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// The end must not have begun.
    pub shutdown: Shutdown,
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").finish_non_exhaustive()
    }
}

/// The process is up.
#[derive(Debug, Serialize, ToSchema)]
struct Up {
    /// `up`.
    status: &'static str,
}

/// It can do its work.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it stands in the OpenAPI document")]
struct Ready {
    /// `ready`.
    status: String,
    /// What it depends on, each `ok`.
    checks: std::collections::BTreeMap<String, String>,
}

impl Health {
    /// The two routes, and what is to be said of them.
    pub fn described() -> OpenApiRouter<Self> {
        OpenApiRouter::default()
            .routes(routes!(up))
            .routes(routes!(ready))
    }
}

/// Ask whether the process is up
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "health",
    operation_id = "getHealth",
    responses((status = 200, description = "It is", body = Up, example = json!({ "status": "up" })))
)]
async fn up() -> Response {
    no_store(Json(Up { status: "up" }))
}

/// Ask whether it can do its work
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    operation_id = "getReadiness",
    responses(
        (
            status = 200, description = "It can", body = Ready,
            example = json!({
                "status": "ready",
                "checks": { "database": "ok", "limiters": "ok", "running": "ok" }
            })
        ),
        (status = 503, description = "`not_ready`; `checks` says what is wrong"),
    )
)]
async fn ready(State(health): State<Health>) -> Response {
    let database = health.store.ping().await.map_err(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "not ready");
        error.to_string()
    });
    let running = if health.shutdown.has_begun() {
        Err("shutting down".to_owned())
    } else {
        Ok(())
    };
    let checks = [
        ("database", database),
        ("limiters", (health.limiters)()),
        ("running", running),
    ];
    let all_well = checks.iter().all(|(_, check)| check.is_ok());
    let checks: Map<String, Value> = checks
        .into_iter()
        .map(|(name, check)| {
            (
                name.to_owned(),
                check.map_or_else(Value::from, |()| "ok".into()),
            )
        })
        .collect();
    if all_well {
        return no_store(Json(json!({ "status": "ready", "checks": checks })));
    }
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "not_ready",
        "Spillway cannot do its work now",
    )
    .with("checks", checks)
    .into_response()
}

fn no_store(body: impl IntoResponse) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, body).into_response()
}
