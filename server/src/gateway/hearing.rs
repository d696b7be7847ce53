//! What of an answer speaks of the upstream's limits, told to the breakers as soon as it
//! is known: at once where the head says it all, else with enough of the error's body.

use http::{HeaderMap, header::CONTENT_ENCODING, response::Parts};
use spillway::{
    Signal,
    signal::{self, BODY_BYTES_MAX},
};

use super::slot::Slot;

/// From this status on, the body may say more than the head.
const ERROR_STATUS_MIN: u16 = 400;

/// One answer, being listened to.
#[derive(Debug)]
pub(super) struct Hearing {
    status: u16,
    /// What waits for the body; none once it is known what the answer says.
    headers: Option<HeaderMap>,
    body: Vec<u8>,
    /// What the answer says.
    signal: Option<Signal>,
    /// Whether that was told.
    told: bool,
}

impl Hearing {
    /// Listens to an answer from its head on.
    pub(super) fn begin(parts: &Parts) -> Self {
        let mut hearing = Self {
            status: parts.status.as_u16(),
            headers: None,
            body: Vec::new(),
            signal: None,
            told: false,
        };
        let is_plain = !parts.headers.contains_key(CONTENT_ENCODING);
        if hearing.status >= ERROR_STATUS_MIN && is_plain {
            hearing.headers = Some(parts.headers.clone());
        } else {
            hearing.signal = Some(hearing.read(&parts.headers));
        }
        hearing
    }

    /// More of the body has come.
    pub(super) fn more(&mut self, data: &[u8], slot: &Slot) {
        if self.headers.is_none() {
            return;
        }
        let room = BODY_BYTES_MAX - self.body.len();
        self.body.extend_from_slice(&data[..data.len().min(room)]);
        if self.body.len() == BODY_BYTES_MAX {
            self.end(slot);
        }
    }

    /// There is no more to come. Again: nothing.
    pub(super) fn end(&mut self, slot: &Slot) {
        self.conclude();
        self.tell(slot);
    }

    /// There is no more to come, and with it the call has ended.
    pub(super) fn complete(&mut self, slot: &mut Slot) {
        self.conclude();
        match self.signal.as_ref().filter(|_| !self.told) {
            Some(signal) => slot.complete_with(signal),
            None => slot.complete(),
        }
        self.told = true;
    }

    /// Tells what is known, if anything is that was not told.
    pub(super) fn tell(&mut self, slot: &Slot) {
        if let Some(signal) = self.signal.as_ref().filter(|_| !self.told) {
            slot.report(signal);
            self.told = true;
        }
    }

    fn conclude(&mut self) {
        if let Some(headers) = self.headers.take() {
            self.signal = Some(self.read(&headers));
        }
    }

    fn read(&self, headers: &HeaderMap) -> Signal {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let unix_ms = jiff::Timestamp::now().as_millisecond();
        signal::read(&signal::Answer {
            status: self.status,
            headers: &headers,
            body: &self.body,
            unix_ms: u64::try_from(unix_ms).unwrap_or(0),
        })
    }

    /// What the answer said, once it was told.
    pub(super) fn signal(&self) -> Option<&Signal> {
        self.signal.as_ref()
    }
}
