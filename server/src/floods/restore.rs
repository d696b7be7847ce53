//! What the guard is told at a start.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use jiff::tz::TimeZone;
use spillway::{
    Instant,
    flood::{Component, ListKey, StrikeRecord},
};
use tokio::sync::Semaphore;

use super::{
    Floods, Inner,
    counts::{self, Counts},
    id_file::{self, IdFile},
    shard::Shards,
    writer::Writer,
};
use crate::{
    limiter::Limiters,
    outbox::Outbox,
    store::{self, FloodAct, FloodOperation, Store},
};

/// How far back strikes matter: two days of the longest, and what may be late.
const STRIKES_MS: u64 = 3 * 86_400_000;

/// Why the flood guard cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database does not answer.
    #[error("server.database_url")]
    Store(#[from] store::Error),
    /// The counts are there and cannot be read.
    #[error("server.state_dir: floods.counts")]
    Counts(#[from] std::io::Error),
    /// A policy of the database is none.
    #[error("the flood policy of {component} in the database cannot be in force: {problem}")]
    Policy {
        /// Whose.
        component: Component,
        /// What is wrong with it.
        problem: String,
    },
}

pub(super) async fn open(
    store: Store,
    limiters: Arc<Limiters>,
    state_dir: &Path,
    outbox: Outbox,
) -> Result<Floods, OpenError> {
    let floods = Floods {
        inner: Arc::new(Inner {
            shards: Shards::new(),
            writer: Writer::start(store.clone(), outbox),
            counts: Counts::new(state_dir),
            id_file: IdFile::new(state_dir),
            recorder: Mutex::default(),
            trying: Semaphore::new(1),
            limiters,
            store,
        }),
    };
    let now = floods.now();
    floods
        .load_policies(floods.clock().wall_now().as_millisecond())
        .await?;
    floods.restore_sites().await?;
    floods.restore_history(now).await?;
    floods.restore_recorded(now).await?;
    counts::read(state_dir, |record| {
        let mut shard = floods.inner.shards.of(&record.key.site);
        shard.guard.restore_minute(now, &record);
    })?;
    floods.restore_ids(state_dir, now)?;
    // What was read is written anew, and on its way recorded again.
    floods.write_counts()?;
    Ok(floods)
}

/// The latest instant that was written down: the clock must not begin before it.
///
/// # Errors
/// What is there cannot be read.
pub async fn latest(store: &Store, state_dir: &Path) -> Result<Instant, OpenError> {
    let written = store.latest_flood().await?;
    let counted = counts::latest(state_dir)?;
    Ok(written.max(counted).unwrap_or_default())
}

impl Floods {
    fn restore_ids(&self, state_dir: &Path, now: Instant) -> std::io::Result<()> {
        let known = id_file::read(state_dir, now)?;
        for it in &known {
            self.inner.shards.ids(it.id).restore(now, *it);
        }
        self.inner.id_file.begin(now, &known)
    }

    async fn restore_sites(&self) -> Result<(), store::Error> {
        for site in self.inner.store.sites().await? {
            let mut shard = self.inner.shards.of(&site.site);
            match TimeZone::get(&site.time_zone) {
                Ok(zone) => shard.days.set(&site.site, zone),
                // A zone that an older version knew; its days are UTC's then.
                Err(_) => {
                    let (site, zone) = (&site.site, &site.time_zone);
                    tracing::warn!(site, zone, "the time zone is unknown: its days are UTC's");
                }
            }
            shard.places.set(&site);
        }
        Ok(())
    }

    /// In the order in which it was written; see [`spillway::flood::Guard::restore_strike`].
    async fn restore_history(&self, now: Instant) -> Result<(), store::Error> {
        let store = &self.inner.store;
        let since = Instant(now.0.saturating_sub(STRIKES_MS));
        for act in store.flood_acts_since(since).await? {
            self.restore_act(now, &act);
        }
        for (key, component, disabled) in store.floods_disabled().await? {
            let mut shard = self.inner.shards.of(&key.site);
            shard.guard.restore_disabled(&key, component, disabled);
        }
        for (key, pause) in store.flood_pauses().await? {
            let mut shard = self.inner.shards.of(&key.site);
            if key.list.is_empty() {
                shard.guard.restore_site_pause(&key.site, pause);
            } else {
                shard.guard.restore_list_pause(&key, pause);
            }
        }
        Ok(())
    }

    fn restore_act(&self, now: Instant, act: &FloodAct) {
        match act {
            FloodAct::Strike(strike) => {
                let key = ListKey::new(&strike.site, &strike.list);
                let record = StrikeRecord {
                    key,
                    component: strike.component,
                    day: strike.day,
                    number: strike.strike.number,
                    minute: strike.strike.minute,
                    count: strike.strike.count,
                    at: strike.at,
                };
                self.inner
                    .shards
                    .of(&strike.site)
                    .guard
                    .restore_strike(now, &record);
            }
            FloodAct::Operated(operated) => {
                if let FloodOperation::Enable(component) = operated.operation {
                    let key = ListKey::new(&operated.site, &operated.list);
                    let mut shard = self.inner.shards.of(&operated.site);
                    shard.guard.restore_enabled(&key, component, operated.at);
                }
            }
        }
    }
}
