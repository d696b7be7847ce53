//! What operators do: pause background calls, force breakers.

use std::{collections::BTreeSet, time::Duration};

use spillway::{BudgetView, Key, Layer, Policy, Scope, TooManyPauses};
use spillway_app::live;

use super::core::Core;
use super::{Limiter, Note, view};
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

impl Limiter {
    /// The names of everything that has limits, by their index: the workloads, and last, where
    /// there is one, what limits all calls together.
    pub fn limited(&self) -> impl Iterator<Item = &str> {
        let workloads = self.inner.workloads.iter();
        workloads.map(|workload| workload.name.as_str())
    }

    /// A breaker as it is now.
    #[must_use]
    pub fn breaker(&self, key: &Key) -> live::Breaker {
        let shard = self.inner.shards.of(&key.app);
        let breaker = self
            .inner
            .with(shard, |core, clock| current(core, clock, key));
        self.inner.signed(key, breaker)
    }

    /// The breakers that are forced, the widest first.
    #[must_use]
    pub fn forced(&self) -> Vec<(Key, live::Breaker)> {
        let keys = self.inner.notes().forced();
        let breakers = keys.into_iter().map(|key| {
            let breaker = self.breaker(&key);
            (key, breaker)
        });
        breakers
            .filter(|(_, breaker)| breaker.reason == Some(live::BreakerReason::Forced))
            .collect()
    }

    /// The same as the live state tells them.
    pub(super) fn held(&self) -> Vec<live::ForcedBreaker> {
        let forced = self.forced().into_iter();
        let held = forced.map(|(key, breaker)| live::ForcedBreaker {
            workload: self.inner.workloads[key.workload].name.clone(),
            scope: view::scope(key.scope),
            app: key.app,
            tenant: key.tenant,
            user: key.user,
            state: breaker.state,
            until: breaker.until.unwrap_or_default(),
            by: breaker.by,
        });
        held.collect()
    }

    /// Forces a breaker open or closed for so long (wall time), and says what it is now. `note`
    /// says who does.
    ///
    /// # Errors
    /// [`NotDone::NoSuchBudget`]; [`NotDone::Storage`]: nothing is changed where the journal was broken before; where it
    /// breaks by this very line, what was asked holds, but may not survive a restart.
    pub fn force_breaker(
        &self,
        key: &Key,
        open: bool,
        lasts: Duration,
        note: &Note,
    ) -> Result<live::Breaker, NotDone> {
        self.operate(key, Some(note), |core, clock| {
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
        self.operate(key, None, |core, clock| {
            core.engine.reset(clock.now(), key);
        })
    }

    fn operate(
        &self,
        key: &Key,
        note: Option<&Note>,
        act: impl FnOnce(&mut Core, &Clock),
    ) -> Result<live::Breaker, NotDone> {
        let shard = self.inner.shards.of(&key.app);
        let breaker = self.inner.with(shard, |core, clock| {
            exists(core, key)?;
            if core.journal.is_broken() {
                return Err(NotDone::Storage);
            }
            act(core, clock);
            for (changed, breaker) in core.engine.take_breakers() {
                let note = note.filter(|_| changed == *key);
                let written = core.journal.breaker(&changed, breaker.as_ref(), note);
                written.map_err(|_| NotDone::Storage)?;
            }
            self.inner.notes().force(key, note);
            Ok(current(core, clock, key))
        });
        breaker.map(|breaker| self.inner.signed(key, breaker))
    }
}

fn current(core: &mut Core, clock: &Clock, key: &Key) -> live::Breaker {
    let budget = core.engine.budget_view(clock.now(), key);
    budget.map_or_else(live::Breaker::default, |budget| shown(&budget, clock))
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
