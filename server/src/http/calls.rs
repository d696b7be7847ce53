//! The calls of one connection.

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc};

use axum::{Router, body::Body, response::IntoResponse as _};
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use hyper::{body::Incoming, service::Service};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::{
    Problem, access_log,
    activity::{Activity, WatchedBody},
    streams,
    upload::Upload,
};

/// How many calls a listener has under way at once, those whose answers are still being
/// sent included. More than the callers that may wait for one upstream.
const CALLS_MAX: usize = 16_384;

/// Where calls go, and how many may be there at once. Shared by a listener's connections.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    listener: &'static str,
    router: Router,
    places: Arc<Semaphore>,
}

/// Who is at the other end of a call's connection; every call has it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The calls of one connection, as hyper makes them.
pub(super) struct ConnectionCalls {
    pub(super) calls: Calls,
    pub(super) activity: Arc<Activity>,
    /// Where its client is; `None`: it has gone already.
    pub(super) peer: Option<Peer>,
}

impl Calls {
    pub(super) fn new(listener: &'static str, router: Router) -> Self {
        Self::of(listener, router, CALLS_MAX)
    }

    fn of(listener: &'static str, router: Router, max: usize) -> Self {
        Self {
            listener,
            router,
            places: Arc::new(Semaphore::new(max)),
        }
    }

    async fn answer(
        self,
        request: Request<Body>,
        activity: &Arc<Activity>,
    ) -> Response<WatchedBody> {
        let Ok(place) = self.places.try_acquire_owned() else {
            access_log::refused(self.listener, &request, StatusCode::SERVICE_UNAVAILABLE);
            return full().map(|body| WatchedBody::new(body, Arc::clone(activity), None));
        };
        let Ok(response) = self.router.oneshot(request).await;
        response.map(|body| WatchedBody::new(body, Arc::clone(activity), Some(place)))
    }
}

fn full() -> Response<Body> {
    let title = "Too many calls are under way";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title)
        .detail("Come again in a moment.")
        .into_response()
}

impl Service<Request<Incoming>> for ConnectionCalls {
    type Response = Response<WatchedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (calls, activity) = (self.calls.clone(), Arc::clone(&self.activity));
        let wait = activity.wait();
        let mut request = request.map(upload);
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        Box::pin(async move {
            let activity = streams::current().unwrap_or(activity);
            let _busy = activity.wait();
            let answer = calls.answer(request, &activity).await;
            drop(wait);
            Ok(answer)
        })
    }
}

fn upload(body: Incoming) -> Body {
    if body.is_end_stream() {
        Body::empty()
    } else {
        Body::new(Upload::new(body))
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn beyond_the_bound_a_call_is_told_so_and_an_answer_counts_until_it_is_sent() {
        let router = Router::new().route("/", get(|| async { "answer" }));
        let calls = Calls::of("test", router, 1);
        let activity = Activity::new();
        let call = || {
            let request = Request::new(Body::empty());
            calls.clone().answer(request, &activity)
        };
        let first = call().await;
        assert_eq!(first.status(), StatusCode::OK);
        let second = call().await;
        assert_eq!(second.status(), StatusCode::SERVICE_UNAVAILABLE);
        let body = second.into_body().collect().await.unwrap().to_bytes();
        assert!(std::str::from_utf8(&body).unwrap().contains("\"capacity\""));
        drop(first);
        assert_eq!(call().await.status(), StatusCode::OK);
    }
}
