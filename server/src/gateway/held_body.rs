//! The body of a call that was held, and whose client may have left meanwhile.
//!
//! A body is not read before its call is admitted, and a connection that is not read does
//! not tell that its client has gone. What the client had sent before it left would then be
//! taken for a call: one that nobody waits for, and that its client may have sent again. So
//! after a hold what is already there is read first; behind it the connection finds its end,
//! and drops the call and its untouched permit.

use std::time::Duration;

use axum::body::Body;
use tokio::time::timeout;

use super::read_ahead::ReadAhead;

/// How much is read ahead, in bytes: the most that may be kept of a body anyway.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// How long the next piece may take. What has been received comes at once; a client that
/// is still sending is still there.
const PIECE_MAX: Duration = Duration::from_millis(20);

/// Reads what is there of `body`, and gives it all back.
///
/// # Errors
/// The body was cut: its client has left.
pub(super) async fn read_ahead(body: Body) -> Result<Body, axum::Error> {
    let mut body = ReadAhead::of(body);
    let mut bytes = 0;
    while bytes < AHEAD_BYTES_MAX
        && !body.is_whole()
        && let Ok(read) = timeout(PIECE_MAX, body.read()).await
        && let Some(length) = read?
    {
        bytes += length;
    }
    Ok(Body::new(body))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn all_that_was_read_is_given_back() {
        let pieces: Vec<Result<Bytes, axum::Error>> =
            ["ab", "", "c"].map(|piece| Ok(Bytes::from(piece))).into();
        let read = read_ahead(Body::from_stream(futures_util::stream::iter(pieces))).await;
        assert_eq!(read.unwrap().collect().await.unwrap().to_bytes(), "abc");
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
