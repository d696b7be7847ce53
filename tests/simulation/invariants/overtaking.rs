//! A newcomer never overtakes an admissible waiter of its lane or a better one, nor one of
//! its own user, nor one that keeps its turn until the app's room suffices.

use spillway::{Answer, Call, Scope, Status, Ticket};

use super::{Invariant, require};
use crate::adapter::{Fork, keys};
use crate::seen::{Scene, Seen, Waiting};

/// Judges each call that goes at once.
pub struct NobodyOvertakes;

impl Invariant for NobodyOvertakes {
    fn name(&self) -> &'static str {
        "nobody overtakes"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Asked {
                call,
                answer: Answer::Granted(_),
                before,
                ..
            } => judge(call, before, scene),
            _ => Ok(()),
        }
    }
}

fn judge(call: &Call, before: &Fork, scene: &mut Scene<'_>) -> Result<(), String> {
    for (ticket, waiting) in scene.waiting {
        let other = &waiting.call;
        let same_queue = (other.workload, &other.app) == (call.workload, &call.app);
        // Turns may have come to it in the same instant, before the newcomer.
        if !same_queue || other.lane > call.lane || settled_too(scene, *ticket) {
            continue;
        }
        require(user(other) != user(call), || {
            format!("{call:?} goes before {waiting:?} of the same user")
        })?;
        require(!fits_alone(scene, before, *ticket, waiting), || {
            format!("{call:?} goes before {waiting:?}, which fits")
        })?;
        require(!keeps_turn(scene, *ticket), || {
            format!("{call:?} goes before {waiting:?}, which waits for the app's room")
        })?;
    }
    Ok(())
}

/// Would it go now if only its tenant's calls waited? Whoever waits was passed over by the
/// last settling, but time has passed since.
fn fits_alone(scene: &Scene<'_>, before: &Fork, ticket: Ticket, waiting: &Waiting) -> bool {
    let mut alone = before.clone();
    for (other, it) in scene.waiting {
        if it.call.tenant != waiting.call.tenant {
            alone.cancel(scene.now, *other);
        }
    }
    alone.settle(scene.now).get(&ticket) == Some(&true)
}

/// Whether only the app's layers keep it from going, so that its turn is kept for it, or that
/// of somebody before it. Only where nobody of its tenant waits beside it.
fn keeps_turn(scene: &mut Scene<'_>, ticket: Ticket) -> bool {
    let Some(Waiting { call, .. }) = scene.waiting.get(&ticket) else {
        return false;
    };
    let mut tenants = scene.waiting.iter();
    let lonely = tenants.all(|(other, it)| *other == ticket || it.call.tenant != call.tenant);
    let policy = &scene.script.policies[call.workload];
    let blocking = scene.referee.blocking(policy, call, scene.now);
    let by_app = blocking.iter().all(|layer| layer.scope() == Scope::App);
    let paused = scene.pauses.until(scene.now, call).is_some();
    lonely && by_app && !paused && !blocking.is_empty() && all_closed(scene, call)
}

fn all_closed(scene: &mut Scene<'_>, call: &Call) -> bool {
    keys(&scene.script.policies, call).iter().all(|key| {
        let view = scene.driver.budget_view(scene.now, key);
        view.is_none_or(|view| view.breaker.status == Status::Closed)
    })
}

fn user(call: &Call) -> (&str, &str) {
    (&call.tenant, &call.user)
}

/// Whether the waiter goes (or is dismissed) in the same instant: turns came to it first.
fn settled_too(scene: &Scene<'_>, ticket: Ticket) -> bool {
    scene.driver.fork().settle(scene.now).contains_key(&ticket)
}
