//! A paused background call does not go; who is told of a pause is told its end, and goes then
//! if nothing else is in the way.

use spillway::{Answer, BlockedBy, Busy, Call, Refusal};

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

/// Judges each grant and each refusal by the operators' own book.
pub struct PausedIsPaused;

impl Invariant for PausedIsPaused {
    fn name(&self) -> &'static str {
        "paused is paused"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Granted { call, .. } => {
                let until = scene.pauses.until(scene.now, call);
                require(until.is_none(), || {
                    format!("{call:?} goes, paused until {until:?}")
                })
            }
            Seen::Asked {
                call,
                answer: Answer::Refused(Refusal::Busy(busy)),
                ..
            } => told(call, busy, scene),
            Seen::Dismissed {
                waiting,
                refusal: Refusal::Busy(busy),
                ..
            } => told(&waiting.call, busy, scene),
            _ => Ok(()),
        }
    }
}

fn told(call: &Call, busy: &Busy, scene: &Scene<'_>) -> Result<(), String> {
    let until = scene.pauses.until(scene.now, call);
    require(until.is_none_or(|until| busy.at >= until), || {
        format!("told {busy:?}, paused until {until:?}: {call:?}")
    })?;
    let by_pause = busy.blocked_by == BlockedBy::Paused;
    require(!by_pause || until == Some(busy.at), || {
        format!("told {busy:?} of a pause, which lasts until {until:?}: {call:?}")
    })
}
