//! What a whole answer says of a batch: of each part, or of none.

use std::collections::HashSet;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response::Parts};
use spillway::signal::{self, BODY_BYTES_MAX, Signal, Verdict};

use super::{
    super::links::{self, Unreadable},
    answer,
    round::{ANSWER_BYTES_MAX, COPIES, Came, Round, Unread},
};

/// An answer that is none to a batch.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Without its coding, if that is known.
    pub(super) body: Bytes,
    /// Why it is none.
    pub(super) why: &'static str,
    /// What stood in the way of one.
    pub(super) verdict: Verdict,
}

/// Why an answer is none to a batch.
const NO_BATCH_S: &str = "it is no answer to a batch";
const CODED: &str = "its content coding cannot be read";

/// A whole answer.
pub(super) struct Heard {
    head: Parts,
    body: Bytes,
    /// Whether it is still coded, in a way that cannot be read.
    is_coded: bool,
}

impl Round {
    /// Upstreams answer in codings that nobody asked them for.
    pub(super) fn decode(&mut self, mut head: Parts, body: Bytes) -> Result<Heard, Unread> {
        let mut length = 0;
        let memory = &mut self.memory;
        let has_room = |more: usize| {
            length += more;
            length <= ANSWER_BYTES_MAX && memory.grow(COPIES * more).is_ok()
        };
        let (body, is_coded) = match links::decode(&mut head.headers, body.clone(), has_room) {
            Ok(body) => (body, false),
            Err(Unreadable::TooLong) => {
                self.complete();
                return Err(Unread::TooLarge);
            }
            Err(_) => (body, true),
        };
        Ok(Heard {
            head,
            body,
            is_coded,
        })
    }

    /// Tells the breakers what the answer says, and gives back what is over.
    pub(super) fn hear(&mut self, heard: Heard) -> Came {
        let unix_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
        let answers = (!heard.is_coded).then(|| answer::read(&heard.body));
        let Some(mut answers) = answers.flatten() else {
            return self.hear_other(heard, unix_ms);
        };
        let told = self.parts.iter_mut().map(|going| {
            let place = answers.iter().position(|(key, _)| *key == going.key);
            let answer = place.map(|place| answers.remove(place).1);
            let heard = answer.map(|answer| {
                let signal = answer.signal(unix_ms);
                going.slot.report(&signal);
                going.slot.complete();
                (answer, signal)
            });
            (going.part, heard)
        });
        let told = told.collect();
        Came::Answers(heard.head, told)
    }

    /// One answer for all parts.
    fn hear_other(&mut self, heard: Heard, unix_ms: u64) -> Came {
        let Heard {
            head,
            body,
            is_coded,
        } = heard;
        let headers = head.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let signal = signal::read(&signal::Answer {
            status: head.status.as_u16(),
            headers: &headers,
            body: if is_coded {
                &[]
            } else {
                body.get(..BODY_BYTES_MAX).unwrap_or(&body)
            },
            unix_ms,
        });
        // What the call cost is not what each part of it did.
        let signal = Signal {
            charged_units: None,
            ..signal
        };
        let mut payers = HashSet::new();
        for going in &mut self.parts {
            if signal.verdict != Verdict::Outage || payers.insert(going.payer.as_str()) {
                going.slot.report(&signal);
            }
            going.slot.complete();
        }
        let whole = Whole {
            status: head.status,
            headers: head.headers,
            body,
            why: if is_coded { CODED } else { NO_BATCH_S },
            verdict: signal.verdict,
        };
        Came::Other(whole, signal)
    }
}
