//! Nobody oversleeps: until the instant that the engine asks to be woken at, who waits alone
//! would not go by asking anew.

use spillway::{Answer, Instant, Ticket};

use super::{Invariant, require};
use crate::seen::{Scene, Seen, Waiting};

/// Asks for each that waits alone, on a copy, a millisecond before the engine will wake.
pub struct NobodyOversleeps;

impl Invariant for NobodyOversleeps {
    fn name(&self) -> &'static str {
        "nobody oversleeps"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        if !matches!(seen, Seen::Settled) {
            return Ok(());
        }
        let alone = |one: &Waiting| {
            let queue =
                |it: &Waiting| it.call.workload == one.call.workload && it.call.app == one.call.app;
            scene.waiting.values().filter(|it| queue(it)).count() == 1
        };
        let mut waiting = scene.waiting.iter().filter(|(_, waiting)| alone(waiting));
        waiting.try_for_each(|(ticket, waiting)| sleeps(*ticket, waiting, scene))
    }
}

fn sleeps(ticket: Ticket, waiting: &Waiting, scene: &Scene<'_>) -> Result<(), String> {
    let wake_at = scene.driver.wake_at();
    let wake_at = wake_at.filter(|at| *at <= waiting.deadline);
    require(wake_at.is_some(), || {
        format!("{waiting:?} waits, and nothing wakes the engine by its deadline")
    })?;
    let before = Instant(wake_at.unwrap_or_default().0.saturating_sub(1)).max(scene.now);
    let mut anew = scene.driver.fork();
    anew.cancel(scene.now, ticket);
    let answer = anew.ask(before, &waiting.call, before);
    require(!matches!(answer, Answer::Granted(_)), || {
        format!("at {before:?} {waiting:?} could go; the engine sleeps until {wake_at:?}")
    })
}
