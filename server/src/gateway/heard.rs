//! An answer as far as it has been heard: its head, and of one that may be repeated also
//! its body, since its error's code can say that repeating does not help.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{
    Response, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
    response::Parts,
};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use spillway::signal::BODY_BYTES_MAX;
use tokio::time::{Instant, timeout_at};

use super::{
    answer::PIECES_MAX,
    failure::Failure,
    hearing::Hearing,
    readmission::Setback,
    retry::{Trouble, stay_away},
    slot::Slot,
};

/// How long a failed answer's body may take. One that takes longer is relayed as it comes.
const BODY_MAX: Duration = Duration::from_secs(2);

/// An answer that nothing of has been relayed.
pub(super) struct Heard {
    pub(super) parts: Parts,
    /// What of its body has been read, at most [`BODY_BYTES_MAX`] and one piece.
    pub(super) ahead: Vec<Bytes>,
    /// What has not; `None` after its end.
    pub(super) rest: Option<Incoming>,
    /// Why nothing comes behind what has been read.
    pub(super) broken: Option<hyper::Error>,
    pub(super) hearing: Hearing,
    at: Instant,
}

impl Heard {
    /// Hears as much of an answer as decides whether it is relayed. Its permit is completed
    /// if the body has ended.
    ///
    /// On the heap, since it goes from hand to hand.
    pub(super) async fn of(
        response: Response<Incoming>,
        slot: &mut Slot,
    ) -> Result<Box<Self>, Failure> {
        let mut heard = Box::new(Self::head(response, slot)?);
        heard.end_if_ended(slot);
        if Trouble::may_be(heard.parts.status.as_u16()) {
            heard.hearing.tell(slot);
            // Seldom: other calls need not carry its size.
            Box::pin(heard.read_ahead(slot)).await?;
        } else {
            heard.take_what_is_there(slot);
            heard.hearing.tell(slot);
        }
        Ok(heard)
    }

    fn head(response: Response<Incoming>, slot: &Slot) -> Result<Self, Failure> {
        let at = Instant::now();
        let (mut parts, body) = response.into_parts();
        // The chunks count, and a length beside them is a lie (RFC 9112, 6.3).
        if parts.headers.contains_key(TRANSFER_ENCODING) {
            parts.headers.remove(CONTENT_LENGTH);
        }
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::Switched);
        }
        slot.answered(parts.status);
        Ok(Self {
            hearing: Hearing::begin(&parts),
            parts,
            ahead: Vec::new(),
            rest: Some(body),
            broken: None,
            at,
        })
    }

    /// Takes what is there of the body already, at most as much as may wait for its caller.
    fn take_what_is_there(&mut self, slot: &mut Slot) {
        while let Some(body) = &mut self.rest
            && self.ahead.len() < PIECES_MAX
            && let Some(frame) = body.frame().now_or_never()
        {
            match frame {
                None => self.end(slot),
                Some(Ok(frame)) => drop(self.take(frame, slot)),
                Some(Err(error)) => {
                    self.broken = Some(error);
                    return;
                }
            }
        }
    }

    /// A piece of the body, and its end, if that is known. It is, before the caller sees the piece:
    /// it may call again at once.
    fn take(&mut self, frame: Frame<Bytes>, slot: &mut Slot) -> Bytes {
        let data = frame.into_data().unwrap_or_default();
        self.hearing.more(&data, slot);
        self.ahead.push(data.clone());
        self.end_if_ended(slot);
        data
    }

    async fn read_ahead(&mut self, slot: &mut Slot) -> Result<(), Failure> {
        let mut bytes = 0;
        while let Some(body) = &mut self.rest
            && bytes <= BODY_BYTES_MAX
        {
            let mut frame = pin!(timeout_at(self.at + BODY_MAX, body.frame()));
            match slot.during(frame.as_mut()).await? {
                // The breaker has to know by now: the rest may take minutes.
                Err(_) => {
                    self.hearing.end(slot);
                    return Ok(());
                }
                Ok(None) => self.end(slot),
                Ok(Some(frame)) => {
                    bytes += self.take(frame.map_err(Failure::Broken)?, slot).len();
                }
            }
        }
        Ok(())
    }

    fn end_if_ended(&mut self, slot: &mut Slot) {
        if self.rest.as_ref().is_some_and(Incoming::is_end_stream) {
            self.end(slot);
        }
    }

    fn end(&mut self, slot: &mut Slot) {
        self.rest = None;
        self.hearing.complete(slot);
    }

    /// What stands in the way of a success, if the answer is whole and repeating may help.
    pub(super) fn setback(&self) -> Option<Setback> {
        let signal = self.hearing.signal().filter(|_| self.rest.is_none())?;
        Some(Setback {
            trouble: Trouble::of(self.parts.status.as_u16(), signal.verdict)?,
            told: signal.retry_after_ms.map(Duration::from_millis),
            at: self.at,
        })
    }

    /// The least that its client should stay away from now on; `None`: it speaks of nothing that
    /// goes by itself.
    pub(super) fn stay_away(&self) -> Option<Duration> {
        let signal = self.hearing.signal()?;
        let told = signal.retry_after_ms.map(Duration::from_millis);
        let left = told.map(|told| told.saturating_sub(self.at.elapsed()));
        stay_away(self.parts.status.as_u16(), signal.verdict, left)
    }
}
