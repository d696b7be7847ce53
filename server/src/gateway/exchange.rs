//! One call upstream, from its first byte to the last of its answer.
//!
//! It becomes a task of its own where its caller hangs up ([`super::carried`]), who so ends
//! nothing: the upstream goes on working, and so the permit stays taken until the upstream's answer has been read
//! to its end. What is then given back, and when:
//!
//! | what happened | the permit |
//! |---|---|
//! | the answer's body ended | completed, before the caller sees the end |
//! | not a byte of the call was written | refunded |
//! | anything else: broken, cut, too long | dropped, held to its expiry: the call may still run |
//!
//! One permit, one request on the wire, and no redirect is followed. What failed and may be
//! repeated ([`super::retry`]) goes again under another permit ([`super::readmission`]), as
//! long as its caller waits and nothing of an answer has been relayed.

use std::{pin::pin, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, header::RETRY_AFTER, response::Parts};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use super::{
    answer::{self, AnswerBody, Feed},
    connections::{Connection, Connections},
    failure::Failure,
    heard::Heard,
    links::{Answers, Document},
    passage::Passage,
    readmission::{Denied, Readmission, Setback},
    record::{Outcome, Record},
    refusal::upstream_id,
    replay::Call,
    response_headers::backward,
    slot::Slot,
};

/// A call that has been admitted.
pub(super) struct Exchange {
    /// Its right to be on the wire.
    pub(super) slot: Slot,
    /// How it gets another one.
    pub(super) readmission: Readmission,
    /// How its answer's links are rewritten; `None`: not at all.
    pub(super) links: Option<Answers>,
    /// What is logged of it.
    pub(super) record: Record,
    /// Its upstream's connections.
    pub(super) connections: Arc<Connections>,
    /// What is sent.
    pub(super) call: Call,
    /// Where its caller waits for the answer's head.
    pub(super) caller: Option<oneshot::Sender<Result<Response<Body>, Failure>>>,
}

