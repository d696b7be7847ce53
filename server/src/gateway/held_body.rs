//! The body of a call that was held, and whose client may have left meanwhile.
//!
//! A body is not read before its call is admitted, and a connection that is not read does
//! not tell that its client has gone. What the client had sent before it left would then be
//! taken for a call: one that nobody waits for, and that its client may have sent again. So
//! after a hold what is already there is read first; behind it the connection finds its end,
//! and drops the call and its untouched permit.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

/// How much is read ahead, in bytes: the most that may be kept of a body anyway.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// How long the next piece may take. What has been received comes at once; a client that
/// is still sending is still there.
const PIECE_MAX: Duration = Duration::from_millis(20);

/// Reads what is there of `body`, and gives it all back.
///
/// # Errors
/// The body was cut: its client has left.
pub(super) async fn read_ahead(mut body: Body) -> Result<Body, axum::Error> {
    let mut pieces = VecDeque::new();
    let mut bytes = 0;
    while bytes < AHEAD_BYTES_MAX && !body.is_end_stream() {
        let Ok(Some(frame)) = timeout(PIECE_MAX, body.frame()).await else {
            break;
        };
        if let Ok(data) = frame?.into_data() {
            bytes += data.len();
            pieces.push_back(data);
        }
    }
    Ok(Body::new(HeldBody { pieces, rest: body }))
}

/// What was read ahead, then the rest.
struct HeldBody {
    pieces: VecDeque<Bytes>,
    rest: Body,
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.pieces.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead: usize = self.pieces.iter().map(Bytes::len).sum();
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

    #[tokio::test]
    async fn what_was_read_ahead_comes_first_and_counts() {
        let pieces: Vec<Result<Bytes, axum::Error>> =
            ["ab", "", "c"].map(|piece| Ok(Bytes::from(piece))).into();
        let read = read_ahead(Body::from_stream(futures_util::stream::iter(pieces))).await;
        assert_eq!(read.unwrap().collect().await.unwrap().to_bytes(), "abc");

        let known = read_ahead(Body::from("abc")).await.unwrap();
        assert_eq!(known.size_hint().exact(), Some(3));
        assert!(read_ahead(Body::empty()).await.unwrap().is_end_stream());
    }

    #[tokio::test]
    async fn a_cut_body_is_an_error() {
        let cut = [Ok(Bytes::from("ab")), Err(axum::Error::new("cut"))];
        assert!(
            read_ahead(Body::from_stream(futures_util::stream::iter(cut)))
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_slow_client_is_not_waited_for() {
        let never = futures_util::stream::pending::<Result<Bytes, axum::Error>>();
        assert!(
            !read_ahead(Body::from_stream(never))
                .await
                .unwrap()
                .is_end_stream()
        );
    }
}
