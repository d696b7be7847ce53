//! The calls of one HTTP/2 connection, each for itself.
//!
//! A connection on which something moves is not closed; but a client may stop reading one answer
//! and go on with others. What that answer holds, a place among the calls and pieces of its body,
//! would stay with it for as long as the client likes. hyper carries each call in a task of its
//! own, whose end without an end of the answer resets its stream.

use std::{sync::Arc, time::Duration};

use hyper::rt::Executor;

use super::activity::Activity;

tokio::task_local! {
    /// What moves on the stream that this task carries.
    static STREAM: Arc<Activity>;
}

/// Carries the streams of one connection.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    connection: Arc<Activity>,
    idle: Duration,
}

impl Streams {
    /// Resets a stream whose client is waited for, while nothing moves on it, for `idle` to twice
    /// that.
    pub(super) fn of(connection: &Arc<Activity>, idle: Duration) -> Self {
        Self {
            connection: Arc::clone(connection),
            idle,
        }
    }
}

/// The stream of the call that is being answered; `None`: it has its connection for itself.
pub(super) fn current() -> Option<Arc<Activity>> {
    STREAM.try_with(Arc::clone).ok()
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let (stream, idle) = (self.connection.stream(), self.idle);
        let watched = Arc::clone(&stream);
        tokio::spawn(STREAM.scope(stream, async move {
            tokio::select! {
                biased;
                () = call => {}
                () = watched.stalled(idle) => {
                    tracing::debug!("a call on which nothing moved is reset");
                }
            }
        }));
    }
}
