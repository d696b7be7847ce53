//! A refusal charges nothing and creates no key.

use spillway::Answer;

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

/// Compares the engine before and after a refusal by all that can be seen of it.
pub struct ChargesNothing;

impl Invariant for ChargesNothing {
    fn name(&self) -> &'static str {
        "a refusal charges nothing"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        let Seen::Asked {
            answer: Answer::Refused(refusal),
            call,
            before,
            ..
        } = seen
        else {
            return Ok(());
        };
        // Whoever was due anyway goes with it, in another order than by settling alone.
        if before.wake_at().is_some_and(|at| at <= scene.now) {
            return Ok(());
        }
        let workloads = scene.script.policies.len();
        let counts_before = (*before).clone().counts(scene.now, workloads);
        let counts_after = scene.driver.fork().counts(scene.now, workloads);
        require(counts_before == counts_after, || {
            format!("{refusal:?} of {call:?} changed {counts_before:#?} to {counts_after:#?}")
        })
    }
}
