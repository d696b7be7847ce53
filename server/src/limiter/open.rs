//! Start and end of the limiters: policies from the database, counters from the files.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use spillway::{Engine, Instant, Policy, Settings};
use tokio::{sync::Notify, task::JoinHandle};

use super::core::Core;
use super::files::Files;
use super::journal::Journal;
use super::outside::Outside;
use super::restore::{self, Found};
use super::{Inner, Limiter, Permit, Refused, keeper};
use crate::{
    clock::Clock,
    config::{self, Config},
    store::{self, Instance, Store},
};

/// The most calls that may wait per app and workload: as many clients as a gateway of this
/// size can keep connections for.
const WAITERS_MAX: usize = 10_000;

/// Of this many turns one is the background's where both lanes have calls that could go (engine.md, Parking and turns).
const BACKGROUND_TURN: u32 = 20;

/// What to do where a database has served and its counters are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Treat every key as full for one window: the upstream may have counted that much.
    #[default]
    AssumeFull,
    /// Start empty: somebody knows that nothing was called lately.
    AssumeEmpty,
}

/// Why the limiters cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database does not answer.
    #[error("the policies cannot be read")]
    Store(#[from] store::Error),
    /// What the database holds is no policy.
    #[error("the policy of {upstream}/{workload} in the database is illegal")]
    Policy {
        /// Whose.
        upstream: String,
        /// Which.
        workload: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The counters cannot be written.
    #[error("the counters of {upstream} cannot be written")]
    Files {
        /// Whose.
        upstream: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// All limiters, and the tasks that keep them.
#[derive(Debug)]
pub struct Limiters {
    limiters: Vec<Limiter>,
    clock: Arc<Clock>,
    tasks: Vec<JoinHandle<()>>,
}

/// An upstream as it was read, before the clock starts.
struct Read {
    upstream: config::Upstream,
    policies: Vec<Policy>,
    generation: u64,
    found: Option<Found>,
    full: bool,
}

impl Limiters {
    /// Reads policies and counters, and starts one limiter for each upstream. The clock starts
    /// no earlier than the latest instant that any of them wrote down, and runs `time_scale`
    /// times as fast as the wall clock.
    ///
    /// # Errors
    /// See [`OpenError`]. Lost counters are no error: see [`Recovery`].
    pub async fn open(
        config: &Config,
        store: &Store,
        recovery: Recovery,
        time_scale: u32,
    ) -> Result<Self, OpenError> {
        let instance = store.instance().await?;
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut read = Vec::new();
        for upstream in &config.upstreams {
            let (policies, new) = policies(store, upstream, now_ms).await?;
            let fresh = new || !instance.served;
            read.push(counters(
                upstream,
                policies,
                &config.server.state_dir,
                &instance,
                fresh,
                recovery,
            ));
        }
        let high_water = read
            .iter()
            .filter_map(|read| Some(read.found.as_ref()?.high_water))
            .max()
            .unwrap_or_default();
        let clock = Arc::new(Clock::start(high_water, time_scale));
        let mut limiters = Vec::new();
        for read in read {
            limiters.push(start(read, config, &instance, &clock)?);
        }
        store.mark_served(now_ms).await?;
        let tasks = limiters.iter().flat_map(|limiter| {
            let wake = tokio::spawn(keeper::wake(Arc::clone(&limiter.inner)));
            [wake, tokio::spawn(keeper::keep(Arc::clone(&limiter.inner)))]
        });
        let tasks = tasks.collect();
        Ok(Self {
            limiters,
            clock,
            tasks,
        })
    }

    /// The limiters, in the configuration's order.
    #[must_use]
    pub fn all(&self) -> &[Limiter] {
        &self.limiters
    }

    /// The engine's clock.
    #[must_use]
    pub const fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Whether grants of all upstreams can be written down.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn ready(&self) -> Result<(), Refused> {
        self.limiters.iter().try_for_each(Limiter::ready)
    }

    /// Refuses all calls from now on, those that wait included.
    pub fn refuse_all(&self) {
        for limiter in &self.limiters {
            let stopped = limiter.inner.lock().close(self.clock.now());
            limiter.inner.hand_over(stopped);
        }
    }

    /// Writes everything down. Permits that are still out stay taken until they expire.
    ///
    /// # Errors
    /// The first upstream whose counters cannot be written; its journal remains.
    pub async fn close(&self) -> Result<(), OpenError> {
        self.refuse_all();
        self.tasks.iter().for_each(JoinHandle::abort);
        for limiter in &self.limiters {
            let (upstream, inner) = (limiter.name().to_owned(), Arc::clone(&limiter.inner));
            let written = tokio::task::spawn_blocking(move || inner.next_generation(true)).await;
            written
                .map_err(io::Error::other)
                .flatten()
                .map_err(|source| OpenError::Files { upstream, source })?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Limiters {
    /// What `kill -9` does: nothing more is written.
    pub(super) fn kill(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        for limiter in self.limiters {
            limiter.inner.lock().journal = Journal::closed();
        }
    }
}

/// The policies in force, and whether this upstream is new to the database.
async fn policies(
    store: &Store,
    upstream: &config::Upstream,
    now_ms: i64,
) -> Result<(Vec<Policy>, bool), OpenError> {
    let mut policies = Vec::new();
    let mut new = true;
    for workload in upstream.limited() {
        let illegal = |source| OpenError::Policy {
            upstream: upstream.name.clone(),
            workload: workload.name.clone(),
            source,
        };
        new &= store
            .policy(&upstream.name, &workload.name)
            .await?
            .is_none();
        let seed = serde_json::to_string(&workload.policy).map_err(illegal)?;
        let stored = store
            .seed_policy(&upstream.name, &workload.name, &seed, now_ms)
            .await?;
        policies.push(serde_json::from_str(&stored.document).map_err(illegal)?);
    }
    Ok((policies, new))
}

fn counters(
    upstream: &config::Upstream,
    policies: Vec<Policy>,
    folder: &Path,
    instance: &Instance,
    fresh: bool,
    recovery: Recovery,
) -> Read {
    let names: Vec<_> = upstream
        .limited()
        .map(|workload| workload.name.clone())
        .collect();
    let files = Files::new(folder, &upstream.name);
    let (next_generation, found) = restore::read(&files, &instance.id, &names);
    let (found, full) = match found {
        Ok(mut found) => {
            found.full_at.take_if(|_| recovery == Recovery::AssumeEmpty);
            (Some(found), false)
        }
        Err(restore::Unusable::Missing) if fresh => (None, false),
        Err(why) => {
            let full = !fresh && recovery == Recovery::AssumeFull;
            tell_loss(&upstream.name, &why, full);
            (None, full)
        }
    };
    Read {
        upstream: upstream.clone(),
        policies,
        generation: next_generation - 1,
        found,
        full,
    }
}

fn tell_loss(upstream: &str, why: &restore::Unusable, full: bool) {
    let error = why as &dyn std::error::Error;
    if full {
        tracing::warn!(
            upstream,
            error,
            "the counters are lost: every budget counts as full for one window; \
             `spillway serve --assume-empty` starts empty instead"
        );
    } else {
        tracing::warn!(
            upstream,
            error,
            "the counters are lost or another database's: starting empty"
        );
    }
}

fn start(
    read: Read,
    config: &Config,
    instance: &Instance,
    clock: &Arc<Clock>,
) -> Result<Limiter, OpenError> {
    let upstream = read.upstream;
    let unwritable = |source| OpenError::Files {
        upstream: upstream.name.clone(),
        source,
    };
    let settings = Settings {
        users_max: config.server.users_max as usize,
        waiters_max: WAITERS_MAX,
        lease_ms: clock.engine_ms(Permit::LEASE),
        renewals_ms_max: clock.engine_ms(Permit::RENEWALS_MAX),
        probe_ms: clock.engine_ms(Permit::PROBE),
        background_turn: BACKGROUND_TURN,
        global: upstream.global_at(),
        hash_seed: rand::random(),
    };
    // Time begins at 0 so that what was written down lands when it landed.
    let mut engine = Engine::new(settings, read.policies, Instant::default());
    let mut outside = Outside::new(|wall| clock.engine_ms(wall));
    if let Some(found) = read.found {
        outside = found.replay(&mut engine, outside);
    }
    if read.full {
        engine.assume_full(clock.now());
    }
    for (position, workload) in upstream.limited().enumerate() {
        if let Some((scope, dimension)) = workload.remaining_is_of() {
            engine.trust_remaining(position, scope, dimension);
        }
    }
    let folder = &config.server.state_dir;
    let inner = Arc::new(Inner {
        core: Mutex::new(Core::new(
            engine,
            Journal::closed(),
            upstream.limited().count(),
            outside,
        )),
        app: upstream.app.clone(),
        hold_max: upstream.hold_max,
        name: upstream.name.clone(),
        workloads: upstream.limited().cloned().collect(),
        global: upstream.global_at(),
        instance: instance.id.clone(),
        clock: Arc::clone(clock),
        files: Files::new(folder, &upstream.name),
        generation: Mutex::new(read.generation),
        gap: AtomicBool::new(true),
        rearm: Notify::new(),
    });
    inner.next_generation(true).map_err(unwritable)?;
    Ok(Limiter { inner })
}
