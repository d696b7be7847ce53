//! The flood guard's driver: sites spread over shards, each with its lock and its
//! [`spillway::flood::Guard`]; what must be durable is so before it is answered.
//!
//! An event costs no write. What a guard decides that must not be forgotten (a strike, a
//! disablement, what people do) goes to one [`writer`] in the order in which it was decided, which
//! commits all that has come meanwhile at once. Minutes are counted in memory and written down each
//! second ([`counts`]).

mod counts;
mod days;
mod decide;
mod id_file;
mod ids;
mod letter;
mod operate;
mod places;
mod policies;
mod recorded;
mod restore;
mod search;
mod shard;
mod sites;
mod view;
mod writer;

use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use spillway::{
    Instant,
    flood::{Answer, Component, Decision, NotCounted, Trigger},
};
use tokio::sync::Semaphore;

use crate::{
    clock::Clock,
    limiter::Limiters,
    outbox::Outbox,
    store::{self, Store},
};
use counts::Counts;
use id_file::IdFile;
use ids::Known;
use recorded::Recorder;
use shard::{Shard, Shards};
use writer::{Durable, NotWritten, Writer};

pub use decide::Deciding;
pub(crate) use letter::without_link;
pub use letter::{Disabling, Letter, Linked, TOPIC, When, letters};
pub use operate::{NotOperated, Paused, Whose};
pub use policies::{Checked, FloodDocument, FloodEdit, ListDocument};
pub use recorded::{
    DAYS, DayPeak, Fate, LastHour, MINUTES, NotTried, Outcome, RECORDED_FROM, Trial, Tried,
};
pub use restore::{OpenError, latest};
pub use search::{Found, FoundRow, Region, Search, Totals, Wanted};
pub use sites::{BadSite, Site};
pub use view::{ComponentState, ListState};

/// How far a clock that reports events may be ahead, in milliseconds: within that an event of the
/// future happens now.
const AHEAD_MS_MAX: i64 = 60_000;

/// How long what happened to lists is kept: the 30 days that are shown, and one.
const HISTORY_MS: u64 = 31 * 86_400_000;

/// The flood guard. Clones share it.
#[derive(Clone, Debug)]
pub struct Floods {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shards: Shards,
    limiters: Arc<Limiters>,
    store: Store,
    writer: Writer,
    counts: Counts,
    id_file: IdFile,
    recorder: Mutex<Recorder>,
    /// Whoever tries a policy: it takes memory.
    trying: Semaphore,
}

/// An event as it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// The site's key.
    pub site: Cow<'a, str>,
    /// The list's key within the site.
    pub list: Cow<'a, str>,
    /// What would handle it.
    pub component: Component,
    /// What caused it.
    pub trigger: Trigger,
    /// What tells it from all other events of the list and component; reported again, it is
    /// answered again and not counted.
    pub id: Option<Cow<'a, str>>,
    /// When it happened; `None`: now.
    pub at: Option<Timestamp>,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What to do with the event.
    pub decision: Decision,
    /// The events counted in its minute so far.
    pub count: u32,
    /// The strikes of its day so far.
    pub strikes: u32,
}

/// Why an event is not answered. Unless it says otherwise nothing was counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTold {
    /// Its minute is no longer kept.
    #[error("at is more than 15 minutes ago: report events within that time")]
    TooLate,
    /// Its clock is wrong.
    #[error("at is more than a minute ahead: set the clock that reports it")]
    Ahead,
    /// As many lists are being counted as may be.
    #[error("as many lists are being counted as may be")]
    Full,
    /// More strikes wait to be written than may.
    #[error("more strikes wait to be written than may: the database is slow")]
    Busy,
    /// It was counted, and is a strike that is not written down yet.
    #[error("the event was counted and is a strike, but the database cannot take it yet")]
    Unwritten,
}

/// An event that has been decided.
#[derive(Debug)]
pub struct Decided {
    told: Told,
    durable: Option<Durable>,
}

