//! The calls of one connection.

use std::{convert::Infallible, net::SocketAddr, pin::Pin, sync::Arc};

use axum::{body::Body, response::IntoResponse as _};
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use hyper::{body::Incoming, service::Service};
use tokio::sync::Semaphore;

use super::{
    Answer, Arrived, Entry, Problem, REQUEST_ID,
    activity::{Activity, WatchedBody},
    streams,
    upload::Upload,
};

/// How many calls a listener has under way at once, those whose answers are still being
/// sent included. More than the callers that may wait for one upstream.
const CALLS_MAX: usize = 16_384;

/// Where calls go, and how many may be there at once. Shared by a listener's connections.
#[derive(Clone, Debug)]
pub(super) struct Calls<A> {
    listener: &'static str,
    inside: A,
    places: Arc<Semaphore>,
}

/// Who is at the other end of a call's connection; every request of the dashboard's has it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The calls of one connection, as hyper makes them.
pub(super) struct ConnectionCalls<A> {
    pub(super) calls: Calls<A>,
    pub(super) activity: Arc<Activity>,
    /// Where its client is; `None`: it has gone already.
    pub(super) peer: Option<Peer>,
}

impl<A: Answer> Calls<A> {
    pub(super) fn new(listener: &'static str, inside: A) -> Self {
        Self::of(listener, inside, CALLS_MAX)
    }

    fn of(listener: &'static str, inside: A, max: usize) -> Self {
        Self {
            listener,
            inside,
            places: Arc::new(Semaphore::new(max)),
        }
    }

    async fn answer(
        self,
        request: Request<Body>,
        peer: Option<Peer>,
        activity: &Arc<Activity>,
    ) -> Response<WatchedBody> {
        let arrived = Arrived::now(self.listener, &request, peer);
        let id = arrived.id;
        let place = self.places.try_acquire_owned().ok();
        let mut response = if place.is_some() {
            self.inside.answer(request, arrived).await
        } else {
            Entry::of(arrived).answered(StatusCode::SERVICE_UNAVAILABLE);
            full()
        };
        // Where it has no number of an upstream's.
        let number = response.headers_mut().entry(REQUEST_ID);
        number.or_insert_with(|| id.header());
        response.map(|body| WatchedBody::new(body, Arc::clone(activity), place))
    }
}

fn full() -> Response<Body> {
    let title = "Too many calls are under way";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title)
        .detail("Come again in a moment.")
        .into_response()
}

impl<A: Answer> Service<Request<Incoming>> for ConnectionCalls<A> {
    type Response = Response<WatchedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (calls, activity) = (self.calls.clone(), Arc::clone(&self.activity));
        let (wait, peer) = (activity.wait(), self.peer);
        let request = request.map(upload);
        Box::pin(async move {
            let stream = streams::current();
            let _busy = stream.as_ref().map(Activity::wait);
            let activity = stream.unwrap_or(activity);
            let answer = calls.answer(request, peer, &activity).await;
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
    use axum::{Router, routing::get};
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn beyond_the_bound_a_call_is_told_so_and_an_answer_counts_until_it_is_sent() {
        let router = Router::new().route("/", get(|| async { "answer" }));
        let calls = Calls::of("test", router, 1);
        let activity = Activity::new();
        let call = || {
            let request = Request::new(Body::empty());
            calls.clone().answer(request, None, &activity)
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
