//! An exact announced wait, with nobody ahead, succeeds at its instant and fails a
//! millisecond before. No announced instant lies in the past.

use spillway::{Answer, Instant, Refusal};

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

/// Tries each exact wait on copies of the engine.
pub struct ExactWaits;

impl Invariant for ExactWaits {
    fn name(&self) -> &'static str {
        "exact waits"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        let Seen::Asked {
            answer: Answer::Refused(Refusal::Busy(busy)),
            call,
            ..
        } = seen
        else {
            return Ok(());
        };
        require(busy.at > scene.now, || format!("told the past: {busy:?}"))?;
        if !busy.exact || !scene.waiting.is_empty() {
            return Ok(());
        }
        *scene.exact_waits += 1;
        let early = Instant(busy.at.0 - 1);
        let answer = scene.driver.fork().ask(early, call, early);
        require(matches!(answer, Answer::Refused(_)), || {
            format!("a millisecond early {call:?} fitted: {busy:?}")
        })?;
        let answer = scene.driver.fork().ask(busy.at, call, busy.at);
        let fits = matches!(
            answer,
            Answer::Granted(_) | Answer::Refused(Refusal::Capacity { .. })
        );
        require(fits, || {
            format!("at its instant {call:?} did not fit: {busy:?}, {answer:?}")
        })
    }
}
