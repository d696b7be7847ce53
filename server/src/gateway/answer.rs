//! An answer's body on its way from the exchange, which reads it, to the caller's
//! connection, which may be slower, or gone.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::http::Credit;

/// How many pieces may wait. A piece is at most one read of the upstream's connection
/// ([`super::connections::BUFFER_BYTES`]), so this bounds the bytes as well.
pub(super) const PIECES_MAX: usize = 4;

/// The body did not end as it should: the caller must not take it for whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the upstream's answer ended before its end")]
pub struct Truncated;

#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    End,
}

/// A body of pieces, and where to put them.
pub(super) fn channel() -> (Feed, AnswerBody) {
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    let feed = Feed {
        pieces: Some(sender),
        heard: true,
        credit: Credit::default(),
    };
    (feed, AnswerBody::Coming(receiver))
}

/// Where the exchange puts what it reads. Dropped before [`Feed::end`], it cuts the body.
pub(super) struct Feed {
    pieces: Option<mpsc::Sender<Piece>>,
    heard: bool,
    /// How long the caller may take to read.
    credit: Credit,
}

impl Feed {
    /// For an answer whose caller has left, to drain it.
    pub(super) fn nowhere() -> Self {
        Self {
            pieces: None,
            heard: false,
            credit: Credit::default(),
        }
    }

    /// Waits until there is room, or nobody reads any more. A caller that reads too slowly
    /// counts as gone: its answer is cut, and the upstream's is drained for the permit's sake.
    pub(super) async fn push(&mut self, data: Bytes) {
        self.credit.earn(data.len());
        self.send(Piece::Data(data)).await;
    }

    /// The body is whole. Whether somebody was there for all of it.
    pub(super) async fn end(mut self) -> bool {
        self.send(Piece::End).await;
        self.heard
    }

    async fn send(&mut self, piece: Piece) {
        let Some(pieces) = &self.pieces else { return };
        let sent = match pieces.try_send(piece) {
            Err(TrySendError::Full(piece)) => {
                let room = self.credit.during(pieces.send(piece)).await;
                matches!(room, Ok(Ok(())))
            }
            sent => sent.is_ok(),
        };
        if !sent {
            self.pieces = None;
            self.heard = false;
        }
    }
}

/// What the caller's connection reads.
pub(super) enum AnswerBody {
    /// Piece by piece, as it comes.
    Coming(mpsc::Receiver<Piece>),
    /// All of it that is left.
    Whole(Bytes),
}

impl AnswerBody {
    /// A body without a byte, or one whose end, or cut, has been told.
    pub(super) const fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        let pieces = match &mut *self {
            Self::Coming(pieces) => pieces,
            Self::Whole(left) => {
                let left = std::mem::take(left);
                return Poll::Ready((!left.is_empty()).then(|| Ok(Frame::data(left))));
            }
        };
        let ended = match ready!(pieces.poll_recv(context)) {
            Some(Piece::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Piece::End) => None,
            None => Some(Err(Truncated)),
        };
        *self = Self::empty();
        Poll::Ready(ended)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(left) if left.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Coming(_) => SizeHint::default(),
            Self::Whole(left) => SizeHint::with_exact(left.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    #[tokio::test]
    async fn a_whole_body_ends_and_a_cut_one_fails() {
        let (mut feed, body) = channel();
        feed.push(Bytes::from_static(b"ab")).await;
        assert!(feed.end().await);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "ab");

        let (mut feed, body) = channel();
        feed.push(Bytes::from_static(b"ab")).await;
        drop(feed);
        assert!(matches!(body.collect().await, Err(Truncated)));
    }

    #[tokio::test]
    async fn what_is_all_there_has_a_length_and_is_told_at_once() {
        let body = AnswerBody::Whole(Bytes::from_static(b"abc"));
        assert_eq!(
            (body.size_hint().exact(), body.is_end_stream()),
            (Some(3), false)
        );
        assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
        assert!(AnswerBody::empty().is_end_stream());
    }

    #[tokio::test]
    async fn a_slow_reader_slows_the_writer_and_a_lost_one_does_not() {
        let (mut feed, body) = channel();
        for _ in 0..PIECES_MAX {
            feed.push(Bytes::from_static(b"x")).await;
        }
        let mut more = Box::pin(feed.push(Bytes::from_static(b"y")));
        assert!(futures_util::poll!(&mut more).is_pending());
        drop(body);
        more.await;
        assert!(!feed.end().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_stops_reading_is_cut_and_the_writer_goes_on() {
        let (mut feed, body) = channel();
        let begun = tokio::time::Instant::now();
        for _ in 0..1_000 {
            feed.push(Bytes::from_static(b"x")).await;
        }
        assert!(!feed.end().await);
        assert_eq!(begun.elapsed().as_secs(), 60);
        assert!(matches!(body.collect().await, Err(Truncated)));
    }
}
