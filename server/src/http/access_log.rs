//! One log line for each request: method, path, status, how long until its answer began.
//!
//! The path without its query, and no header at all: a log that holds no secret cannot
//! leak one.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{Method, StatusCode};

/// Numbers requests within this process's life.
static NEXT_REQUEST: AtomicU64 = AtomicU64::new(1);

/// Logs a request when its answer begins, or when its client leaves before.
pub(super) async fn log(
    State(listener): State<&'static str>,
    request: Request,
    next: Next,
) -> Response {
    let mut entry = Entry {
        listener,
        request: NEXT_REQUEST.fetch_add(1, Ordering::Relaxed),
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        begun: Instant::now(),
        status: None,
    };
    let response = next.run(request).await;
    entry.status = Some(response.status());
    response
}

/// Written when dropped: a client that leaves drops the whole future it waits for.
struct Entry {
    listener: &'static str,
    request: u64,
    method: Method,
    path: String,
    begun: Instant,
    status: Option<StatusCode>,
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
            request = self.request,
            method = %self.method,
            %path,
            status,
            duration_ms = self.begun.elapsed().as_millis() as u64,
            "{outcome}"
        );
    }
}
