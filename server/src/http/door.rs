//! What answers a listener's calls, and what each of them meets before.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{Request, header::ALLOW};
use tower::ServiceExt as _;

use super::{AllowedHosts, Arrived, Entry, Problem, bounds, forwarded, hosts};

/// Answers calls.
pub trait Answer: Clone + Send + Sync + 'static {
    /// What it takes at every address alike, as a refused method is told; none: each address
    /// tells its own.
    const METHODS: Option<&'static str> = None;

    /// Answers one, and writes its line in the log.
    fn answer(
        &self,
        request: Request<Body>,
        arrived: Arrived,
    ) -> impl Future<Output = Response> + Send;
}

impl Answer for Router {
    async fn answer(&self, mut request: Request<Body>, arrived: Arrived) -> Response {
        if let Some(peer) = arrived.peer {
            request.extensions_mut().insert(peer);
        }
        let entry = Entry::of(arrived);
        let Ok(response) = self.clone().oneshot(request).await;
        entry.answered(response.status());
        response
    }
}

/// Who may ask.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The only hosts that requests may name.
    pub hosts: AllowedHosts,
    /// Without sign-in: then nothing that came through a proxy is answered.
    pub open: bool,
}

/// What answers calls, behind a guard.
#[derive(Clone, Debug)]
pub struct Guarded<A> {
    guard: Arc<Guard>,
    inside: A,
}

/// `inside` behind `guard`.
pub fn guarded<A: Answer>(inside: A, guard: Guard) -> Guarded<A> {
    let guard = Arc::new(guard);
    Guarded { guard, inside }
}

impl Guard {
    /// Why a request is not let in.
    fn problem(&self, request: &mut Request<Body>) -> Option<Problem> {
        bounds::problem(request)
            .or_else(|| hosts::problem(&self.hosts, request))
            .or_else(|| self.open.then(|| forwarded::problem(request)).flatten())
    }
}

impl<A: Answer> Answer for Guarded<A> {
    async fn answer(&self, mut request: Request<Body>, arrived: Arrived) -> Response {
        let is_no_call = bounds::is_no_call(request.method());
        let response = if let Some(problem) = self.guard.problem(&mut request) {
            problem.into_response()
        } else if let Some(methods) = A::METHODS.filter(|_| is_no_call) {
            ([(ALLOW, methods)], Problem::method_not_allowed()).into_response()
        } else {
            return self.inside.answer(request, arrived).await;
        };
        Entry::of(arrived).answered(response.status());
        response
    }
}
