//! What operators do: pause background calls, force breakers.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use spillway::{BudgetView, Key, Layer, Policy, Scope, TooManyPauses, Whose};
use spillway_app::live;

use super::core::Core;
use super::{Limiter, view};
use crate::clock::Clock;

/// Why an operator's wish is not in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// As many pauses are in force as may be.
    #[error(transparent)]
    TooMany(#[from] TooManyPauses),
    /// The workload has no limit of this scope, and so no breaker.
    #[error("no limit of this workload is of scope {scope}; there are limits of: {known}")]
    NoSuchBudget {
        /// The scope that was named.
        scope: Scope,
        /// The scopes that there are.
        known: String,
    },
    /// It could not be written down, and would not survive a restart.
    #[error("the journal of the counters cannot be written")]
    Storage,
}

/// Background calls that are paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Whose.
    pub whose: Whose,
    /// Until when, wall time.
    pub until: Timestamp,
}

impl Limiter {
    /// The names of everything that has limits, by their index: the workloads, and last, where
    /// there is one, what limits all calls together.
    pub fn limited(&self) -> impl Iterator<Item = &str> {
        let workloads = self.inner.workloads.iter();
        workloads.map(|workload| workload.name.as_str())
    }

    /// Admits no background call of these for so long (wall time); running ones end as usual.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn pause(&self, whose: Whose, lasts: Duration) -> Result<Pause, NotDone> {
        self.inner.with(|core, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            let before = core.engine.pauses().find(|(it, _)| **it == whose);
            let before = before.map(|(_, until)| until);
            core.engine.pause(now, whose.clone(), until)?;
            if core.journal.paused(&whose, now, Some(until)).is_err() {
                match before {
                    Some(until) => core.engine.pause(now, whose, until)?,
                    None => drop(core.engine.resume(now, &whose)),
                }
                return Err(NotDone::Storage);
            }
            let until = clock.timestamp(until);
            Ok(Pause { whose, until })
        })
    }

    /// Ends a pause. False if there was none.
    ///
    /// # Errors
    /// It could not be written down: the pause would be back after a restart.
    pub fn resume(&self, whose: &Whose) -> Result<bool, NotDone> {
        self.inner.with(|core, clock| {
            let now = clock.now();
            let written = core.journal.paused(whose, now, None);
            written.map_err(|_| NotDone::Storage)?;
            Ok(core.engine.resume(now, whose))
        })
    }

    /// The pauses in force, the widest first.
    #[must_use]
    pub fn pauses(&self) -> Vec<Pause> {
        self.inner.with(|core, clock| {
            let now = clock.now();
            let pauses = core.engine.pauses().filter(|(_, until)| *until > now);
            pauses
                .map(|(whose, until)| Pause {
                    whose: whose.clone(),
                    until: clock.timestamp(until),
                })
                .collect()
        })
    }

    /// Forces a breaker open or closed for so long (wall time), and says what it is now.
    ///
    /// # Errors
    /// [`NotDone::NoSuchBudget`]; [`NotDone::Storage`]: nothing is changed where the journal was broken before; where it
    /// breaks by this very line, what was asked holds, but may not survive a restart.
    pub fn force_breaker(
        &self,
        key: &Key,
        open: bool,
        lasts: Duration,
    ) -> Result<live::Breaker, NotDone> {
        self.operate(key, |core, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            core.engine.force(now, key, open, until);
        })
    }

    /// Forgets whatever a breaker was forced to and has learnt, and says what it is now.
    ///
    /// # Errors
    /// As where it is forced.
    pub fn reset_breaker(&self, key: &Key) -> Result<live::Breaker, NotDone> {
        self.operate(key, |core, clock| core.engine.reset(clock.now(), key))
    }

    fn operate(
        &self,
        key: &Key,
        act: impl FnOnce(&mut Core, &Clock),
    ) -> Result<live::Breaker, NotDone> {
        self.inner.with(|core, clock| {
            exists(core, key)?;
            if core.journal.is_broken() {
                return Err(NotDone::Storage);
            }
            act(core, clock);
            for (key, breaker) in core.engine.take_breakers() {
                let written = core.journal.breaker(&key, breaker.as_ref());
                written.map_err(|_| NotDone::Storage)?;
            }
            let budget = core.engine.budget_view(clock.now(), key);
            Ok(budget.map_or_else(live::Breaker::default, |budget| shown(&budget, clock)))
        })
    }
}

fn shown(budget: &BudgetView, clock: &Clock) -> live::Breaker {
    let since = budget.breaker.since;
    live::Breaker {
        since: since.map(|at| view::text(clock.timestamp(at))),
        ..view::shown(budget, clock).breaker
    }
}

/// Calls ask only breakers of budgets that have layers.
fn exists(core: &Core, key: &Key) -> Result<(), NotDone> {
    let policy = core.engine.policy(key.workload);
    let layers = policy.map_or(&[][..], Policy::layers);
    let scopes: BTreeSet<_> = layers.iter().map(Layer::scope).collect();
    if scopes.contains(&key.scope) {
        return Ok(());
    }
    let known: Vec<_> = scopes.iter().map(ToString::to_string).collect();
    Err(NotDone::NoSuchBudget {
        scope: key.scope,
        known: known.join(", "),
    })
}

#[cfg(test)]
mod tests;
