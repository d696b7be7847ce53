//! The simulated world: callers, the engine's driver and the upstream on a virtual clock.

mod agenda;
mod asking;
mod ending;
mod faults;
mod trace;

use std::collections::BTreeMap;

use spillway::{Call, Instant, Permit, Policy, Signal, Ticket};

use crate::adapter::Driver;
use crate::invariants::{self, Invariant};
use crate::pauses::Pauses;
use crate::prng::Prng;
use crate::referee::{Referee, span_ms};
use crate::script::{Ending, Script};
use crate::seen::{Scene, Seen, Waiting};
use crate::upstream::Upstream;
use agenda::{Agenda, Item};
use trace::Kind;
pub use trace::Trace;

/// A Wednesday in 2026, in Unix milliseconds.
pub const START: Instant = Instant(1_790_000_000_000);

/// After so long without calls nothing may be left: breakers go half an hour after the last
/// trip at the latest (20 minutes: the longest cool-down and ten minutes half-open).
const QUIET_MS: u64 = 1_800_000;

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Which one.
    pub invariant: &'static str,
    pub why: String,
    /// When, since the beginning.
    pub at_ms: u64,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// All decisions.
    pub trace: Trace,
    pub granted: u64,
    pub asked: u64,
    pub restarts: u64,
    pub trips: u64,
    pub exact_waits: u64,
    pub broken: Option<Broken>,
}

/// A call that was granted and is not over for its caller.
struct Flight {
    call: Call,
    caller: usize,
    granted_at: Instant,
    expires_at: Instant,
    /// When its lease ended by itself.
    expired_at: Option<Instant>,
    ending: Ending,
    gateway: bool,
    answer: Option<Answered>,
}

/// What the upstream answers.
#[derive(Clone, Copy)]
enum Answered {
    Says(Signal),
    /// The connection breaks.
    Nothing,
}

/// A caller's own stream, and how often it asked.
struct State {
    prng: Prng,
    asks: u64,
}

/// The world of one script.
pub struct World<'a> {
    script: &'a Script,
    now: Instant,
    driver: Driver,
    upstream: Upstream,
    referee: Referee,
    agenda: Agenda,
    states: Vec<State>,
    flights: BTreeMap<Permit, Flight>,
    /// Calls that nobody will end but their lease's expiry.
    orphans: BTreeMap<Permit, (Instant, Call)>,
    waiting: BTreeMap<Ticket, Waiting>,
    pauses: Pauses,
    invariants: Vec<Box<dyn Invariant>>,
    /// The driver does nothing until then: it is killed, or stands still.
    away_until: Instant,
    killed: bool,
    operations: usize,
    outcome: Outcome,
}

/// Runs a script to its end or to the first broken rule.
pub fn run(script: &Script, hash_seed: u64) -> Outcome {
    let mut world = World::new(script, hash_seed);
    if world.play().and_then(|()| world.calm_down()).is_err() {
        debug_assert!(world.outcome.broken.is_some());
    }
    world.outcome
}

/// A rule was broken, and is noted: nothing more happens.
struct Stop;

impl<'a> World<'a> {
    fn new(script: &'a Script, hash_seed: u64) -> Self {
        let state = |id: u32| State {
            prng: Prng::of_part(script.seed, u64::from(id) + 1),
            asks: 0,
        };
        let mut agenda = Agenda::default();
        for (caller, it) in script.callers.iter().enumerate() {
            agenda.put(START.plus_ms(it.starts_ms), Item::Ask { caller });
        }
        for (fault, it) in script.faults.iter().enumerate() {
            agenda.put(START.plus_ms(it.at_ms), Item::Fault { fault });
        }
        Self {
            script,
            now: START,
            driver: Driver::new(script.sizes, script.policies.clone(), START, hash_seed),
            upstream: Upstream::new(script.counting),
            referee: Referee::new(&script.policies),
            agenda,
            states: script.callers.iter().map(|it| state(it.id)).collect(),
            flights: BTreeMap::new(),
            orphans: BTreeMap::new(),
            waiting: BTreeMap::new(),
            pauses: Pauses::default(),
            invariants: invariants::all(script),
            away_until: START,
            killed: false,
            operations: 0,
            outcome: Outcome::default(),
        }
    }

