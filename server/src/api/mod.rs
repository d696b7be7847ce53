//! The API: `/api/v1` on the dashboard's port.

mod accept;
mod accounts;
mod audit;
mod floods;
mod history;
mod json;
mod live;
mod metrics;
mod named;
mod often;
mod openapi;
pub(crate) mod operations;
mod pages;
mod permits;
mod policies;
mod query;
mod session;
mod state;
mod tokens;
mod users;

use std::sync::Arc;

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::any,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    access::Access,
    audit::Trail,
    floods::Floods,
    history::History,
    http::{Health, Problem, Shutdown},
    limiter::Limiters,
    live::Publisher,
    metrics::Metrics,
    policy::Policies,
};

pub(crate) use audit::Params as AuditParams;
pub use live::STREAMS_MAX;
pub use often::{Often, OftenRoute};
pub use openapi::{document, document_text};
pub(crate) use query::pairs as decoded_pairs;
pub use users::user_key;

/// What the API answers from. Clones share it.
#[derive(Clone, Debug)]
pub struct Api {
    limiters: Arc<Limiters>,
    publisher: Arc<Publisher>,
    streams: Arc<tokio::sync::Semaphore>,
    repeated: permits::Repeated,
    metrics: Metrics,
    policies: Policies,
    history: History,
    floods: Floods,
    trail: Trail,
    shutdown: Shutdown,
    access: Access,
    /// How browsers reach the dashboard.
    public_url: String,
}

/// What the API answers about.
#[derive(Debug)]
pub struct Parts {
    /// Who may call upstream.
    pub limiters: Arc<Limiters>,
    /// What viewers see.
    pub publisher: Arc<Publisher>,
    /// What Prometheus reads.
    pub metrics: Metrics,
    /// The limits, as they are changed.
    pub policies: Policies,
    /// How full they were.
    pub history: History,
    /// Which events are a flood.
    pub floods: Floods,
}

impl Api {
    /// An API over these; its streams end with `shutdown`.
    #[must_use]
    pub fn new(parts: Parts, trail: Trail, shutdown: Shutdown) -> Self {
        let Parts {
            limiters,
            publisher,
            metrics,
            policies,
            history,
            floods,
        } = parts;
        Self {
            limiters,
            publisher,
            streams: Arc::new(tokio::sync::Semaphore::new(STREAMS_MAX)),
            repeated: permits::Repeated::default(),
            metrics,
            policies,
            history,
            floods,
            trail,
            shutdown,
            access: Access::Open,
            public_url: String::new(),
        }
    }

    /// The same, where accounts and tokens are those that the server lets in, at this address.
    #[must_use]
    pub fn letting_in(self, access: Access, public_url: String) -> Self {
        Self {
            access,
            public_url,
            ..self
        }
    }

    /// What is asked often, to be answered without the router.
    #[must_use]
    pub fn often(&self) -> Often {
        Often::new(self.clone())
    }

    /// Who limits.
    pub(crate) fn limiters(&self) -> &Limiters {
        &self.limiters
    }

    /// Which events are a flood.
    pub(crate) fn floods(&self) -> &Floods {
        &self.floods
    }

    /// The routes, from the root, those of `health` included.
    pub fn routes(self, health: Health) -> Router {
        let (api, _) = described().split_for_parts();
        let (health_routes, _) = Health::described().split_for_parts();
        api.with_state(self)
            .merge(health_routes.with_state(health))
            .layer(from_fn(check))
            .route("/api/{*rest}", any(|| async { Problem::not_found() }))
            .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
    }
}

/// Lets a request pass that asks for what its route has.
async fn check(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    match refusal(route.map_or("", MatchedPath::as_str), &request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

/// Why a request for `route`, as the router knows it, is refused before it is looked at.
fn refusal(route: &str, request: &Request) -> Option<Problem> {
    accept::refusal(route, request.headers()).or_else(|| query::refusal(route, request))
}

/// The routes, with what is to be said of them: what is added here is documented. Each needs
/// a line in the table of `http::rules`, too.
pub(crate) fn described() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(state::get))
        .routes(routes!(users::get))
        .routes(routes!(live::get))
        .routes(routes!(session::get))
        .routes(routes!(metrics::get))
        .routes(routes!(openapi::get))
        .routes(routes!(audit::get))
        .routes(routes!(history::get))
        .merge(accounts::routes())
        .merge(tokens::routes())
        .merge(operations::routes())
        .merge(permits::routes())
        .merge(policies::routes())
        .merge(floods::routes())
}
