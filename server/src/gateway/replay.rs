//! A call that may have to be sent more than once.
//!
//! What of its body goes to the upstream is kept meanwhile, up to [`KEPT_BYTES_MAX`], and
//! what an attempt did not read stays where it is: the next one sends the first and goes on
//! with the second. A longer body is streamed without being kept, and so can be sent once.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};

use super::{read_ahead::ReadAhead, retry::is_idempotent};

/// How much of a body is kept, in bytes.
pub(super) const KEPT_BYTES_MAX: usize = 64 * 1024;

/// The attempt that a body was lent to is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attempt is over")]
struct Over;

/// A call, and what it takes to send it again.
pub(super) struct Call {
    /// What the next attempt sends as it is: all that exists of a call whose method
    /// allows no repeating, or one that came back unsent.
    unsent: Option<Request<Body>>,
    again: Option<Again>,
}

/// What makes another request of the same call.
struct Again {
    head: Request<()>,
    source: Option<Arc<Mutex<Source>>>,
}

impl Call {
    /// Keeps of `request` what its method allows to repeat.
    pub(super) fn new(request: Request<Body>) -> Self {
        if !is_idempotent(request.method()) {
            return Self {
                unsent: Some(request),
                again: None,
            };
        }
        let (parts, body) = request.into_parts();
        let source = (!body.is_end_stream()).then(|| Arc::new(Mutex::new(Source::new(body))));
        let head = Request::from_parts(parts, ());
        Self {
            unsent: None,
            again: Some(Again { head, source }),
        }
    }

    /// The request to send next. `None`: it cannot be sent again.
    pub(super) fn take(&mut self) -> Option<Request<Body>> {
        self.unsent
            .take()
            .or_else(|| self.again.as_ref()?.request())
    }

    /// Not a byte of `request` was written: it is the next to be sent.
    pub(super) fn give_back(&mut self, request: Request<Body>) {
        self.unsent = Some(request);
    }

    /// Whether there is a request to send.
    pub(super) fn is_there(&self) -> bool {
        self.unsent.is_some() || self.again.as_ref().is_some_and(Again::is_whole)
    }
}

impl Again {
    fn is_whole(&self) -> bool {
        self.source
            .as_ref()
            .is_none_or(|source| !lock(source).is_lost)
    }

    fn request(&self) -> Option<Request<Body>> {
        let body = match &self.source {
            None => Body::empty(),
            Some(source) => Body::new(Lent::of(source)?),
        };
        Some(self.head.clone().map(|()| body))
    }
}

/// A body, and what the attempt that has it read of it.
struct Source {
    body: ReadAhead,
    kept: Vec<Bytes>,
    kept_bytes: usize,
    /// Whether more was read than is kept.
    is_lost: bool,
    /// Which attempt may read.
    attempt: u32,
}

impl Source {
    fn new(body: Body) -> Self {
        Self {
            body: ReadAhead::of(body),
            kept: Vec::new(),
            kept_bytes: 0,
            is_lost: false,
            attempt: 0,
        }
    }

    /// Begins the next attempt. `None`: some of the body is gone.
    fn begin(&mut self) -> Option<u32> {
        self.attempt = self.attempt.wrapping_add(1);
        self.body.unread(std::mem::take(&mut self.kept));
        self.kept_bytes = 0;
        (!self.is_lost).then_some(self.attempt)
    }

    fn keep(&mut self, data: &Bytes) {
        self.kept_bytes = self.kept_bytes.saturating_add(data.len());
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.is_lost = true;
            self.kept = Vec::new();
        } else if !self.is_lost {
            // A copy: a piece may be a small part of a large buffer.
            self.kept.push(Bytes::copy_from_slice(data));
        }
    }
}

/// A source is whole at any point of a panic.
fn lock(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A body lent to one attempt.
struct Lent {
    source: Arc<Mutex<Source>>,
    attempt: u32,
}

impl Lent {
    /// Takes the body from the attempt before. `None`: some of it is gone.
    fn of(source: &Arc<Mutex<Source>>) -> Option<Self> {
        let attempt = lock(source).begin()?;
        Some(Self {
            source: Arc::clone(source),
            attempt,
        })
    }
}

impl http_body::Body for Lent {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let mut source = lock(&self.source);
        if source.attempt != self.attempt {
            return Poll::Ready(Some(Err(Over.into())));
        }
        let frame = ready!(Pin::new(&mut source.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            source.keep(data);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.source).body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.source).body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use http_body_util::BodyExt as _;

    fn call(method: Method, pieces: &[&'static [u8]]) -> Call {
        let pieces: Vec<Result<Bytes, axum::Error>> = pieces
            .iter()
            .map(|piece| Ok(Bytes::from_static(piece)))
            .collect();
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        request.headers_mut().insert("x", "y".parse().unwrap());
        Call::new(request)
    }

    async fn whole(request: Request<Body>) -> Bytes {
        assert_eq!(request.headers()["x"], "y");
        request.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn a_body_is_sent_again_from_its_start_wherever_it_was_left() {
        for read in 0..4 {
            let mut call = call(Method::PUT, &[b"ab", b"c", b"de"]);
            let mut first = call.take().unwrap().into_body();
            for _ in 0..read {
                first.frame().await;
            }
            assert!(call.is_there());
            let again = call.take().unwrap();
            assert!(first.frame().await.unwrap().is_err(), "its time is over");
            assert_eq!(whole(again).await, "abcde");
        }
    }

    #[tokio::test]
    async fn a_long_body_streams_and_is_gone() {
        static PIECE: [u8; 40 * 1024] = [7; 40 * 1024];
        let mut call = call(Method::PUT, &[&PIECE, &PIECE, &PIECE]);
        assert_eq!(whole(call.take().unwrap()).await.len(), 3 * PIECE.len());
        assert!(!call.is_there() && call.take().is_none());
    }

    #[tokio::test]
    async fn an_exact_length_stays_exact() {
        let mut request = Request::new(Body::from("abc"));
        *request.method_mut() = Method::PUT;
        let mut call = Call::new(request);
        for _ in 0..2 {
            let body = call.take().unwrap().into_body();
            assert_eq!(body.size_hint().exact(), Some(3));
            assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
        }
    }

    #[tokio::test]
    async fn what_may_not_be_repeated_is_there_once_or_when_it_came_back() {
        let mut call = call(Method::POST, &[b"ab"]);
        let request = call.take().unwrap();
        assert!(!call.is_there() && call.take().is_none());
        call.give_back(request);
        assert_eq!(whole(call.take().unwrap()).await, "ab");
    }

    #[tokio::test]
    async fn a_call_without_a_body_has_none_again() {
        let mut call = Call::new(Request::new(Body::empty()));
        for _ in 0..2 {
            assert!(call.take().unwrap().into_body().is_end_stream());
        }
    }
}