    /// Everything that is on the agenda, until it is empty and nobody waits.
    fn play(&mut self) -> Result<(), Stop> {
        loop {
            let timer = self.driver.wake_at().filter(|_| !self.killed);
            let timer = timer.map(|at| at.plus_ms(self.script.timer_lag_ms).max(self.away_until));
            let item_at = self.agenda.next_at();
            match (item_at, timer) {
                (None, None) => return Ok(()),
                (Some(at), timer) if timer.is_none_or(|timer| at <= timer) => {
                    self.pass_to(at)?;
                    self.next_item()?;
                }
                (_, timer) => {
                    self.pass_to(timer.unwrap_or(self.now))?;
                    self.settle()?;
                    let spins = self.driver.wake_at().is_some_and(|at| at <= self.now);
                    self.require(!spins, "driver", || "its timer would spin".to_owned())?;
                }
            }
        }
    }

    fn next_item(&mut self) -> Result<(), Stop> {
        let Some(item) = self.agenda.take() else {
            return Ok(());
        };
        if (self.killed || self.now < self.away_until) && !item.outside() {
            self.agenda.put(self.away_until.max(self.now), item);
            return Ok(());
        }
        match item {
            Item::Ask { caller } => self.ask(caller),
            Item::HangUp { ticket } => self.hang_up(ticket),
            Item::Arrive { permit } => self.arrive(permit),
            Item::Answer { permit } => self.answer(permit),
            Item::Complete { permit } => self.complete(permit),
            Item::Refund { permit } => self.refund(permit),
            Item::Renew { permit } => self.renew(permit),
            Item::Fault { fault } => self.fault(fault),
            Item::Resume { fault } => self.resume(fault),
            Item::Restart { counts_lost } => self.restart(counts_lost),
        }
    }

    /// Time passes; what the engine will find expired has ended for everybody.
    fn pass_to(&mut self, at: Instant) -> Result<(), Stop> {
        self.now = self.now.max(at);
        if self.now < self.away_until {
            return Ok(());
        }
        self.expire()
    }

    /// Nobody asks any more. All ends, and after half an hour nothing is left.
    fn calm_down(&mut self) -> Result<(), Stop> {
        let expiries = self.orphans.values().map(|(at, _)| *at);
        let faults = self.script.faults.iter();
        let faults = faults.map(|it| START.plus_ms(it.at_ms + it.lasts_ms));
        let over = expiries.chain(faults).max().unwrap_or(self.now);
        let layers = self.script.policies.iter().flat_map(Policy::layers);
        let longest_ms = layers.map(span_ms).max().unwrap_or(0);
        let quiet_at = over.max(self.now).plus_ms(QUIET_MS.max(2 * longest_ms));
        self.pass_to(quiet_at)?;
        self.settle()?;
        self.show(&Seen::Quiet)
    }

    /// Who waited and fits now goes; what must be written is written.
    fn settle(&mut self) -> Result<(), Stop> {
        for settled in self.driver.settle(self.now) {
            self.settled(settled)?;
        }
        self.operations += 1;
        if self.operations.is_multiple_of(self.script.snapshot_every) {
            let full = (self.operations / self.script.snapshot_every).is_multiple_of(3);
            let outside: Vec<Permit> = self.flights.keys().copied().collect();
            self.driver.snapshot(self.now, full, &outside);
        }
        self.show(&Seen::Settled)
    }

    /// Shows the invariants what happened.
    fn show(&mut self, seen: &Seen<'_>) -> Result<(), Stop> {
        let mut invariants = std::mem::take(&mut self.invariants);
        let mut scene = Scene {
            now: self.now,
            script: self.script,
            driver: &mut self.driver,
            referee: &self.referee,
            waiting: &self.waiting,
            pauses: &self.pauses,
            exact_waits: &mut self.outcome.exact_waits,
        };
        let broken = invariants.iter_mut().find_map(|invariant| {
            let why = invariant.see(seen, &mut scene).err()?;
            Some((invariant.name(), why))
        });
        self.invariants = invariants;
        broken.map_or(Ok(()), |(name, why)| self.fail(name, why))
    }

    fn require(
        &mut self,
        holds: bool,
        name: &'static str,
        why: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        if holds {
            return Ok(());
        }
        self.fail(name, why())
    }

    fn fail(&mut self, invariant: &'static str, why: String) -> Result<(), Stop> {
        self.outcome.broken = Some(Broken {
            invariant,
            why,
            at_ms: self.now.ms_since(START),
        });
        Err(Stop)
    }

    /// Adds a decision to the trace.
    fn trace(&mut self, kind: Kind, number: u64, until: Instant) {
        self.outcome.trace.add(self.now, kind, number, until);
    }

    /// Until when callers ask.
    fn closing_time(&self) -> Instant {
        START.plus_ms(self.script.lasts_ms)
    }
}
