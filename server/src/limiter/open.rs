//! Start and end of the limiters: policies from the database, counters from the files.

use std::{
    hash::RandomState,
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use spillway::{Engine, Instant, Policy, Settings, preset::Vendor};
use tokio::task::JoinHandle;

use super::core::Core;
use super::files::Files;
use super::notes::Notes;
use super::outside::{Holders, Outside};
use super::restore::{self, Found};
use super::shards::{SHARDS, Shards};
use super::traffic::Traffic;
use super::{Inner, Limiter, Permit, Refused, keeper};
use crate::{
    clock::{Clock, Pace},
    config::{self, Config, PolicySource},
    store::{self, Instance, PolicyPlace, Store},
};

/// The most calls that may wait per app and workload: as many clients as a gateway of this
/// size can keep connections for.
const WAITERS_MAX: usize = 10_000;

/// Of this many turns one is the background's where both lanes have calls that could go (engine.md, Parking and turns).
const BACKGROUND_TURN: u32 = 20;

/// The longest wait that any caller is told: no vendor's SDKs obey a longer one. Callers of the
/// permit API are told the whole of it, but lose their place in line after this long.
const TOLD_MAX: Duration = Duration::from_secs(Vendor::Graph.retry_after_s_max() as u64);

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
    versions: Vec<i64>,
    generation: u64,
    found: Option<Found>,
    full: bool,
}

impl Limiters {
    /// Reads policies and counters, and starts one limiter for each upstream. The clock starts
    /// no earlier than the latest instant that any of them wrote down, and runs at `pace`.
    ///
    /// # Errors
    /// See [`OpenError`]. Lost counters are no error: see [`Recovery`].
    pub async fn open(
        config: &Config,
        store: &Store,
        recovery: Recovery,
        pace: impl Into<Pace>,
    ) -> Result<Self, OpenError> {
        Self::open_in(SHARDS, config, store, recovery, pace.into()).await
    }

