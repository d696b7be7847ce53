//! What operators do: pause background calls, force breakers.

use std::{collections::BTreeMap, sync::MutexGuard, time::Duration};

use spillway::{Instant, Key, PAUSES_MAX, TooManyPauses, Whose};

use super::Limiter;
use super::core::Core;
use super::shards::shard_of;

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
        self.inner.with_all(|cores, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            let known = in_force(cores);
            if !known.contains_key(&whose) && known.len() >= PAUSES_MAX {
                return Err(TooManyPauses.into());
            }
            write(cores, &whose, now, Some(until))?;
            for core in concerned(cores, &whose) {
                core.engine.pause(now, whose.clone(), until)?;
            }
            Ok(())
        })
    }

    /// Ends a pause. False if there was none.
    ///
    /// # Errors
    /// It could not be written down: the pause would be back after a restart.
    pub fn resume(&self, whose: &Whose) -> Result<bool, NotDone> {
        self.inner.with_all(|cores, clock| {
            let now = clock.now();
            write(cores, whose, now, None)?;
            let resumed = concerned(cores, whose).map(|core| core.engine.resume(now, whose));
            Ok(resumed.fold(false, |any, it| any | it))
        })
    }

    /// Forces a breaker open or closed for so long (wall time).
    pub fn force_breaker(&self, key: &Key, open: bool, lasts: Duration) {
        let shard = self.inner.shards.of(&key.app);
        self.inner.with(shard, |core, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            core.engine.force(now, key, open, until);
        });
    }

    /// Forgets whatever a breaker was forced to and has learnt.
    pub fn reset_breaker(&self, key: &Key) {
        let shard = self.inner.shards.of(&key.app);
        self.inner
            .with(shard, |core, clock| core.engine.reset(clock.now(), key));
    }
}

/// All cores of an upstream, locked.
type Cores<'a> = [MutexGuard<'a, Core>];

/// The pauses of all shards; one of the whole upstream is in each.
fn in_force(cores: &Cores<'_>) -> BTreeMap<Whose, Instant> {
    let pauses = cores.iter().flat_map(|core| core.engine.pauses());
    pauses
        .map(|(whose, until)| (whose.clone(), until))
        .collect()
}

/// The cores that have calls of `whose`.
fn concerned<'a, 'b>(
    cores: &'a mut Cores<'b>,
    whose: &Whose,
) -> impl Iterator<Item = &'a mut MutexGuard<'b, Core>> {
    let only = whose.app().map(|app| shard_of(app, cores.len()));
    let cores = cores.iter_mut().enumerate();
    cores
        .filter(move |(shard, _)| only.is_none_or(|only| only == *shard))
        .map(|(_, core)| core)
}

/// The first shard has the newest journal.
fn write(
    cores: &Cores<'_>,
    whose: &Whose,
    now: Instant,
    until: Option<Instant>,
) -> Result<(), NotDone> {
    let first = cores.first().ok_or(NotDone::Storage)?;
    let written = first.journal.paused(whose, now, until);
    written.map_err(|_| NotDone::Storage)
}
