//! Of 20 turns with admissible waiters in both lanes at least one is the background's.

use std::collections::BTreeMap;

use spillway::{Lane, Ticket};

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

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
                waited: Some(_),
                ..
            } => {
                let key = (call.workload, call.app.clone());
                // What would have gone if no foreground call waited still fits now: it was
                // admissible all the time.
                let waits = call.lane == Lane::Foreground && background_goes(&key, scene);
                let turns = self.turns.entry(key).or_default();
                *turns = if waits { *turns + 1 } else { 0 };
                require(*turns < TURNS, || {
                    format!("{turns} turns in a row are the foreground's, {call:?}")
                })
            }
            Seen::Restarted { .. } => {
                self.turns.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn background_goes(key: &(usize, String), scene: &Scene<'_>) -> bool {
    let here = scene
        .waiting
        .iter()
        .filter(|(_, waiting)| (waiting.call.workload, &waiting.call.app) == (key.0, &key.1));
    let (background, foreground): (Vec<_>, Vec<_>) =
        here.partition(|(_, waiting)| waiting.call.lane == Lane::Background);
    if background.is_empty() {
        return false;
    }
    let mut alone = scene.driver.fork();
    for (ticket, _) in foreground {
        alone.cancel(scene.now, *ticket);
    }
    let gone: Vec<Ticket> = alone.settle(scene.now);
    background.iter().any(|(ticket, _)| gone.contains(ticket))
}
