//! What operators do: pause background calls, force breakers.

use std::time::Duration;

use spillway::{Key, TooManyPauses, Whose};

use super::Limiter;

/// Why an operator's wish is not in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDone {
    /// As many pauses are in force as may be.
    #[error(transparent)]
    TooMany(#[from] TooManyPauses),
    /// It could not be written down, and would not survive a restart.
    #[error("the journal of the counters cannot be written")]
    Storage,
}

impl Limiter {
    /// Admits no background call of these for so long (wall time); running ones end as usual.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn pause(&self, whose: Whose, lasts: Duration) -> Result<(), NotDone> {
        self.inner.with(|core, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            core.engine.pause(now, whose.clone(), until)?;
            let written = core.journal.paused(&whose, now, Some(until));
            written.map_err(|_| {
                core.engine.resume(now, &whose);
                NotDone::Storage
            })
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

    /// Forces a breaker open or closed for so long (wall time).
    pub fn force_breaker(&self, key: &Key, open: bool, lasts: Duration) {
        self.inner.with(|core, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            core.engine.force(now, key, open, until);
        });
    }

    /// Forgets whatever a breaker was forced to and has learnt.
    pub fn reset_breaker(&self, key: &Key) {
        self.inner
            .with(|core, clock| core.engine.reset(clock.now(), key));
    }
}
