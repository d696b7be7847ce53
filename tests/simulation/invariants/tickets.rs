//! Parked tickets are settled exactly once, not after their deadline, and not refused before.

use std::collections::BTreeSet;

use spillway::{Answer, BlockedBy, Refusal, Ticket};

use super::{Invariant, require};
use crate::seen::{Scene, Seen};

/// The tickets that wait.
#[derive(Default)]
pub struct SettledOnce {
    waits: BTreeSet<Ticket>,
}

impl Invariant for SettledOnce {
    fn name(&self) -> &'static str {
        "settled once, in time"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        let now = scene.now;
        match seen {
            Seen::Asked {
                answer: Answer::Parked(ticket),
                deadline,
                ..
            } => {
                require(*deadline > now, || format!("{ticket:?} must not park"))?;
                self.waits.insert(*ticket);
                Ok(())
            }
            Seen::Granted {
                waited: Some((ticket, waiting)),
                ..
            } => {
                let waited = self.waits.remove(ticket);
                require(waited && now <= waiting.deadline, || {
                    format!("{ticket:?} is granted, waited: {waited}, {waiting:?}")
                })
            }
            Seen::Dismissed {
                ticket,
                waiting,
                refusal,
            } => {
                let waited = self.waits.remove(ticket);
                // Before its deadline only who cannot go within it, or gives way in a full queue.
                let early = match refusal {
                    Refusal::Busy(busy) => {
                        now < waiting.deadline
                            && busy.at <= waiting.deadline
                            && busy.blocked_by != BlockedBy::Queue
                    }
                    _ => false,
                };
                require(waited && !early, || {
                    format!("{ticket:?} is refused, waited: {waited}, {waiting:?}: {refusal:?}")
                })
            }
            Seen::HungUp { ticket, waited } => {
                let here = self.waits.remove(ticket);
                require(here && *waited, || {
                    format!("{ticket:?} hangs up; it waits: {here}, to the engine: {waited}")
                })
            }
            Seen::SettledTwice { ticket } => Err(format!("{ticket:?} is settled, and none waits")),
            Seen::Restarted { .. } => {
                self.waits.clear();
                Ok(())
            }
            Seen::Settled => {
                let mut waiting = scene.waiting.iter();
                let late = waiting.find(|(_, waiting)| waiting.deadline <= now);
                require(late.is_none(), || format!("{late:?} waits past its hold"))
            }
            Seen::Quiet => require(self.waits.is_empty(), || format!("{:?} wait", self.waits)),
            _ => Ok(()),
        }
    }
}