    /// The same, with each upstream's apps spread over so many shards.
    pub(super) async fn open_in(
        shards: usize,
        config: &Config,
        store: &Store,
        recovery: Recovery,
        pace: Pace,
    ) -> Result<Self, OpenError> {
        let instance = store.instance().await?;
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let mut read = Vec::new();
        for upstream in &config.upstreams {
            let source = config.server.policy_source;
            let in_force = policies(store, upstream, source, now_ms).await?;
            let fresh = in_force.new || !instance.served;
            read.push(counters(
                upstream,
                in_force,
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
        let clock = Arc::new(Clock::start(high_water.max(pace.not_before), pace.scale));
        let mut limiters = Vec::new();
        for read in read {
            limiters.push(start(read, shards, config, &instance, &clock)?);
        }
        store.mark_served(now_ms).await?;
        let tasks = limiters.iter().flat_map(|limiter| {
            let inner = &limiter.inner;
            let shards = inner.shards.indices();
            let wake = shards.map(|shard| tokio::spawn(keeper::wake(Arc::clone(inner), shard)));
            wake.chain([tokio::spawn(keeper::keep(Arc::clone(inner)))])
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
            for mut core in limiter.inner.shards.each() {
                let stopped = core.close(self.clock.now());
                drop(core);
                limiter.inner.hand_over(stopped);
            }
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
impl Inner {
    /// From here on all shards write to this.
    pub(super) fn replace_journals(&self, journal: &super::journal::Journal) {
        let cores = self.shards.each();
        cores.for_each(|mut core| core.journal = journal.clone());
    }
}

#[cfg(test)]
impl Limiters {
    /// What `kill -9` does: nothing more is written.
    pub(super) fn kill(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        for limiter in self.limiters {
            // A round of the keeper's may still run; it must find nothing to do.
            let dead = super::journal::Journal::of_the_dead();
            limiter.inner.replace_journals(&dead);
        }
    }
}

/// The policies of an upstream that are in force from its start on.
struct InForce {
    policies: Vec<Policy>,
    versions: Vec<i64>,
    /// Whether this upstream is new to the database.
    new: bool,
}

async fn policies(
    store: &Store,
    upstream: &config::Upstream,
    source: PolicySource,
    now_ms: i64,
) -> Result<InForce, OpenError> {
    let mut in_force = InForce {
        policies: Vec::new(),
        versions: Vec::new(),
        new: true,
    };
    for workload in upstream.limited() {
        let illegal = |source| OpenError::Policy {
            upstream: upstream.name.clone(),
            workload: workload.name.clone(),
            source,
        };
        let place = PolicyPlace {
            upstream: &upstream.name,
            workload: &workload.name,
        };
        in_force.new &= store.policy(place).await?.is_none();
        let configured = serde_json::to_string(&workload.policy).map_err(illegal)?;
        let stored = match source {
            PolicySource::Database => store.seed_policy(place, &configured, now_ms).await?,
            PolicySource::File => store.adopt_policy(place, &configured, now_ms).await?,
        };
        let policy = serde_json::from_str(&stored.document).map_err(illegal)?;
        in_force.policies.push(policy);
        in_force.versions.push(stored.version);
    }
    Ok(in_force)
}

fn counters(
    upstream: &config::Upstream,
    in_force: InForce,
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
        policies: in_force.policies,
        versions: in_force.versions,
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
    shards: usize,
    config: &Config,
    instance: &Instance,
    clock: &Arc<Clock>,
) -> Result<Limiter, OpenError> {
    let unwritable = |source| OpenError::Files {
        upstream: read.upstream.name.clone(),
        source,
    };
    let mut engines = engines(&read, shards, config, clock);
    let mut outside = Outside::new(
        |wall| clock.engine_ms(wall),
        config.server.per_token.permits,
    );
    let mut notes = Notes::default();
    if let Some(found) = read.found {
        (outside, notes) = found.replay(&mut engines, outside);
    }
    if read.full {
        let now = clock.now();
        engines
            .iter_mut()
            .for_each(|engine| engine.assume_full(now));
    }
    let upstream = &read.upstream;
    let (outside, workloads) = (Holders::new(outside), upstream.limited().count());
    let cores = engines.into_iter().enumerate();
    let names = RandomState::new();
    let cores = cores.map(|(shard, engine)| {
        let traffic = Traffic::new(names.clone());
        Core::new(shard, engine, workloads, outside.clone(), traffic)
    });
    let inner = Arc::new(Inner {
        shards: Shards::new(cores.collect(), config.server.users_max as usize),
        outside,
        app: upstream.app.clone(),
        hold_max: upstream.hold_max,
        per_token: config.server.per_token,
        name: upstream.name.clone(),
        workloads: upstream.limited().cloned().collect(),
        global: upstream.global_at(),
        versions: Mutex::new(read.versions),
        notes: Mutex::new(notes),
        instance: instance.id.clone(),
        clock: Arc::clone(clock),
        files: Files::new(&config.server.state_dir, &upstream.name),
        generation: Mutex::new(read.generation),
        keeping_errors: AtomicU64::new(0),
        gap: AtomicBool::new(true),
        snapshot_bytes: AtomicU64::new(0),
    });
    inner.next_generation(true).map_err(unwritable)?;
    Ok(Limiter { inner })
}

/// What every engine of an upstream goes by.
pub(super) fn settings(clock: &Clock, users_max: usize, global: Option<usize>) -> Settings {
    Settings {
        users_max,
        waiters_max: WAITERS_MAX,
        lease_ms: clock.engine_ms(Permit::LEASE),
        renewals_ms_max: clock.engine_ms(Permit::RENEWALS_MAX),
        probe_ms: clock.engine_ms(Permit::PROBE),
        background_turn: BACKGROUND_TURN,
        told_ms_max: clock.engine_ms(TOLD_MAX),
        global,
        hash_seed: rand::random(),
    }
}

/// One engine for each shard, with nothing counted.
fn engines(read: &Read, shards: usize, config: &Config, clock: &Clock) -> Vec<Engine> {
    let engine = |shard| {
        let users_max = config.server.users_max as usize;
        let settings = settings(clock, users_max, read.upstream.global_at());
        // Time begins at 0 so that what was written down lands when it landed.
        let mut engine = Engine::new(settings, read.policies.clone(), Instant::default());
        engine.share_numbers(shard, shards);
        for (position, workload) in read.upstream.limited().enumerate() {
            if let Some((scope, dimension)) = workload.remaining_is_of() {
                engine.trust_remaining(position, scope, dimension);
            }
        }
        engine
    };
    (0..shards).map(engine).collect()
}
