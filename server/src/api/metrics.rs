//! `GET /metrics`: for Prometheus.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use prometheus::TEXT_FORMAT;

use super::{Api, STREAMS_MAX};
use crate::http::Problem;

/// Read the metrics
///
/// In Prometheus's text format (docs/METRICS.md).
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "health",
    operation_id = "getMetrics",
    responses(
        (
            status = 200, description = "All metrics", body = String, content_type = "text/plain",
            example = "spillway_build_info{version=\"0.1.0\"} 1\n"
        ),
        (status = 500, description = "`metrics`: they cannot be written down"),
    )
)]
pub(super) async fn get(State(api): State<Api>) -> Response {
    let viewers = STREAMS_MAX.saturating_sub(api.streams.available_permits());
    match api.metrics.text(viewers as u64).await {
        Ok(text) => {
            let headers = [
                (header::CONTENT_TYPE, TEXT_FORMAT),
                (header::CACHE_CONTROL, "no-store"),
            ]
            .map(|(name, value)| (name, HeaderValue::from_static(value)));
            (headers, text).into_response()
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "no metrics");
            let title = "The metrics cannot be written down";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics", title).into_response()
        }
    }
}
