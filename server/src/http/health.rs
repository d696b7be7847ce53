//! `/healthz`: the process is up. `/readyz`: it can do its work.

use std::{fmt, sync::Arc};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::StatusCode;
use serde_json::{Map, Value, json};

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

impl Health {
    /// The two routes.
    pub fn routes(self) -> Router {
        Router::new()
            .route(
                "/healthz",
                get(|| async { Json(json!({ "status": "up" })) }),
            )
            .route("/readyz", get(ready))
            .with_state(self)
    }
}

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
        return Json(json!({ "status": "ready", "checks": checks })).into_response();
    }
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "not_ready",
        "Spillway cannot do its work now",
    )
    .with("checks", checks)
    .into_response()
}
