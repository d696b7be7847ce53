//! While a breaker is open nobody goes: neither while the engine says so, nor while a wait
//! that the upstream named runs. What a `Retry-After` closes is computed here from the
//! answers alone. Background calls wait out reports of 80 % and more.

use std::collections::BTreeMap;

use spillway::{Call, Instant, Key, Lane, Named, Scope, Signal, Status, Verdict};

use super::{Invariant, require};
use crate::adapter::keys;
use crate::seen::{Scene, Seen};

/// Background is refused for so long after a report of so much (engine.md, Signals).
const SOFT_MS: u64 = 60_000;
const SOFT_PERMILLE: u32 = 800;

/// What one budget has to wait for.
#[derive(Default)]
struct Shut {
    until: Instant,
    soft_until: Instant,
    /// An operator had a hand in it: what was learnt before no longer binds.
    forced_until: Instant,
}

/// Until when each budget is shut.
#[derive(Default)]
pub struct OpenMeansShut {
    budgets: BTreeMap<Key, Shut>,
}

impl Invariant for OpenMeansShut {
    fn name(&self) -> &'static str {
        "open means shut"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Granted { call, .. } => self.judge(call, scene),
            Seen::Reported {
                permit,
                call,
                signal: Some(signal),
                ..
            } => {
                // Of a call that has ended or expired, an answer changes nothing.
                if scene.driver.lease(*permit).is_some() {
                    self.hears(call, signal, scene);
                }
                Ok(())
            }
            Seen::Forced { key, until, .. } => {
                let shut = Shut {
                    forced_until: *until,
                    ..Shut::default()
                };
                self.budgets.insert((*key).clone(), shut);
                Ok(())
            }
            Seen::Reset { key } => {
                self.budgets.remove(key);
                Ok(())
            }
            Seen::Restarted { counts_lost: true } => {
                self.budgets.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl OpenMeansShut {
    fn judge(&self, call: &Call, scene: &mut Scene<'_>) -> Result<(), String> {
        for key in keys(&scene.script.policies, call) {
            let view = scene.driver.budget_view(scene.now, &key);
            let status = view.map(|view| view.breaker.status).unwrap_or_default();
            require(status != Status::Open, || format!("{key:?} is open"))?;
            let soft = status == Status::Soft && call.lane == Lane::Background;
            require(!soft, || format!("{key:?} is closed to background"))?;
            let Some(shut) = self.budgets.get(&key) else {
                continue;
            };
            require(shut.until <= scene.now, || {
                format!(
                    "the upstream named a wait for {key:?} until {:?}",
                    shut.until
                )
            })?;
            let soft = shut.soft_until > scene.now && call.lane == Lane::Background;
            require(!soft, || format!("{key:?} is nearly used up: background"))?;
        }
        Ok(())
    }

    fn hears(&mut self, call: &Call, signal: &Signal, scene: &Scene<'_>) {
        let keys = keys(&scene.script.policies, call);
        let Some(narrowest) = keys.first().map(|key| key.scope) else {
            return;
        };
        let named = signal
            .named
            .map_or_else(|| vec![narrowest], |named| charged(named, &keys));
        for key in keys.iter().filter(|key| named.contains(&key.scope)) {
            let shut = self.budgets.entry(key.clone()).or_default();
            if scene.now < shut.forced_until {
                continue;
            }
            if let (Verdict::Throttled, Some(wait_ms)) = (signal.verdict, signal.retry_after_ms) {
                shut.until = shut.until.max(scene.now.plus_ms(wait_ms));
            }
            if signal
                .percentage_permille
                .is_some_and(|permille| permille >= SOFT_PERMILLE)
            {
                shut.soft_until = scene.now.plus_ms(SOFT_MS);
            }
        }
    }
}

/// The scopes that are named; one that is not charged stands for the next wider one.
fn charged(named: Named, keys: &[Key]) -> Vec<Scope> {
    let scopes = Scope::ALL.into_iter().filter(|scope| named.names(*scope));
    scopes
        .filter_map(|scope| {
            let wider = keys.iter().find(|key| key.scope >= scope);
            Some(wider.or_else(|| keys.last())?.scope)
        })
        .collect()
}
