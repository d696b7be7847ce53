//! What programs ask for each call of theirs: answered without the router, whose boxed layers cost
//! more than the decision. The router has these routes, too, so that they are documented; both ask
//! the same functions.

use axum::{
    Extension,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use http::Method;

use super::{Api, floods, permits, refusal};
use crate::{access::Caller, limiter::PermitId};

const PERMITS: &str = "/api/v1/permits";
const EVENTS: &str = "/api/v1/events";

/// Answers what is asked often. Clones share it.
#[derive(Clone, Debug)]
pub struct Often(Api);

/// What is asked often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OftenRoute {
    /// For a permit, or several.
    Take,
    /// That a permit's call has ended.
    Complete(PermitId),
    /// That a permit's call still runs.
    Renew(PermitId),
    /// That a permit's call was never sent.
    GiveBack(PermitId),
    /// Whether to handle events.
    Report,
}

impl OftenRoute {
    /// Which of them a request asks for; none: the router knows.
    #[must_use]
    pub fn of(method: &Method, path: &str) -> Option<Self> {
        if path == EVENTS {
            return (method == Method::POST).then_some(Self::Report);
        }
        let below = path.strip_prefix(PERMITS)?;
        if below.is_empty() {
            return (method == Method::POST).then_some(Self::Take);
        }
        let below = below.strip_prefix('/')?;
        let (id, action) = below.split_once('/').unzip();
        let route = match (method.as_str(), action) {
            ("POST", Some("complete")) => Self::Complete,
            ("POST", Some("renew")) => Self::Renew,
            ("DELETE", None) => Self::GiveBack,
            _ => return None,
        };
        id.unwrap_or(below).parse().ok().map(route)
    }

    /// Its path as the router has it.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Take => PERMITS,
            Self::Complete(_) => "/api/v1/permits/{id}/complete",
            Self::Renew(_) => "/api/v1/permits/{id}/renew",
            Self::GiveBack(_) => "/api/v1/permits/{id}",
            Self::Report => EVENTS,
        }
    }
}

impl Often {
    /// Of this API.
    pub(super) fn new(api: Api) -> Self {
        Self(api)
    }

    /// Answers what `caller` asks, who may.
    pub async fn answer(&self, route: OftenRoute, request: Request, caller: Caller) -> Response {
        if let Some(problem) = refusal(route.path(), &request) {
            return problem.into_response();
        }
        let api = &self.0;
        match route {
            OftenRoute::Take => permits::taken(api, caller, request).await.into_response(),
            OftenRoute::Report => floods::reported(api, caller, request).await,
            OftenRoute::Complete(id) => {
                let completed = permits::completed(api, &caller, Ok(Path(id)), request);
                completed.await.into_response()
            }
            OftenRoute::Renew(id) => {
                let renewed = permits::renew(State(api.clone()), Extension(caller), Ok(Path(id)));
                renewed.await.into_response()
            }
            OftenRoute::GiveBack(id) => {
                let api = State(api.clone());
                let given_back = permits::give_back(api, Extension(caller), Ok(Path(id)));
                given_back.await.into_response()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_router_would_send_to_the_same_function_goes_past_it() {
        let post = |path: &str| OftenRoute::of(&Method::POST, path);
        assert_eq!(post("/api/v1/permits"), Some(OftenRoute::Take));
        assert_eq!(post("/api/v1/events"), Some(OftenRoute::Report));
        let id = PermitId::random();
        let below = |action: &str| format!("/api/v1/permits/{id}{action}");
        let (complete, renew, bare) = (below("/complete"), below("/renew"), below(""));
        assert_eq!(post(&complete), Some(OftenRoute::Complete(id)));
        assert_eq!(post(&renew), Some(OftenRoute::Renew(id)));
        let delete = OftenRoute::of(&Method::DELETE, &bare);
        assert_eq!(delete, Some(OftenRoute::GiveBack(id)));
        for other in [
            "/",
            "/api/v1/permits/",
            "/api/v1/permitsx",
            "/api/v1/events/",
            "/api/v1/eventsx",
            "/api/v1/permits/x/complete",
            "/api/v1/permits//complete",
            &format!("{complete}/"),
            &below("/"),
            &bare,
        ] {
            assert_eq!(post(other), None, "{other}");
        }
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            assert_eq!(OftenRoute::of(&method, "/api/v1/permits"), None);
            assert_eq!(OftenRoute::of(&method, "/api/v1/events"), None);
            assert_eq!(OftenRoute::of(&method, &complete), None);
        }
        assert_eq!(OftenRoute::of(&Method::DELETE, "/api/v1/permits/x"), None);
    }
}