impl Floods {
    /// Takes up what the database and the files in `state_dir` remember. `outbox` is woken for
    /// letters to the admins of sites.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(
        store: Store,
        limiters: Arc<Limiters>,
        state_dir: &Path,
        outbox: Outbox,
    ) -> Result<Self, OpenError> {
        restore::open(store, limiters, state_dir, outbox).await
    }

    /// The engine's now.
    fn now(&self) -> Instant {
        self.clock().now()
    }

    fn clock(&self) -> &Clock {
        self.inner.limiters.clock()
    }

    /// When a report says that it happened, on the engine's clock.
    fn at(&self, now: Instant, at: Option<Timestamp>) -> Result<Instant, NotTold> {
        let Some(at) = at else { return Ok(now) };
        let wall_ms = self.clock().wall_now().as_millisecond();
        let ago_ms = wall_ms.saturating_sub(at.as_millisecond());
        if ago_ms < -AHEAD_MS_MAX {
            return Err(NotTold::Ahead);
        }
        let ago_ms = u64::try_from(ago_ms).unwrap_or(0);
        let scaled = ago_ms.saturating_mul(u64::from(self.clock().scale()));
        Ok(Instant(now.0.saturating_sub(scaled)))
    }

    /// Writes down what has been counted, each second and at the end.
    pub async fn keep(self, shutdown: crate::http::Shutdown) {
        let mut second = tokio::time::interval(std::time::Duration::from_secs(1));
        second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut hour = tokio::time::interval(std::time::Duration::from_secs(3_600));
        loop {
            tokio::select! {
                _ = second.tick() => {
                    self.write_down().await;
                    self.record_each_minute().await;
                }
                _ = hour.tick() => self.forget_history().await,
                () = shutdown.begun() => return,
            }
        }
    }

    /// Writes down what has been counted and waits for what must be durable: the end.
    pub async fn close(&self) {
        self.write_down().await;
        self.record().await;
        self.inner.writer.close().await;
    }

    async fn forget_history(&self) {
        let before = Instant(self.now().0.saturating_sub(HISTORY_MS));
        if let Err(error) = self.inner.store.forget_floods(before).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "old strikes are kept until the next hour");
        }
        if let Err(error) = self.trim_recorded().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "old counts of lists are kept until the next hour");
        }
    }

    async fn write_down(&self) {
        let new = self.new_ids().await;
        let floods = self.clone();
        let write = move || {
            let written = floods.inner.id_file.write(floods.now(), &new);
            floods.write_counts().and(written)
        };
        let written = tokio::task::spawn_blocking(write).await;
        if let Ok(Err(error)) = written {
            let error = &error as &dyn std::error::Error;
            tracing::error!(
                error,
                "the counts of lists or the ids of events cannot be written; a restart would lose them"
            );
        }
    }

    /// The ids that are new, but for those whose strike is not durable yet.
    async fn new_ids(&self) -> Vec<Known> {
        let Inner {
            shards,
            writer,
            id_file,
            ..
        } = &*self.inner;
        let mut new = id_file.take_held_back();
        for mut ids in shards.each_ids() {
            new.extend(ids.take_new());
        }
        if !new.iter().any(|known| known.struck) {
            return new;
        }
        let durable = match writer.reserve() {
            Ok(place) => place.after_all().await.is_ok(),
            Err(_) => false,
        };
        if durable {
            return new;
        }
        let (held, new) = new.into_iter().partition(|known| known.struck);
        id_file.hold_back(held);
        new
    }

    fn write_counts(&self) -> std::io::Result<()> {
        let Inner {
            shards,
            counts,
            recorder,
            ..
        } = &*self.inner;
        counts.write(self.now(), shards, recorder)
    }
}

impl Decided {
    /// The answer, where nothing has to be waited for.
    #[must_use]
    pub fn at_once(&self) -> Option<Told> {
        self.durable.is_none().then_some(self.told)
    }

    /// The answer, once what it says will not be forgotten.
    ///
    /// # Errors
    /// [`NotTold::Unwritten`]; it will be written as soon as the database takes it.
    pub async fn told(self) -> Result<Told, NotTold> {
        if let Some(durable) = self.durable {
            let written = durable.await;
            written.map_err(|NotWritten| NotTold::Unwritten)?;
        }
        Ok(self.told)
    }
}

impl From<&Answer> for Told {
    fn from(answer: &Answer) -> Self {
        Self {
            decision: answer.decision,
            count: answer.count,
            strikes: answer.strikes,
        }
    }
}

impl From<NotCounted> for NotTold {
    fn from(not: NotCounted) -> Self {
        match not {
            NotCounted::TooLate => Self::TooLate,
            NotCounted::Full => Self::Full,
        }
    }
}

/// What the store says where something cannot be read or written.
type Stored<T> = Result<T, store::Error>;
