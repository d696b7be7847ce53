//! While open, refuse whatever came through a proxy: loopback is no boundary, a reverse
//! proxy on the same machine would publish everything.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::StatusCode;

use super::Problem;
use crate::access::marks_a_proxy;

/// Lets a request pass that no proxy has marked.
pub(super) async fn refuse(request: Request, next: Next) -> Response {
    let mut names = request.headers().keys();
    if !names.any(|name| marks_a_proxy(name.as_str())) {
        return next.run(request).await;
    }
    let title = "Forwarded requests are refused while Spillway is open";
    Problem::new(StatusCode::FORBIDDEN, "forwarded", title)
        .detail("Without sign-in, whoever reaches a proxy in front would reach everything.")
        .into_response()
}
