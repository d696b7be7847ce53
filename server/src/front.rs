//! The dashboard's listener: what each of its requests has to pass, whatever answers it.
//!
//! Nothing is changed for other sites' pages, and each route's rule says who may ask. Every answer
//! tells browsers what it may never be used for. A request is traced under its route, as the
//! router knows it, never under its path.

use std::sync::Arc;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};

use crate::{
    access::{Access, Caller},
    api::{Often, OftenRoute},
    dashboard,
    http::{self, Answer, Arrived, Entry, Head, Visitor},
    traces::Traces,
};

/// Answers for the dashboard's listener. Clones share it.
#[derive(Clone, Debug)]
pub struct Front(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    entrance: Entrance,
    often: Often,
    router: Router,
}

/// What a request has to pass.
#[derive(Clone, Debug)]
struct Entrance {
    access: Access,
    traces: Traces,
}

impl Front {
    /// The routes of `router` behind their rules; what programs ask `often` does not go through
    /// the router, but is held to the same.
    /// `secure`: browsers reach it by TLS.
    pub fn new(access: Access, traces: Traces, often: Often, router: Router, secure: bool) -> Self {
        let people = access.people().cloned();
        let entrance = Entrance { access, traces };
        let entered = from_fn_with_state(entrance.clone(), enter);
        let router = router.layer(entered);
        let router = match people {
            Some(people) => http::known_visitors(router, people, secure),
            None => router,
        };
        Self(Arc::new(Inner {
            router,
            entrance,
            often,
        }))
    }
}

impl Answer for Front {
    async fn answer(&self, request: Request, arrived: Arrived) -> Response {
        let front = &*self.0;
        let Some(route) = OftenRoute::of(request.method(), request.uri().path()) else {
            // Boxed: what is asked often need not carry its size.
            return Box::pin(front.router.answer(request, arrived)).await;
        };
        let entry = Entry::of(arrived);
        let answer = |request, caller| front.often.answer(route, request, caller);
        let path = Some(route.path());
        // For programs: nobody is signed in there.
        let visitor = Visitor(None);
        let response = front.entrance.pass(path, visitor, request, answer).await;
        entry.answered(response.status());
        response
    }
}

async fn enter(
    State(entrance): State<Entrance>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let route = matched.as_ref().map(MatchedPath::as_str);
    let visitor = match http::visitor(&request) {
        Ok(visitor) => visitor,
        Err(problem) => return secured(problem.into_response()),
    };
    let known = visitor.clone();
    let answer = |mut request: Request, caller: Caller| {
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(known);
        next.run(request)
    };
    entrance.pass(route, visitor, request, answer).await
}

impl Entrance {
    async fn pass<F: Future<Output = Response>>(
        &self,
        route: Option<&str>,
        visitor: Visitor,
        request: Request,
        answer: impl FnOnce(Request, Caller) -> F,
    ) -> Response {
        if let Some(problem) = http::cross_site_refusal(&request) {
            return secured(problem.into_response());
        }
        let head = Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        };
        let caller = match http::caller(&self.access, route, head, &visitor).await {
            Ok(caller) => caller,
            Err(refused) => return secured(refused),
        };
        let mut span = self.traces.request(route, &request);
        let response = answer(request, caller).await;
        span.answered(response.status());
        secured(response)
    }
}

/// With what browsers are told that it may never be used for.
fn secured(mut response: Response) -> Response {
    dashboard::secure(response.headers_mut());
    response
}
