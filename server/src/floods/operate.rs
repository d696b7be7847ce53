//! What people do: re-enable a component, pause and resume a list or a site.

use std::time::Duration;

use jiff::Timestamp;
use spillway::{
    Instant,
    flood::{Component, ListKey, Pause},
};

use super::{Durable, Floods, NotWritten, Shard};
use crate::{
    audit::By,
    store::{FloodAct, FloodOperation, Operated},
};

/// A pause that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// When it ends by itself.
    pub until: Timestamp,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOperated {
    /// It is not disabled.
    #[error("the component is not disabled on this list")]
    NotDisabled,
    /// No pause is in force.
    #[error("it is not paused")]
    NotPaused,
    /// Too many lists.
    #[error("as many lists are being counted as may be")]
    Full,
    /// The database is slow.
    #[error("more waits to be written than may: the database is slow")]
    Busy,
    /// It is in force and not written down.
    #[error("it is in force, but the database cannot take it yet: a restart now would undo it")]
    Unwritten,
}

/// Whose events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One list's.
    List(ListKey),
    /// All lists' of a site.
    Site(String),
}

impl Whose {
    fn site(&self) -> &str {
        match self {
            Self::List(key) => &key.site,
            Self::Site(site) => site,
        }
    }

    /// Its pause in force.
    fn paused(&self, shard: &Shard, now: Instant) -> Option<Pause> {
        let key = ListKey::new(self.site(), self.list());
        let (of_list, of_site) = shard.guard.pauses(now, &key);
        match self {
            Self::List(_) => of_list,
            Self::Site(_) => of_site,
        }
    }

    /// The list; empty: all of the site's.
    fn list(&self) -> &str {
        match self {
            Self::List(key) => &key.list,
            Self::Site(_) => "",
        }
    }
}

impl Floods {
    /// Re-enables a component on a list.
    ///
    /// # Errors
    /// See [`NotOperated`].
    pub async fn enable(
        &self,
        key: &ListKey,
        component: Component,
        by: &By,
    ) -> Result<(), NotOperated> {
        let whose = Whose::List(key.clone());
        let done = self.operate(&whose, by, |shard, now| {
            let enabled = shard.guard.enable(now, key, component);
            let operation = FloodOperation::Enable(component);
            if enabled {
                Ok(operation)
            } else {
                Err(NotOperated::NotDisabled)
            }
        });
        done?.await.map_err(|NotWritten| NotOperated::Unwritten)
    }

    /// Pauses a list or a site for so long; a pause in force gets the new end.
    ///
    /// # Errors
    /// See [`NotOperated`].
    pub async fn pause(
        &self,
        whose: &Whose,
        lasts: Duration,
        by: &By,
    ) -> Result<Paused, NotOperated> {
        let lasts_ms = self.clock().engine_ms(lasts);
        let mut ends = Instant(0);
        let done = self.operate(whose, by, |shard, now| {
            let until = now.plus_ms(lasts_ms);
            ends = until;
            match whose {
                Whose::List(key) => {
                    let paused = shard.guard.pause_list(now, key, until);
                    paused.map_err(|_| NotOperated::Full)?;
                }
                Whose::Site(site) => shard.guard.pause_site(now, site, until),
            }
            // One that is extended began when it began.
            let since = whose.paused(shard, now).map_or(now, |pause| pause.since);
            Ok(FloodOperation::Pause(Pause { since, until }))
        });
        done?.await.map_err(|NotWritten| NotOperated::Unwritten)?;
        Ok(Paused {
            until: self.clock().timestamp(ends),
        })
    }

    /// Ends a pause of exactly these.
    ///
    /// # Errors
    /// See [`NotOperated`].
    pub async fn resume(&self, whose: &Whose, by: &By) -> Result<(), NotOperated> {
        let done = self.operate(whose, by, |shard, now| {
            let pause = whose.paused(shard, now).ok_or(NotOperated::NotPaused)?;
            match whose {
                Whose::List(key) => shard.guard.resume_list(now, key),
                Whose::Site(site) => shard.guard.resume_site(now, site),
            };
            Ok(FloodOperation::Resume(Pause {
                until: now,
                ..pause
            }))
        });
        done?.await.map_err(|NotWritten| NotOperated::Unwritten)
    }

    /// Does something and hands it to the writer before anybody else can see it.
    fn operate(
        &self,
        whose: &Whose,
        by: &By,
        act: impl FnOnce(&mut Shard, Instant) -> Result<FloodOperation, NotOperated>,
    ) -> Result<Durable, NotOperated> {
        let place = self.inner.writer.reserve().map_err(|_| NotOperated::Busy)?;
        let mut shard = self.inner.shards.of(whose.site());
        let at = self.now();
        let operation = act(&mut shard, at)?;
        let until = match operation {
            FloodOperation::Pause(pause) => Some(self.clock().timestamp(pause.until)),
            FloodOperation::Enable(_) | FloodOperation::Resume(_) => None,
        };
        Ok(place.write(FloodAct::Operated(Operated {
            site: whose.site().to_owned(),
            list: whose.list().to_owned(),
            operation,
            at,
            wall_ms: self.clock().wall_now().as_millisecond(),
            until,
            by: by.clone(),
        })))
    }
}
