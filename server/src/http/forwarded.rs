//! While open, refuse whatever came through a proxy: loopback is no boundary, a reverse
//! proxy on the same machine would publish everything.

use http::{Request, StatusCode};

use super::Problem;
use crate::access::marks_a_proxy;

/// What is wrong with a request that a proxy has marked.
pub(super) fn problem<B>(request: &Request<B>) -> Option<Problem> {
    let mut names = request.headers().keys();
    if !names.any(|name| marks_a_proxy(name.as_str())) {
        return None;
    }
    let title = "Forwarded requests are refused while Spillway is open";
    let problem = Problem::new(StatusCode::FORBIDDEN, "forwarded", title);
    Some(
        problem.detail("Without sign-in, whoever reaches a proxy in front would reach everything."),
    )
}
