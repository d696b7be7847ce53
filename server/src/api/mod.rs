//! The API: `/api/v1` on the dashboard's port.

mod json;
mod live;
mod permits;
mod query;
mod state;
mod users;

use std::sync::Arc;

use axum::{Router, routing::get};

use crate::{
    http::{Problem, Shutdown},
    limiter::Limiters,
    live::Publisher,
};

pub use live::STREAMS_MAX;
pub use users::user_key;

/// What the API answers from. Clones share it.
#[derive(Clone, Debug)]
pub struct Api {
    limiters: Arc<Limiters>,
    publisher: Arc<Publisher>,
    streams: Arc<tokio::sync::Semaphore>,
    shutdown: Shutdown,
}

impl Api {
    /// An API over these; its streams end with `shutdown`.
    #[must_use]
    pub fn new(limiters: Arc<Limiters>, publisher: Arc<Publisher>, shutdown: Shutdown) -> Self {
        let streams = Arc::new(tokio::sync::Semaphore::new(STREAMS_MAX));
        Self {
            limiters,
            publisher,
            streams,
            shutdown,
        }
    }

    /// The routes, from the root.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/api/v1/state", get(state::get))
            .route("/api/v1/users/{upstream}/{workload}", get(users::get))
            .route("/api/v1/live", get(live::get))
            .merge(permits::routes())
            .route(
                "/api/{*rest}",
                axum::routing::any(|| async { Problem::not_found() }),
            )
            .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
            .with_state(self)
    }
}
