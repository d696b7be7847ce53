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
    /// What waits for the body; none once everything has been told.
    headers: Option<HeaderMap>,
    body: Vec<u8>,
    /// What was told.
    signal: Option<Signal>,
}

impl Hearing {
    /// Listens to an answer from its head on.
    pub(super) fn begin(parts: &Parts, slot: &Slot) -> Self {
        let mut hearing = Self {
            status: parts.status.as_u16(),
            headers: None,
            body: Vec::new(),
            signal: None,
        };
        let is_plain = !parts.headers.contains_key(CONTENT_ENCODING);
        if hearing.status >= ERROR_STATUS_MIN && is_plain {
            hearing.headers = Some(parts.headers.clone());
        } else {
            hearing.tell(&parts.headers, slot);
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
        if let Some(headers) = self.headers.take() {
            self.tell(&headers, slot);
        }
    }

    fn tell(&mut self, headers: &HeaderMap, slot: &Slot) {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let unix_ms = jiff::Timestamp::now().as_millisecond();
        let signal = signal::read(&signal::Answer {
            status: self.status,
            headers: &headers,
            body: &self.body,
            unix_ms: u64::try_from(unix_ms).unwrap_or(0),
        });
        slot.report(&signal);
        self.signal = Some(signal);
    }

    /// What the answer said, once it was told.
    pub(super) fn signal(&self) -> Option<&Signal> {
        self.signal.as_ref()
    }
}