impl Exchange {
    /// Carries the call to its end, whatever its caller does.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` holds what it is given twice, and all of it is moved"
    )]
    pub(super) fn run(mut self) -> impl Future<Output = ()> + Send {
        async move {
            match self.carry().await {
                Ok(None) => {}
                Ok(Some(connection)) => self.connections.keep(connection),
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Sends the call until there is an answer for its caller. The connection is the last
    /// attempt's, if it is to be kept.
    async fn carry(&mut self) -> Result<Option<Connection>, Failure> {
        loop {
            match self.attempt().await {
                Ok((connection, heard)) => {
                    let Some(setback) = heard.setback() else {
                        self.give_up(heard, Denied::default()).await?;
                        return Ok(Some(connection));
                    };
                    self.connections.keep(connection);
                    if let Err(denied) = self.again(&setback).await {
                        if let Some(not) = denied.ended {
                            return Err(Failure::Ended(not));
                        }
                        self.give_up(heard, denied).await?;
                        return Ok(None);
                    }
                }
                Err(failure) => {
                    self.end_unanswered(&failure);
                    let Some(setback) = Setback::of(&failure) else {
                        return Err(failure);
                    };
                    if let Err(denied) = self.again(&setback).await {
                        return Err(denied.ended.map_or(failure, Failure::Ended));
                    }
                }
            }
        }
    }

    /// Sends the call once and hears what decides about its answer.
    async fn attempt(&mut self) -> Result<(Connection, Box<Heard>), Failure> {
        let (connection, response) = self.send().await?;
        let heard = Heard::of(response, &mut self.slot).await?;
        Ok((connection, heard))
    }

    /// On a connection that is open, else on a new one: what hyper hands back was not
    /// begun, so that trying another connection is no second request on the wire.
    async fn send(&mut self) -> Result<(Connection, Response<Incoming>), Failure> {
        loop {
            let idle = self.connections.idle();
            let reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                // On the heap: most calls find one, and need not carry what it takes to make one.
                None => {
                    let open = Box::pin(self.connections.open());
                    self.slot.during(open).await??
                }
            };
            let request = self.call.take().ok_or(Failure::Gone)?;
            // It may have waited: for its body, or for the connection.
            let caller = &self.readmission.caller;
            caller.still_valid().map_err(Failure::Ended)?;
            self.slot.written(true);
            let sent = {
                let mut sent = pin!(connection.send(request));
                self.slot.during(sent.as_mut()).await?
            };
            match sent {
                Ok(response) => return Ok((connection, response)),
                Err(mut error) => {
                    let Some(unsent) = error.take_message() else {
                        return Err(error.into_error().into());
                    };
                    self.slot.written(false);
                    self.call.give_back(unsent);
                    if !reused {
                        return Err(Failure::Unreachable(error.into_error().into()));
                    }
                }
            }
        }
    }

    /// Waits for the right to send the call again, as long as its caller waits, too.
    async fn again(&mut self, setback: &Setback) -> Result<(), Denied> {
        let caller = self.caller.as_mut().filter(|_| self.call.is_there());
        let caller = caller.ok_or_else(Denied::default)?;
        let slot = tokio::select! {
            biased;
            () = caller.closed() => return Err(Denied::default()),
            // Seldom: other calls need not carry its size.
            slot = Box::pin(self.readmission.slot(setback)) => slot?,
        };
        self.slot = slot.with(self.slot.turn());
        self.record.retries += 1;
        Ok(())
    }

    /// Relays the answer that it is. Where it speaks of what goes by itself, its caller learns
    /// when there will be room, in a form that SDKs obey.
    async fn give_up(&mut self, mut heard: Box<Heard>, denied: Denied) -> Result<(), Failure> {
        if let Some(least) = heard.stay_away() {
            let seconds = Box::pin(self.readmission.retry_after(least, denied)).await;
            let headers = &mut heard.parts.headers;
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        self.relay(heard).await
    }

    /// Passes an answer on: at once where all of it is there, as of most calls it is; else piece
    /// by piece as it comes.
    async fn relay(&mut self, mut heard: Box<Heard>) -> Result<(), Failure> {
        let mut document = self.begin(&mut heard.parts);
        if heard.rest.is_none()
            && let Some(whole) = whole(&heard.ahead, document.as_mut())
        {
            let is_heard = self.answer(heard.parts, AnswerBody::Whole(whole));
            self.record.outcome = if is_heard {
                Outcome::Relayed
            } else {
                Outcome::Drained
            };
            return Ok(());
        }
        Box::pin(self.stream(heard, document)).await
    }

    /// Passes on what has been read, and the rest as it comes.
    async fn stream(
        &mut self,
        heard: Box<Heard>,
        document: Option<Document>,
    ) -> Result<(), Failure> {
        let Heard {
            parts,
            ahead,
            mut rest,
            broken,
            mut hearing,
            ..
        } = *heard;
        let empty = ahead.is_empty() && rest.is_none();
        let (feed, body) = answer::channel();
        let mut passage = if self.answer(parts, body) {
            Passage::new(feed, document.filter(|_| !empty))
        } else {
            Passage::new(Feed::nowhere(), None)
        };
        for data in ahead {
            self.slot.during(pin!(passage.push(data))).await?;
        }
        if let Some(error) = broken {
            return Err(Failure::Broken(error));
        }
        while let Some(body) = &mut rest
            && let Some(frame) = self.slot.during(body.frame()).await?
        {
            let data = frame.map_err(Failure::Broken)?.into_data();
            let data = data.unwrap_or_default();
            hearing.more(&data, &self.slot);
            // Before the caller sees the last byte: it may call again at once.
            if body.is_end_stream() {
                hearing.end(&self.slot);
                self.slot.complete();
            }
            self.slot.during(pin!(passage.push(data))).await?;
        }
        hearing.end(&self.slot);
        self.slot.complete();
        self.record.outcome = match self.slot.during(pin!(passage.end())).await? {
            Ok(true) => Outcome::Relayed,
            Ok(false) => Outcome::Drained,
            Err(error) => {
                self.record.reason = Some(format!("the answer is not coded as it says: {error}"));
                Outcome::Failed
            }
        };
        Ok(())
    }

    /// What of an answer's head is kept, and how its body is to be rewritten.
    fn begin(&mut self, parts: &mut Parts) -> Option<Document> {
        self.record.status = Some(parts.status);
        self.record.upstream_request_id = upstream_id(&parts.headers).map(str::to_owned);
        let links = self.links.as_ref()?;
        links.begin(parts.status, &mut parts.headers)
    }

    /// Tells the caller the answer's head, and where its body comes from. False: he has left.
    fn answer(&mut self, parts: Parts, body: AnswerBody) -> bool {
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        backward(response.headers_mut());
        let caller = self.caller.take();
        caller.is_some_and(|caller| caller.send(Ok(response)).is_ok())
    }

    fn end_unanswered(&mut self, failure: &Failure) {
        if failure.is_upstreams() {
            self.slot.report_failure();
        }
        match failure {
            Failure::UploadCut(_) => self.slot.cut(),
            _ => self.slot.release(),
        }
    }

    fn fail(mut self, failure: Failure) {
        self.end_unanswered(&failure);
        self.record.fail(&failure);
        if let Some(caller) = self.caller.take() {
            drop(caller.send(Err(failure)));
        }
    }
}

/// All of a body that is there, as its caller gets it. `None`: it has to stream; the length of one
/// that would be rewritten is not told where there is none, since this may be a call of `HEAD`.
fn whole(pieces: &[Bytes], document: Option<&mut Document>) -> Option<Bytes> {
    match (document, pieces) {
        (Some(document), [_, ..]) => document.whole(pieces),
        (Some(_), []) => None,
        (None, [piece]) => Some(piece.clone()),
        (None, pieces) => Some(pieces.concat().into()),
    }
}
