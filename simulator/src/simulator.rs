//! The lookalike itself: its state, and a call's way through it.
//!
//! A call that is let in holds its slot for as long as the answer takes, **in a task of its own**:
//! when the client hangs up, the work goes on and the slot stays taken, as at a real upstream. A
//! slot is free again before the last byte of the answer leaves, so that a client which waits for
//! that byte can never be ahead of the count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::ledger::{Ledger, Refusal, Ticket};
use crate::budget::stats::{Stats, Upstream};
use crate::clock::Clock;
use crate::content::written::Written;
use crate::faults::{Fault, Faults};
use crate::identity::Caller;
use crate::notion::{self, Workspace};
use crate::random::{between, hash};
use crate::settings::{Settings, SettingsError};
use crate::{graph, sim_api};

/// The most calls in progress at once, limited ones and others together.
const CALLS_MAX: usize = 10_000;
/// The largest body that `/_sim` reads.
const BODY_MAX: usize = 64 * 1024;

/// A lookalike; clones share one state.
#[derive(Debug, Clone)]
pub struct Simulator {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    clock: Clock,
    arrived: AtomicU64,
    batches: AtomicU64,
    parts: AtomicU64,
    calls: Arc<Semaphore>,
    graph: Mutex<Ledger>,
    notion: Mutex<Ledger>,
    faults: Mutex<Faults>,
    written: Mutex<Written>,
    workspace: Mutex<Workspace>,
}

impl Simulator {
    /// A fresh lookalike, whose time starts now.
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.validate()?;
        let shared = Shared {
            clock: Clock::new(settings.time_scale),
            arrived: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            parts: AtomicU64::new(0),
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            graph: Mutex::new(Ledger::new(Upstream::Graph, &settings)),
            notion: Mutex::new(Ledger::new(Upstream::Notion, &settings)),
            faults: Mutex::new(Faults::default()),
            written: Mutex::new(Written::default()),
            workspace: Mutex::new(Workspace::new(settings.seed)),
            settings,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Everything it answers: `/_sim`, Notion under `/v1/`, and Graph for all other paths.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/_sim/stats", get(sim_api::stats))
            .route(
                "/_sim/faults",
                get(sim_api::faults)
                    .post(sim_api::inject)
                    .delete(sim_api::clear),
            )
            .route("/v1/{*path}", any(notion::answer))
            .fallback(graph::answer)
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(self.clone())
    }

    /// The score so far.
    pub fn stats(&self) -> Stats {
        let (mut graph, mut notion) = (self.ledger(Upstream::Graph), self.ledger(Upstream::Notion));
        let now_us = self.shared.clock.now_us();
        let mut budgets = graph.scores(now_us);
        budgets.extend(notion.scores(now_us));
        Stats {
            arrived: self.shared.arrived.load(Ordering::Relaxed),
            batches: self.shared.batches.load(Ordering::Relaxed),
            parts: self.shared.parts.load(Ordering::Relaxed),
            rejected: graph.rejected() + notion.rejected(),
            faulted: self.faults().spent(),
            as_of_ms: now_us / 1000,
            time_scale: self.shared.settings.time_scale,
            budgets,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Counts an arrival and gives it its number, from 1.
    pub(crate) fn next_call(&self) -> u64 {
        self.shared.arrived.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The same for a batch.
    pub(crate) fn next_batch(&self) -> u64 {
        self.shared.batches.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts what a batch holds.
    pub(crate) fn count_parts(&self, parts: usize) {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX);
        self.shared.parts.fetch_add(parts, Ordering::Relaxed);
    }

    /// The fault that befalls call number `call` by chance.
    pub(crate) fn chance(&self, call: u64) -> Fault {
        let fault = Fault::of_call(&self.shared.settings, call);
        self.faults().by_chance(fault)
    }

    /// The fault that befalls batch number `batch` by chance.
    pub(crate) fn chance_of_batch(&self, batch: u64) -> Fault {
        let fault = Fault::of_batch(&self.shared.settings, batch);
        self.faults().by_chance(fault)
    }

    /// Lets a call to Graph in: with its budgets charged if it is `limited`, else only counted.
    pub(crate) fn admit(&self, caller: &Caller, limited: bool) -> Result<Slot, Refusal> {
        self.let_in(caller, limited.then_some(Upstream::Graph))
    }

    /// Lets a call to Notion in, whose connection's budget is charged.
    pub(crate) fn admit_notion(&self, caller: &Caller) -> Result<Slot, Refusal> {
        self.let_in(caller, Some(Upstream::Notion))
    }

    /// How long on the wall until Notion's rates have room for this connection.
    pub(crate) fn notion_wait(&self, caller: &Caller) -> Duration {
        let mut ledger = self.ledger(Upstream::Notion);
        let wait_us = ledger.wait_us(self.shared.clock.now_us(), caller);
        self.shared.clock.wall(wait_us)
    }

    fn let_in(&self, caller: &Caller, charged: Option<Upstream>) -> Result<Slot, Refusal> {
        let calls = Arc::clone(&self.shared.calls);
        let in_progress = calls.try_acquire_owned().map_err(|_| Refusal::Capacity)?;
        let ticket = match charged {
            Some(upstream) => Some((upstream, self.charge(upstream, caller)?)),
            None => None,
        };
        Ok(Slot {
            simulator: self.clone(),
            ticket,
            _in_progress: in_progress,
        })
    }

    /// How long call number `call` takes.
    pub(crate) fn latency(&self, call: u64) -> Duration {
        let latency = self.shared.settings.latency;
        let random = hash(self.shared.settings.seed, &["latency", &call.to_string()]);
        let unscaled_us = between(random, latency.min_ms * 1000, latency.max_ms * 1000);
        self.shared.clock.wall(unscaled_us)
    }

    fn charge(&self, upstream: Upstream, caller: &Caller) -> Result<Ticket, Refusal> {
        let mut ledger = self.ledger(upstream);
        // Read under the lock, so that instants are in the order of the arrivals.
        ledger.arrive(self.shared.clock.now_us(), caller)
    }

    fn ledger(&self, upstream: Upstream) -> MutexGuard<'_, Ledger> {
        match upstream {
            Upstream::Graph => lock(&self.shared.graph),
            Upstream::Notion => lock(&self.shared.notion),
        }
    }

    /// What users of OneNote wrote.
    pub(crate) fn written(&self) -> MutexGuard<'_, Written> {
        lock(&self.shared.written)
    }

    /// What is in Notion.
    pub(crate) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        lock(&self.shared.workspace)
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.shared.faults)
    }
}

