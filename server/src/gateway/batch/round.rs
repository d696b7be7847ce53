//! One `$batch` upstream, from its first byte to the last of its answer.
//!
//! As with a single call ([`super::super::exchange`]) it runs in a task of its own, so that a
//! caller who hangs up ends nothing. Each part's permit ends by the part's own outcome:
//!
//! | what happened | the part's permit |
//! |---|---|
//! | it was answered, or the whole batch was | completed |
//! | the answer was read to its end, but is too large to keep | completed |
//! | not a byte of the batch was written | refunded |
//! | anything else: broken, cut, left out of the answer | dropped, held to its expiry: it may still run |

use std::{collections::HashSet, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response, StatusCode, response::Parts};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use spillway::Signal;
use tokio::time::timeout;

use super::{
    super::{
        connections::{Connection, Connections},
        failure::Failure,
        slot::Slot,
    },
    answer::Answer,
    hearing::{Heard, Whole},
    memory::Reserved,
};
use crate::access::Caller;

/// The most bytes of one answer: 32 MiB, eight times what a batch may have. Beyond, its parts
/// are better sent one by one, where bodies are not kept.
pub(super) const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long the rest of a longer answer is still read: with its end its parts' permits are
/// free, minutes before they expire.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// How much memory an answer takes: itself, with its links rewritten, and in the merged one.
pub(super) const COPIES: usize = 3;

/// A part on its way.
pub(super) struct Going {
    /// Which.
    pub(super) part: usize,
    /// Its id, as answers are told apart.
    pub(super) key: String,
    /// Whom an outage is counted for, once for each round.
    pub(super) payer: String,
    pub(super) slot: Slot,
}

/// One batch that has its permits.
pub(super) struct Round {
    pub(super) parts: Vec<Going>,
    pub(super) connections: Arc<Connections>,
    /// Who sent it.
    pub(super) caller: Caller,
    /// What its answer takes.
    pub(super) memory: Reserved,
}

/// What came back.
pub(super) struct Over {
    /// Which parts went.
    pub(super) parts: Vec<usize>,
    pub(super) came: Came,
    /// For as long as the answers are kept.
    pub(super) memory: Reserved,
}

/// What became of a round.
pub(super) enum Came {
    /// A batch's answer: its head, and what it says of each part. `None`: nothing.
    Answers(Parts, Vec<(usize, Option<(Answer, Signal)>)>),
    /// Something else.
    Other(Whole, Signal),
    /// No answer.
    Lost(Failure),
    /// More than is kept.
    TooLarge,
}

/// Why an answer was not read to its end.
pub(super) enum Unread {
    Failed(Failure),
    TooLarge,
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Round {
    /// Carries it to its end, whatever its caller does.
    pub(super) async fn run(mut self, request: Request<Body>) -> Over {
        let came = match self.carry(request).await {
            Ok(heard) => self.hear(heard),
            Err(Unread::Failed(failure)) => {
                self.report_failure(&failure);
                Came::Lost(failure)
            }
            Err(Unread::TooLarge) => Came::TooLarge,
        };
        Over {
            parts: self.parts.iter().map(|going| going.part).collect(),
            came,
            memory: self.memory,
        }
    }

    async fn carry(&mut self, request: Request<Body>) -> Result<Heard, Unread> {
        let (connection, response) = self.send(request).await?;
        let (head, body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::Switched.into());
        }
        self.answered(head.status);
        let body = self.collect(body).await?;
        let connections = Arc::clone(&self.connections);
        connections.keep(connection);
        self.decode(head, body)
    }

    /// On a connection that is open, else on a new one. What is handed back was not begun.
    async fn send(
        &mut self,
        mut request: Request<Body>,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        loop {
            let idle = self.connections.idle();
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => {
                    let connections = Arc::clone(&self.connections);
                    self.during(connections.open()).await??
                }
            };
            // It may have waited for the connection.
            self.caller.still_valid().map_err(Failure::Ended)?;
            self.written(true);
            match self.during(connection.send(request)).await? {
                Ok(response) => return Ok((connection, response)),
                Err(mut error) => {
                    let unsent = error.take_message();
                    self.written(unsent.is_none());
                    match unsent {
                        Some(unsent) if reused => request = unsent,
                        Some(_) => return Err(Failure::Unreachable(error.into_error().into())),
                        None => return Err(error.into_error().into()),
                    }
                }
            }
        }
    }

    async fn collect(&mut self, mut body: Incoming) -> Result<Bytes, Unread> {
        let mut bytes = Vec::new();
        while let Some(frame) = self.during(body.frame()).await? {
            let data = frame
                .map_err(Failure::Broken)?
                .into_data()
                .unwrap_or_default();
            let fits = bytes.len() + data.len() <= ANSWER_BYTES_MAX;
            if !fits || self.memory.grow(COPIES * data.len()).is_err() {
                drop(bytes);
                self.drain(body).await?;
                return Err(Unread::TooLarge);
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.into())
    }

    /// Reads what is left without keeping it.
    async fn drain(&mut self, mut body: Incoming) -> Result<(), Failure> {
        let ended = async {
            loop {
                match body.frame().await {
                    Some(Ok(_)) => {}
                    Some(Err(_)) => return false,
                    None => return true,
                }
            }
        };
        if let Ok(true) = self.during(timeout(DRAIN_MAX, ended)).await? {
            self.complete();
        }
        Ok(())
    }

    pub(super) fn complete(&mut self) {
        for going in &mut self.parts {
            going.slot.complete();
        }
    }

    async fn during<F: Future>(&mut self, work: F) -> Result<F::Output, Failure> {
        let mut slots: Vec<_> = self.parts.iter_mut().map(|going| &mut going.slot).collect();
        Slot::during_all(&mut slots, work)
            .await
            .map_err(Failure::from)
    }

    fn written(&mut self, written: bool) {
        for going in &mut self.parts {
            going.slot.written(written);
        }
    }

    /// The upstream looks at a batch's bearer once.
    fn answered(&self, status: StatusCode) {
        for going in &self.parts {
            going.slot.answered(status);
        }
    }

    /// A batch that gets no answer is one failure for each of its users, not one for each part.
    fn report_failure(&self, failure: &Failure) {
        let mut payers = HashSet::new();
        for going in &self.parts {
            if failure.is_upstreams() && payers.insert(going.payer.as_str()) {
                going.slot.report_failure();
            }
        }
    }
}
