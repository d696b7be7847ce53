//! While open, refuse whatever came through a proxy: loopback is no boundary, a reverse
//! proxy on the same machine would publish everything.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderName, StatusCode};

use super::Problem;

/// Lets a request pass that no proxy has marked.
pub(super) async fn refuse(request: Request, next: Next) -> Response {
    if !request.headers().keys().any(marks_a_proxy) {
        return next.run(request).await;
    }
    let title = "Forwarded requests are refused while Spillway is open";
    Problem::new(StatusCode::FORBIDDEN, "forwarded", title)
        .detail("Without sign-in, whoever reaches a proxy in front would reach everything.")
        .into_response()
}

fn marks_a_proxy(name: &HeaderName) -> bool {
    name.as_str() == "forwarded" || name.as_str().starts_with("x-forwarded-")
}
