//! Whether a connection is getting anywhere.
//!
//! A client that sends a head byte by byte, opens a connection and says nothing, or asks and
//! then does not read, keeps a place that others need. All of them look alike from here:
//! nothing on *our* side of the connection is being waited for, and nothing moves. So what
//! is counted is the opposite: calls whose answer is still being made, and answers whose
//! next piece has not come yet. While there is one, the connection may take its time; while
//! there is none, something has to move, or the client is cut.
//!
//! Calls of HTTP/2 share their connection. There each call is watched by itself as well
//! ([`super::streams`]): while others go on, one whose reader stops would keep what it has.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};

/// What moves on one connection, or on one of its streams.
#[derive(Debug)]
pub(super) struct Activity {
    /// A stream's connection: what moves here moves there.
    connection: Option<Arc<Activity>>,
    opened: Instant,
    /// What is waited for on our side.
    waits: AtomicUsize,
    /// When something moved last, in milliseconds since `opened`.
    moved_ms: AtomicU64,
}

impl Activity {
    /// A connection that is opened now.
    pub(super) fn new() -> Arc<Self> {
        Self::of(None)
    }

    /// A stream of `self` that is opened now.
    pub(super) fn stream(self: &Arc<Self>) -> Arc<Self> {
        Self::of(Some(Arc::clone(self)))
    }

    fn of(connection: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            connection,
            opened: Instant::now(),
            waits: AtomicUsize::new(0),
            moved_ms: AtomicU64::new(0),
        })
    }

    /// Something is waited for on our side until the answer is dropped.
    pub(super) fn wait(self: &Arc<Self>) -> Wait {
        self.and_connection(|it| {
            it.waits.fetch_add(1, Ordering::Relaxed);
        });
        Wait(Arc::clone(self))
    }

    fn and_connection(&self, change: impl Fn(&Self)) {
        change(self);
        self.connection.as_deref().inspect(|it| change(it));
    }

    fn moved(&self) {
        self.and_connection(|it| {
            let ms = u64::try_from(it.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
            it.moved_ms.store(ms, Ordering::Relaxed);
        });
    }

    /// Returns when the client has been waited for, and nothing moved, for `max` to twice
    /// that.
    pub(super) async fn stalled(&self, max: Duration) {
        loop {
            let moved = self.opened + Duration::from_millis(self.moved_ms.load(Ordering::Relaxed));
            let waited_for_us = self.waits.load(Ordering::Relaxed) > 0;
            let now = Instant::now();
            if !waited_for_us && now >= moved + max {
                return;
            }
            sleep_until(if waited_for_us { now } else { moved } + max).await;
        }
    }
}

/// Something that is waited for on our side.
#[derive(Debug)]
pub(super) struct Wait(Arc<Activity>);

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.moved();
        self.0.and_connection(|it| {
            it.waits.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// An answer's body that tells whether it waits for its client or for its source.
pub(super) struct WatchedBody {
    body: Body,
    activity: Arc<Activity>,
    /// While the source has been asked and has nothing yet.
    wait: Option<Wait>,
    /// The call's place, until its answer has been sent.
    _place: Option<OwnedSemaphorePermit>,
}

impl WatchedBody {
    pub(super) fn new(
        body: Body,
        activity: Arc<Activity>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            body,
            activity,
            wait: None,
            _place: place,
        }
    }
}

impl http_body::Body for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() {
            if self.wait.is_none() {
                self.wait = Some(self.activity.wait());
            }
        } else if self.wait.take().is_none() {
            self.activity.moved();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::{sync::mpsc, time::timeout};

    use super::*;

    const MAX: Duration = Duration::from_secs(60);

    /// How long a connection may stay as it is; `None`: for more than an hour.
    async fn lasts(activity: &Activity) -> Option<Duration> {
        let begun = Instant::now();
        let stalled = timeout(Duration::from_secs(3_600), activity.stalled(MAX)).await;
        stalled.ok().map(|()| begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_cut_and_one_who_waits_for_us_is_not() {
        let activity = Activity::new();
        assert_eq!(lasts(&activity).await, Some(MAX));
        let wait = activity.wait();
        assert_eq!(lasts(&activity).await, None);
        drop(wait);
        assert_eq!(lasts(&activity).await, Some(MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_stalls_by_itself_and_moves_its_connection() {
        let connection = Activity::new();
        let (one, other) = (connection.stream(), connection.stream());
        let wait = one.wait();
        assert_eq!(lasts(&one).await, None);
        assert_eq!(lasts(&connection).await, None, "it waits for its stream");
        drop(wait);
        assert_eq!(lasts(&connection).await, Some(MAX), "and has moved with it");
        assert_eq!(lasts(&other).await, Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_for_its_source_or_for_its_client() {
        let activity = Activity::new();
        let (feed, mut pieces) = mpsc::channel::<Bytes>(4);
        let stream = futures_util::stream::poll_fn(move |context| {
            pieces
                .poll_recv(context)
                .map(|piece| piece.map(Ok::<_, axum::Error>))
        });
        let mut body = WatchedBody::new(Body::from_stream(stream), Arc::clone(&activity), None);

        assert!(futures_util::poll!(body.frame()).is_pending());
        assert_eq!(lasts(&activity).await, None, "the source is slow");
        feed.send(Bytes::from_static(b"a")).await.unwrap();
        body.frame().await.unwrap().unwrap();
        feed.send(Bytes::from_static(b"b")).await.unwrap();
        assert_eq!(lasts(&activity).await, Some(MAX), "the client is slow");
        body.frame().await.unwrap().unwrap();
        assert_eq!(lasts(&activity).await, Some(MAX), "and is given time again");
        assert!(futures_util::poll!(body.frame()).is_pending());
        drop(body);
        assert_eq!(
            lasts(&activity).await,
            Some(MAX),
            "a lost body waits for nobody"
        );
    }
}
