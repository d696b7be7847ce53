//! Nobody is refused or parked without a reason: a layer is full by brute force, a breaker is
//! not closed, an operator paused it, others wait, lost counts are assumed full, or the users are too many.

use std::collections::BTreeSet;

use spillway::{Answer, Call, Dimension, Instant, Key, Policy, Refusal, Scope, Status};

use super::{Invariant, require};
use crate::adapter::keys;
use crate::referee::{bucket_ms, span_ms};
use crate::seen::{Scene, Seen};

/// Until when lost counts are assumed to be full.
#[derive(Default)]
pub struct OnlyForAReason {
    full_until: Option<Instant>,
}

impl Invariant for OnlyForAReason {
    fn name(&self) -> &'static str {
        "refused for a reason"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Restarted { counts_lost: true } => {
                let layers = scene.script.policies.iter().flat_map(Policy::layers);
                let longest_ms = layers.map(|layer| span_ms(layer) + bucket_ms(layer)).max();
                let longest_ms = longest_ms.max(Some(scene.script.sizes.lease_ms));
                self.full_until = Some(scene.now.plus_ms(longest_ms.unwrap_or(0)));
                Ok(())
            }
            Seen::Asked { call, answer, .. } => match answer {
                Answer::Granted(_) => Ok(()),
                Answer::Refused(Refusal::Impossible { .. }) => impossible(call, scene),
                Answer::Refused(Refusal::Capacity { .. }) => capacity(scene),
                _ => self.judge(call, scene),
            },
            _ => Ok(()),
        }
    }
}

impl OnlyForAReason {
    fn judge(&self, call: &Call, scene: &mut Scene<'_>) -> Result<(), String> {
        let policy = &scene.script.policies[call.workload];
        let assumed = self.full_until.is_some_and(|until| scene.now < until);
        let mut others = scene.waiting.values();
        // The call itself may be among those that wait now.
        let mine = |other: &Call| other == call;
        let others = others.any(|it| {
            let other = &it.call;
            (other.workload, &other.app) == (call.workload, &call.app)
                && (!mine(other) || it.since < scene.now)
        });
        let paused = scene.pauses.until(scene.now, call).is_some();
        if assumed
            || others
            || paused
            || !scene.referee.blocking(policy, call, scene.now).is_empty()
        {
            return Ok(());
        }
        let closed = keys(&scene.script.policies, call).iter().all(|key| {
            let view = scene.driver.budget_view(scene.now, key);
            view.is_none_or(|view| view.breaker.status == Status::Closed)
        });
        require(!closed, || format!("everything has room for {call:?}"))
    }
}

fn impossible(call: &Call, scene: &Scene<'_>) -> Result<(), String> {
    let policy = &scene.script.policies[call.workload];
    let rates = policy.layers().iter();
    let mut rates = rates.filter(|layer| layer.dimension() != Dimension::Concurrency);
    let possible = rates.all(|layer| call.weight <= policy.cap(layer, call.lane));
    require(!possible, || format!("{call:?} is possible"))
}

/// As many users hold something, by what operators see, or wait.
fn capacity(scene: &mut Scene<'_>) -> Result<(), String> {
    let users_max = scene.script.sizes.users_max;
    let waiting = scene.waiting.values();
    let mut users: BTreeSet<Key> = waiting.map(|it| Key::of(&it.call, Scope::User)).collect();
    for workload in 0..scene.script.policies.len() {
        let view = scene.driver.view(scene.now, workload);
        users.extend(view.users.into_iter().map(|user| user.key));
    }
    require(users.len() >= users_max, || {
        format!("{users:?} hold counts or wait, {users_max} may")
    })
}
