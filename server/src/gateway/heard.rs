//! An answer as far as it has been heard: its head, and of one that may be repeated also
//! its body, since its error's code can say that repeating does not help.

use std::time::Duration;

use bytes::Bytes;
use http::{
    Response, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
    response::Parts,
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use spillway::signal::BODY_BYTES_MAX;
use tokio::time::{Instant, timeout_at};

use super::{
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
    pub(super) hearing: Hearing,
    at: Instant,
}

impl Heard {
    /// Hears as much of an answer as decides whether it is relayed. Its permit is completed
    /// if the body has ended.
    pub(super) async fn of(response: Response<Incoming>, slot: &mut Slot) -> Result<Self, Failure> {
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
        let mut heard = Self {
            hearing: Hearing::begin(&parts, slot),
            parts,
            ahead: Vec::new(),
            rest: Some(body),
            at,
        };
        heard.end_if_ended(slot);
        if Trouble::may_be(heard.parts.status.as_u16()) {
            heard.read_ahead(slot).await?;
        }
        Ok(heard)
    }

    async fn read_ahead(&mut self, slot: &mut Slot) -> Result<(), Failure> {
        let mut bytes = 0;
        while let Some(body) = &mut self.rest
            && bytes <= BODY_BYTES_MAX
        {
            let frame = slot.during(timeout_at(self.at + BODY_MAX, body.frame()));
            match frame.await? {
                // The breaker has to know by now: the rest may take minutes.
                Err(_) => {
                    self.hearing.end(slot);
                    return Ok(());
                }
                Ok(None) => self.end(slot),
                Ok(Some(frame)) => {
                    let data = frame.map_err(Failure::Broken)?.into_data();
                    let data = data.unwrap_or_default();
                    bytes += data.len();
                    self.hearing.more(&data, slot);
                    self.ahead.push(data);
                    self.end_if_ended(slot);
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
        self.hearing.end(slot);
        slot.complete();
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
