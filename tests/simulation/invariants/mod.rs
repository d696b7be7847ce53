//! What must hold in every world, each rule in a file of its own: a small type that watches
//! what happens and says when the rule is broken.

mod breakers;
mod budgets;
mod calls;
mod justice;
mod lanes;
mod openings;
mod overtaking;
mod pauses;
mod permits;
mod probes;
mod refusals;
mod service;
mod tickets;
mod waits;
mod wakes;

use crate::script::Script;
use crate::seen::{Scene, Seen};

/// A rule.
pub trait Invariant {
    /// What it is called in reports.
    fn name(&self) -> &'static str;

    /// Looks at what happened.
    ///
    /// # Errors
    /// The rule is broken: why.
    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String>;
}

/// All rules, at the beginning of a world.
pub fn all(script: &Script) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(calls::NoCallTooMany),
        Box::new(permits::NoLostPermit::default()),
        Box::new(tickets::SettledOnce::default()),
        Box::new(refusals::ChargesNothing),
        Box::new(justice::OnlyForAReason::default()),
        Box::new(waits::ExactWaits),
        Box::new(wakes::NobodyOversleeps),
        Box::new(pauses::PausedIsPaused),
        Box::new(breakers::OpenMeansShut::default()),
        Box::new(probes::OneProbe::default()),
        Box::new(openings::OpensForAReason::default()),
        Box::new(overtaking::NobodyOvertakes),
        Box::new(lanes::BackgroundsTurn::default()),
        Box::new(service::Served::new(script)),
        Box::new(budgets::NothingLeft),
    ]
}

/// Fails with `why` unless it holds.
fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
