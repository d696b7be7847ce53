//! One call upstream, from its first byte to the last of its answer.
//!
//! It runs in a task of its own, so that a caller who hangs up ends nothing: the upstream
//! goes on working, and so the permit stays taken until the upstream's answer has been read
//! to its end. What is then given back, and when:
//!
//! | what happened | the permit |
//! |---|---|
//! | the answer's body ended | completed, before the caller sees the end |
//! | not a byte of the call was written | refunded |
//! | anything else: broken, cut, too long | dropped, held to its expiry: the call may still run |
//!
//! Nothing is sent twice and no redirect is followed: one permit, one request on the wire.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use super::{
    answer::{self, AnswerBody, Feed},
    connections::{ConnectError, Connection, Connections},
    hearing::Hearing,
    record::{Outcome, Record},
    refusal::failure_kind,
    response_headers::backward,
    slot::{Expired, Slot},
};

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
    /// The upstream changed to another protocol unasked.
    #[error("the upstream left HTTP unasked")]
    Switched,
    /// The caller's body ended before its end.
    #[error("the call's body was cut")]
    UploadCut(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It ran for as long as a permit can be kept.
    #[error("the upstream took longer than a call may")]
    TooLong,
    /// The process ends.
    #[error("shutting down")]
    Gone,
}

impl Failure {
    /// Whether it speaks of the upstream's health; else of the caller's, or of ours.
    const fn is_upstreams(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::ConnectTimeout
            | Self::Broken(_)
            | Self::Switched
            | Self::TooLong => true,
            Self::UploadCut(_) | Self::Gone => false,
        }
    }
}

/// A call that has been admitted.
pub(super) struct Exchange {
    /// Its right to be on the wire.
    pub(super) slot: Slot,
    /// What is logged of it.
    pub(super) record: Record,
    /// Its upstream's connections.
    pub(super) connections: Arc<Connections>,
    /// Where its caller waits for the answer's head.
    pub(super) caller: Option<oneshot::Sender<Result<Response<Body>, Failure>>>,
}

impl Exchange {
    /// Carries the call to its end, whatever its caller does.
    pub(super) async fn run(mut self, request: Request<Body>) {
        match self.carry(request).await {
            Ok(connection) => {
                let connections = Arc::clone(&self.connections);
                drop(self);
                connections.keep(connection).await;
            }
            Err(failure) => self.fail(failure),
        }
    }

    async fn carry(&mut self, request: Request<Body>) -> Result<Connection, Failure> {
        let (connection, response) = self.send(request).await?;
        let (parts, mut body) = response.into_parts();
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::Switched);
        }
        let mut hearing = Hearing::begin(&parts, &self.slot);
        if body.is_end_stream() {
            hearing.end(&self.slot);
            self.slot.complete();
        }
        let mut feed = self.answer(parts, body.is_end_stream());
        while let Some(frame) = self.slot.during(body.frame()).await? {
            let frame = frame.map_err(Failure::Broken)?;
            let data = frame.into_data().unwrap_or_default();
            hearing.more(&data, &self.slot);
            // Before the caller sees the last byte: it may call again at once.
            if body.is_end_stream() {
                hearing.end(&self.slot);
                self.slot.complete();
            }
            if !data.is_empty() {
                self.slot.during(feed.push(data)).await?;
            }
        }
        hearing.end(&self.slot);
        self.slot.complete();
        let heard = self.slot.during(feed.end()).await?;
        self.record.outcome = if heard {
            Outcome::Relayed
        } else {
            Outcome::Drained
        };
        Ok(connection)
    }

    /// On a connection that is open, else on a new one: what hyper hands back was not
    /// begun, so that trying another connection is no second request on the wire.
    async fn send(
        &mut self,
        mut request: Request<Body>,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        loop {
            let idle = self.connections.idle();
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.slot.during(self.connections.open()).await??,
            };
            self.slot.written(true);
            match self.slot.during(connection.send(request)).await? {
                Ok(response) => return Ok((connection, response)),
                Err(mut error) => {
                    let unsent = error.take_message();
                    self.slot.written(unsent.is_none());
                    match unsent {
                        Some(unsent) if reused => request = unsent,
                        Some(_) => return Err(Failure::Unreachable(error.into_error().into())),
                        None => return Err(error.into_error().into()),
                    }
                }
            }
        }
    }

    /// Tells the caller the answer's head, and says where its body goes.
    fn answer(&mut self, parts: http::response::Parts, empty: bool) -> Feed {
        self.record.status = Some(parts.status);
        let (feed, body) = if empty {
            (Feed::nowhere(true), AnswerBody::empty())
        } else {
            answer::channel()
        };
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        backward(response.headers_mut());
        let caller = self.caller.take();
        if caller.is_some_and(|caller| caller.send(Ok(response)).is_ok()) {
            feed
        } else {
            Feed::nowhere(false)
        }
    }

    fn fail(mut self, failure: Failure) {
        if failure.is_upstreams() {
            self.slot.report_failure();
        }
        // A status that its caller has already seen stays.
        self.record.status.get_or_insert(failure_kind(&failure).0);
        self.record.reason = Some(chain(&failure));
        if let Some(caller) = self.caller.take() {
            drop(caller.send(Err(failure)));
        }
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

/// An error and its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