/// A panic elsewhere leaves nothing half done that others could not read.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call in progress; dropping it ends the call.
#[derive(Debug)]
pub(crate) struct Slot {
    simulator: Simulator,
    ticket: Option<(Upstream, Ticket)>,
    _in_progress: OwnedSemaphorePermit,
}

impl Slot {
    /// Works on the call for this long, whether or not anyone still waits for the answer; gives
    /// the slot back, or none when the process is stopping.
    pub(crate) async fn work(self, latency: Duration) -> Option<Self> {
        let work = tokio::spawn(async move {
            tokio::time::sleep(latency).await;
            self
        });
        work.await.ok()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((upstream, ticket)) = self.ticket.take() {
            self.simulator.ledger(upstream).leave(&ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(simulator: &Simulator) -> Vec<Option<u32>> {
        let budgets = simulator.stats().budgets;
        budgets
            .iter()
            .flat_map(|b| &b.layers)
            .map(|layer| layer.in_flight)
            .filter(Option::is_some)
            .collect()
    }

    fn caller() -> Caller {
        Caller {
            app: "a".to_owned(),
            tenant: "t".to_owned(),
            user: "u".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_abandoned_call_keeps_its_slot_for_its_full_latency() {
        let simulator = Simulator::new(Settings::default()).unwrap();
        for _ in 0..5 {
            let slot = simulator.admit(&caller(), true).unwrap();
            let answer = slot.work(Duration::from_secs(10));
            // The client gives up after a second.
            let _ = tokio::time::timeout(Duration::from_secs(1), answer).await;
        }
        assert_eq!(in_flight(&simulator), [Some(5), Some(5)]);
        assert!(simulator.admit(&caller(), true).is_err());
        // The last one was taken four seconds after the first.
        tokio::time::sleep(Duration::from_millis(5_500)).await;
        assert_eq!(in_flight(&simulator), [Some(4), Some(4)]);
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(in_flight(&simulator), [Some(0), Some(0)]);
        assert!(simulator.admit(&caller(), true).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn windows_shrink_with_the_time_scale() {
        let settings = Settings {
            time_scale: 60,
            windows: crate::Windows::Sliding,
            ..Settings::default()
        };
        let simulator = Simulator::new(settings).unwrap();
        for _ in 0..120 {
            drop(simulator.admit(&caller(), true).unwrap());
        }
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(simulator.admit(&caller(), true).is_err());
        // That refused call counts as well, but 120 others leave the window now.
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(simulator.admit(&caller(), true).is_ok());
    }

    #[test]
    fn latencies_are_scaled_and_within_range() {
        let settings = Settings {
            time_scale: 100,
            ..Settings::default()
        };
        let simulator = Simulator::new(settings).unwrap();
        let range = Duration::from_millis(3)..=Duration::from_millis(9);
        assert!((0..500).all(|n| range.contains(&simulator.latency(n))));
        assert_ne!(simulator.latency(1), simulator.latency(2));
    }
}
