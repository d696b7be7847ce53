//! One log line for each request: method, path, status, how long until its answer began.
//!
//! The path without its query, and no header at all: a log that holds no secret cannot
//! leak one. A path that holds a token, by somebody's mistake, is not shown.

use std::time::Instant;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderValue, Method, StatusCode};

use super::{REQUEST_ID, RequestId};
use crate::access::secret::is_within;

/// Logs a request when its answer begins, or when its client leaves before. Numbers it, for
/// what else is logged of it, and its answer, where that has no number of an upstream's.
pub(super) async fn log(
    State(listener): State<&'static str>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut entry = Entry::new(listener, &request);
    let id = entry.id;
    request.extensions_mut().insert(id);
    let mut response = next.run(request).await;
    entry.status = Some(response.status());
    drop(entry);
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().entry(REQUEST_ID).or_insert(id);
    }
    response
}

/// Logs a request that got no further than here.
pub(super) fn refused<B>(listener: &'static str, request: &http::Request<B>, status: StatusCode) {
    Entry::new(listener, request).status = Some(status);
}

/// Written when dropped: a client that leaves drops the whole future it waits for.
struct Entry {
    listener: &'static str,
    id: RequestId,
    method: Method,
    path: String,
    begun: Instant,
    status: Option<StatusCode>,
}

impl Entry {
    fn new<B>(listener: &'static str, request: &http::Request<B>) -> Self {
        Self {
            listener,
            id: RequestId::random(),
            method: request.method().clone(),
            path: shown(request.uri().path()).to_owned(),
            begun: Instant::now(),
            status: None,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Escaped: what a client writes into a path must not steer a terminal.
        let path = self.path.escape_debug();
        let status = self.status.map_or(0, |status| status.as_u16());
        let outcome = if self.status.is_some() {
            "answered"
        } else {
            "client left"
        };
        tracing::info!(
            target: "spillway::access",
            listener = self.listener,
            request_id = %self.id,
            method = %self.method,
            %path,
            status,
            duration_ms = self.begun.elapsed().as_millis() as u64,
            "{outcome}"
        );
    }
}

/// A path, unless it is a secret.
fn shown(path: &str) -> &str {
    if is_within(path) {
        "(a path with a token)"
    } else {
        path
    }
}
