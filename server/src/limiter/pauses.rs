//! Pauses of background calls, which operators begin and end. One of the whole upstream is in
//! every shard, an app's or narrower one in the app's.

use std::{collections::BTreeMap, sync::MutexGuard, time::Duration};

use jiff::Timestamp;
use spillway::{Instant, PAUSES_MAX, TooManyPauses, Whose};
use spillway_app::live::{self, PauseScope};

use super::core::Core;
use super::shards::shard_of;
use super::view::text;
use super::{Inner, Limiter, NotDone, Note};

/// Background calls that are paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Whose.
    pub whose: Whose,
    /// Until when, wall time.
    pub until: Timestamp,
    /// Who paused them, where that is known.
    pub note: Option<Note>,
}

impl Limiter {
    /// Admits no background call of these for so long (wall time); running ones end as usual.
    /// `note` says who asks for it.
    ///
    /// # Errors
    /// See [`NotDone`].
    pub fn pause(&self, whose: Whose, lasts: Duration, note: &Note) -> Result<Pause, NotDone> {
        self.inner.with_all(|cores, clock| {
            let now = clock.now();
            let until = now.plus_ms(clock.engine_ms(lasts));
            let known = in_force(cores, now);
            if !known.contains_key(&whose) && known.len() >= PAUSES_MAX {
                return Err(TooManyPauses.into());
            }
            write(cores, &whose, now, Some((until, note)))?;
            for core in concerned(cores, &whose) {
                core.engine.pause(now, whose.clone(), until)?;
            }
            let mut notes = self.inner.notes();
            notes.keep_pauses(&known);
            notes.pause(&whose, Some(note));
            Ok(Pause {
                whose,
                until: clock.timestamp(until),
                note: Some(note.clone()),
            })
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
            self.inner.notes().pause(whose, None);
            let resumed = concerned(cores, whose).map(|core| core.engine.resume(now, whose));
            Ok(resumed.fold(false, |any, it| any | it))
        })
    }

    /// The pauses in force, the widest first.
    #[must_use]
    pub fn pauses(&self) -> Vec<Pause> {
        self.inner.pauses()
    }
}

impl Inner {
    /// One shard after the other: who looks holds up nobody.
    pub(super) fn pauses(&self) -> Vec<Pause> {
        let now = self.clock.now();
        let mut all = BTreeMap::new();
        for core in self.shards.each() {
            all.extend(of_core(&core, now));
        }
        let notes = self.notes();
        let shown = |(whose, until)| Pause {
            note: notes.of_pause(&whose).cloned(),
            until: self.clock.timestamp(until),
            whose,
        };
        all.into_iter().map(shown).collect()
    }
}

impl From<Pause> for live::Pause {
    fn from(pause: Pause) -> Self {
        let none = String::new;
        let (scope, app, tenant, user) = match pause.whose {
            Whose::Upstream => (PauseScope::Upstream, none(), none(), none()),
            Whose::App { app } => (PauseScope::App, app, none(), none()),
            Whose::Tenant { app, tenant } => (PauseScope::Tenant, app, tenant, none()),
            Whose::User { app, tenant, user } => (PauseScope::User, app, tenant, user),
        };
        Self {
            scope,
            app,
            tenant,
            user,
            until: text(pause.until),
            by: pause.note.as_ref().map(live::SetBy::from),
        }
    }
}

/// All cores of an upstream, locked.
type Cores<'a> = [MutexGuard<'a, Core>];

fn in_force(cores: &Cores<'_>, now: Instant) -> BTreeMap<Whose, Instant> {
    cores.iter().flat_map(|core| of_core(core, now)).collect()
}

fn of_core(core: &Core, now: Instant) -> impl Iterator<Item = (Whose, Instant)> {
    let in_force = core.engine.pauses().filter(move |(_, until)| *until > now);
    in_force.map(|(whose, until)| (whose.clone(), until))
}

/// The cores that have calls of `whose`.
fn concerned<'a, 'b>(
    cores: &'a mut Cores<'b>,
    whose: &Whose,
) -> impl Iterator<Item = &'a mut MutexGuard<'b, Core>> + use<'a, 'b> {
    let only = whose.app().map(|app| shard_of(app, cores.len()));
    let cores = cores.iter_mut().enumerate();
    cores
        .filter(move |(shard, _)| only.is_none_or(|only| only == *shard))
        .map(|(_, core)| core)
}

/// They are few: the first shard's journal takes them all.
fn write(
    cores: &Cores<'_>,
    whose: &Whose,
    now: Instant,
    until: Option<(Instant, &Note)>,
) -> Result<(), NotDone> {
    let first = cores.first().ok_or(NotDone::Storage)?;
    let (until, note) = until.unzip();
    let written = first.journal.paused(whose, now, until, note);
    written.map_err(|_| NotDone::Storage)
}
