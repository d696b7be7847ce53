//! The edge: who may ask at all, how errors look, what is logged, how a listener ends.
//!
//! Every route of both listeners is behind [`guarded`]: the log of requests outside, then
//! what is no request at all, then the Host allow-list, then, while open, the refusal of
//! forwarded requests. The dashboard's are also [`ruled`]: each route says who may ask. The
//! gateway asks by itself who calls.

mod access_log;
mod activity;
mod bounds;
mod calls;
mod connection;
mod credit;
mod cross_site;
mod forwarded;
mod health;
mod hosts;
mod listener;
mod places;
mod problem;
mod request_id;
mod rules;
mod shutdown;
mod streams;
mod tls;
mod upload;

use std::sync::Arc;

use axum::{Router, middleware};

use crate::access::Access;

pub use calls::Peer;
pub use credit::{Credit, TooSlow};
pub use health::Health;
pub use hosts::AllowedHosts;
pub use listener::{BindError, Listener, bind, serve};
pub use problem::{Problem, ProblemDocument, retry_after_s};
pub use request_id::{REQUEST_ID, RequestId};
pub(crate) use rules::{needs_token, not_valid};
pub use shutdown::Shutdown;
pub use tls::{RELOAD_EVERY, Tls, TlsError};

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The only hosts that requests may name.
    pub hosts: AllowedHosts,
    /// Without sign-in: then nothing that came through a proxy is answered.
    pub open: bool,
}

/// `router` behind the rules of its routes, closed to other sites' pages: handlers get a [`Caller`](crate::access::Caller).
pub fn ruled(router: Router, access: Access) -> Router {
    router
        .layer(middleware::from_fn_with_state(access, rules::check))
        .layer(middleware::from_fn(cross_site::refuse))
}

/// `router` behind `guard`, its requests logged under `listener`'s name.
pub fn guarded(router: Router, listener: &'static str, guard: Guard) -> Router {
    let router = if guard.open {
        router.layer(middleware::from_fn(forwarded::refuse))
    } else {
        router
    };
    router
        .layer(middleware::from_fn_with_state(
            Arc::new(guard.hosts),
            hosts::check,
        ))
        .layer(middleware::from_fn(bounds::check))
        .layer(middleware::from_fn_with_state(listener, access_log::log))
}
