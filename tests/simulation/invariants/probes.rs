//! A half-open budget is tried by one call at a time, with a short lease; a recovering one
//! awaits no more answers than its ramp says.

use std::collections::{BTreeMap, BTreeSet};

use spillway::{Call, Instant, Key, Permit, Status};

use super::{Invariant, require};
use crate::adapter::keys;
use crate::seen::{Scene, Seen};

/// The calls that were let go while a budget was half-open, and have not been heard of since.
#[derive(Default)]
pub struct OneProbe {
    probes: BTreeMap<Key, BTreeSet<Permit>>,
}

impl Invariant for OneProbe {
    fn name(&self) -> &'static str {
        "one probe at a time"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match seen {
            Seen::Granted {
                call,
                permit,
                expires_at,
                ..
            } => self.judge(call, *permit, *expires_at, scene),
            Seen::Completed { permit, .. }
            | Seen::Refunded { permit, .. }
            | Seen::Expired { permit, .. } => {
                self.over(*permit);
                Ok(())
            }
            Seen::Reported {
                permit,
                call,
                signal,
                ..
            } => {
                if signal.is_some() {
                    self.over(*permit);
                }
                self.reopens(call, scene);
                Ok(())
            }
            Seen::Forced { key, .. } | Seen::Reset { key } => {
                self.probes.remove(key);
                Ok(())
            }
            Seen::Restarted { counts_lost: true } => {
                self.probes.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl OneProbe {
    /// The call is heard of: it tries nothing any more.
    fn over(&mut self, permit: Permit) {
        self.probes.values_mut().for_each(|probes| {
            probes.remove(&permit);
        });
    }

    /// An answer may have opened a budget again, as an echo with a wait does: who tried it
    /// then is no longer its probe.
    fn reopens(&mut self, call: &Call, scene: &mut Scene<'_>) {
        for key in keys(&scene.script.policies, call) {
            let view = scene.driver.budget_view(scene.now, &key);
            if view.is_some_and(|view| view.breaker.status == Status::Open) {
                self.probes.remove(&key);
            }
        }
    }

    fn judge(
        &mut self,
        call: &Call,
        permit: Permit,
        expires_at: Instant,
        scene: &mut Scene<'_>,
    ) -> Result<(), String> {
        let sizes = scene.script.sizes;
        for key in keys(&scene.script.policies, call) {
            let Some(view) = scene.driver.budget_view(scene.now, &key) else {
                continue;
            };
            if view.breaker.status == Status::HalfOpen {
                let probes = self.probes.entry(key.clone()).or_default();
                require(probes.is_empty(), || {
                    format!("{permit} tries {key:?}, {probes:?} do already")
                })?;
                probes.insert(permit);
                let longest_ms = sizes.probe_ms.min(sizes.lease_ms);
                require(expires_at <= scene.now.plus_ms(longest_ms), || {
                    format!("{permit} tries {key:?} until {expires_at:?}")
                })?;
            }
            let running = scene.referee.answering(&key);
            let ramp = view.breaker.ramp_calls.map(u64::from);
            require(ramp.is_none_or(|ramp| running <= ramp), || {
                format!("{running} answers awaited in recovering {key:?}, {ramp:?} may")
            })?;
        }
        Ok(())
    }
}
