//! A body some of which has been read: that comes first, then the rest.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;

/// What was read of a body, and what was not.
#[derive(Debug)]
pub(super) struct ReadAhead {
    ahead: VecDeque<Bytes>,
    rest: Body,
}

impl ReadAhead {
    /// `body`, nothing of which has been read.
    pub(super) fn of(body: Body) -> Self {
        Self {
            ahead: VecDeque::new(),
            rest: body,
        }
    }

    /// Reads the next piece, and keeps it: its length in bytes. `None`: the body has ended.
    ///
    /// # Errors
    /// The body was cut.
    pub(super) async fn read(&mut self) -> Result<Option<usize>, axum::Error> {
        let Some(frame) = self.rest.frame().await.transpose()? else {
            return Ok(None);
        };
        let data = frame.into_data().unwrap_or_default();
        let length = data.len();
        self.ahead.push_back(data);
        Ok(Some(length))
    }

    /// Whether all of it has been read.
    pub(super) fn is_whole(&self) -> bool {
        self.rest.is_end_stream()
    }

    /// What was read.
    pub(super) fn into_ahead(self) -> Vec<u8> {
        Vec::from(self.ahead).concat()
    }

    /// Puts pieces that were taken back, before all others.
    pub(super) fn unread(&mut self, pieces: Vec<Bytes>) {
        for piece in pieces.into_iter().rev() {
            self.ahead.push_front(piece);
        }
    }
}

impl http_body::Body for ReadAhead {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.ahead.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead: usize = self.ahead.iter().map(Bytes::len).sum();
        let ahead = u64::try_from(ahead).unwrap_or(u64::MAX);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(ahead));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(ahead));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(pieces: &'static [&'static str]) -> Body {
        let pieces = pieces.iter().map(|piece| Ok::<_, axum::Error>(*piece));
        Body::from_stream(futures_util::stream::iter(pieces))
    }

    #[tokio::test]
    async fn what_was_read_comes_first_and_counts() {
        let mut body = ReadAhead::of(body(&["ab", "", "c", "de"]));
        for length in [2, 0, 1] {
            assert_eq!(body.read().await.unwrap(), Some(length));
        }
        assert_eq!(body.size_hint().lower(), 3);
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        body.unread(vec![Bytes::from("x"), first]);
        assert!(!body.is_whole() && !body.is_end_stream());
        assert_eq!(body.collect().await.unwrap().to_bytes(), "xabcde");
    }

    #[tokio::test]
    async fn a_known_length_stays_known() {
        let mut body = ReadAhead::of(Body::from("abc"));
        assert_eq!(body.read().await.unwrap(), Some(3));
        assert_eq!((body.is_whole(), body.is_end_stream()), (true, false));
        assert_eq!(body.size_hint().exact(), Some(3));
        assert_eq!(body.read().await.unwrap(), None);
        assert_eq!(body.into_ahead(), b"abc");
        assert!(ReadAhead::of(Body::empty()).is_end_stream());
    }
}
