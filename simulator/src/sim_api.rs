//! `/_sim`: the score, and misbehaviour on demand.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::budget::stats::Stats;
use crate::faults::{Order, OrderError};
use crate::simulator::Simulator;

/// `GET /_sim/stats`
pub(crate) async fn stats(State(simulator): State<Simulator>) -> Json<Stats> {
    Json(simulator.stats())
}

/// `GET /_sim/faults`: what waits.
pub(crate) async fn faults(State(simulator): State<Simulator>) -> Response {
    let orders = simulator.faults().orders();
    Json(json!({ "faults": orders })).into_response()
}

/// `POST /_sim/faults`: one more order.
pub(crate) async fn inject(
    State(simulator): State<Simulator>,
    order: Result<Json<Order>, JsonRejection>,
) -> Response {
    let Json(order) = match order {
        Ok(order) => order,
        Err(rejection) => return refuse(status_of(&rejection), &rejection.body_text()),
    };
    match simulator.faults().add(order) {
        Ok(waiting) => (StatusCode::CREATED, Json(json!({ "waiting": waiting }))).into_response(),
        Err(error @ OrderError::Full) => refuse(StatusCode::CONFLICT, &error.to_string()),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// `DELETE /_sim/faults`: forgets all orders, and ends what fails by chance.
pub(crate) async fn clear(State(simulator): State<Simulator>) -> StatusCode {
    simulator.faults().clear();
    StatusCode::NO_CONTENT
}

fn status_of(rejection: &JsonRejection) -> StatusCode {
    match rejection {
        JsonRejection::JsonDataError(_) => StatusCode::BAD_REQUEST,
        other => other.status(),
    }
}

fn refuse(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
