//! Why an upstream's answer did not come.

use super::{connections::ConnectError, retry::Trouble, slot::Expired};
use crate::{access::NotValid, http::TooSlow};

/// Why an upstream's answer did not come.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No connection; nothing was written.
    #[error("the upstream cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No connection in time; nothing was written.
    #[error("the upstream cannot be reached in time")]
    ConnectTimeout,
    /// The connection ended before the answer did.
    #[error("the connection to the upstream broke")]
    Broken(#[source] hyper::Error),
    /// The upstream's answer begins in a way that means nothing, or with more headers than are
    /// taken. It has answered: asking again would change nothing.
    #[error("the head of the upstream's answer cannot be read")]
    Unreadable(#[source] hyper::Error),
    /// The upstream changed to another protocol unasked.
    #[error("the upstream left HTTP unasked")]
    Switched,
    /// The caller's body ended before its end.
    #[error("the call's body ended early, or is not framed as its head says")]
    UploadCut(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The caller's token ended before the call was sent, or sent again.
    #[error("Spillway-Token: {0}")]
    Ended(NotValid),
    /// It ran for as long as a permit can be kept.
    #[error("the upstream took longer than a call may")]
    TooLong,
    /// The process ends.
    #[error("shutting down")]
    Gone,
}

impl Failure {
    /// Whether it speaks of the upstream's health; else of the caller's, or of ours.
    pub(super) const fn is_upstreams(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::ConnectTimeout
            | Self::Broken(_)
            | Self::Unreadable(_)
            | Self::Switched
            | Self::TooLong => true,
            Self::UploadCut(_) | Self::Ended(_) | Self::Gone => false,
        }
    }

    /// What it means for another attempt; `None`: there is no use in one.
    pub(super) const fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Unreachable(_) | Self::ConnectTimeout => Some(Trouble::Unsent),
            Self::Broken(_) => Some(Trouble::Broken),
            Self::Unreadable(_)
            | Self::Switched
            | Self::UploadCut(_)
            | Self::Ended(_)
            | Self::TooLong
            | Self::Gone => None,
        }
    }

    /// Whether the caller's body was cut for being too slow.
    pub(super) fn is_slow_upload(&self) -> bool {
        self.causes().any(|cause| cause.is::<TooSlow>())
    }

    /// It and its causes on one line.
    pub(super) fn chain(&self) -> String {
        let causes: Vec<_> = self.causes().map(ToString::to_string).collect();
        causes.join(": ")
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        let first: &(dyn std::error::Error + 'static) = self;
        std::iter::successors(Some(first), |error| error.source())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Failed(source) => Self::Unreachable(source),
            ConnectError::Timeout => Self::ConnectTimeout,
        }
    }
}

impl From<hyper::Error> for Failure {
    fn from(error: hyper::Error) -> Self {
        // The only thing of the user's in an exchange is the call's body.
        if error.is_user() {
            Self::UploadCut(error.into())
        } else if error.is_parse() {
            Self::Unreadable(error)
        } else {
            Self::Broken(error)
        }
    }
}

impl From<Expired> for Failure {
    fn from(Expired: Expired) -> Self {
        Self::TooLong
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;

    use super::*;

    /// What becomes of a call whose body ends in `error`, as hyper tells it.
    async fn cut(error: impl Into<axum::BoxError>) -> Failure {
        let (client, _upstream) = tokio::io::duplex(1_024);
        let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        let pieces = [Ok("half"), Err(error.into())];
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let request = Request::post("/").body(body).unwrap();
        sender.send_request(request).await.unwrap_err().into()
    }

    #[tokio::test]
    async fn a_slow_upload_is_told_from_one_that_its_client_cut() {
        let slow = cut(TooSlow).await;
        assert!(matches!(slow, Failure::UploadCut(_)) && slow.is_slow_upload());
        assert!(
            !slow.is_upstreams(),
            "the upstream's breaker must not count it"
        );
        assert!(
            slow.chain().ends_with(&TooSlow.to_string()),
            "{}",
            slow.chain()
        );
        let left = cut("gone").await;
        assert!(matches!(left, Failure::UploadCut(_)) && !left.is_slow_upload());
    }
}
