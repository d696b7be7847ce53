//! Of 20 turns with admissible waiters in both lanes at least one is the background's.

use std::collections::BTreeMap;

use spillway::{Lane, Permit};

use super::{Invariant, require};
use crate::seen::{Scene, Seen, Waiting};

/// So many turns in a row are the foreground's at most.
const TURNS: u32 = 20;

/// For each workload and app, how many turns in a row background had to wait for foreground.
#[derive(Default)]
pub struct BackgroundsTurn {
    turns: BTreeMap<(usize, String), u32>,
}

impl Invariant for BackgroundsTurn {
    fn name(&self) -> &'static str {
        "background's turn"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Granted {
                call,
                permit,
                waited: Some(_),
                ..
            } => {
                let key = (call.workload, call.app.clone());
                // What would go if this turn had not been taken, and no foreground call waited,
                // was admissible at this turn.
                let waits = call.lane == Lane::Foreground && background_goes(&key, *permit, scene);
                let turns = self.turns.entry(key).or_default();
                *turns = if waits { *turns + 1 } else { 0 };
                require(*turns < TURNS, || {
                    format!("{turns} turns in a row are the foreground's, {call:?}")
                })
            }
            Seen::Settled => {
                // Where nobody waits any more, turns begin anew.
                let waits = |key: &(usize, String)| {
                    let mut waiting = scene.waiting.values();
                    waiting.any(|it| (it.call.workload, &it.call.app) == (key.0, &key.1))
                };
                self.turns.retain(|key, turns| *turns > 0 && waits(key));
                Ok(())
            }
            Seen::Restarted { .. } => {
                self.turns.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn background_goes(key: &(usize, String), turn: Permit, scene: &Scene<'_>) -> bool {
    let here = scene
        .waiting
        .iter()
        .filter(|(_, waiting)| (waiting.call.workload, &waiting.call.app) == (key.0, &key.1));
    let (background, foreground): (Vec<_>, Vec<_>) =
        here.partition(|(_, waiting)| waiting.call.lane == Lane::Background);
    // Who came in this very instant may have come after the turn.
    let waited = |waiting: &Waiting| waiting.since < scene.now;
    if !background.iter().any(|(_, waiting)| waited(waiting)) {
        return false;
    }
    // One that was dismissed in this very instant, since this turn leaves too little for it,
    // stood before those of its user that go now.
    let mut still = scene.driver.fork();
    if background
        .iter()
        .any(|(ticket, _)| !still.cancel(scene.now, **ticket))
    {
        return false;
    }
    let mut alone = scene.driver.fork();
    alone.refund(scene.now, turn);
    for (ticket, _) in foreground {
        alone.cancel(scene.now, *ticket);
    }
    let settled = alone.settle(scene.now);
    background
        .iter()
        .any(|(ticket, waiting)| waited(waiting) && settled.get(ticket) == Some(&true))
}
