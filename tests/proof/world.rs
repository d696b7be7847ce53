//! Callers, a clock and an upstream around the engine, driven by generated steps.

use std::collections::BTreeMap;

use spillway::{
    Answer, BlockedBy, Call, Ended, Engine, Grant, Instant, Lane, Permit, Policy, Refusal,
    Settings, Settled, Signal, Ticket,
};

use crate::referee::{Referee, Sent};
use crate::shadows::Shadows;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// A caller asks, ready to wait `hold_ms`.
    Ask {
        app: u8,
        tenant: u8,
        user: u8,
        background: bool,
        weight: u32,
        hold_ms: u64,
        counted_permille: u64,
    },
    /// The answer to one of the running calls ends, and says this.
    Complete(usize, Signal),
    /// One of the running calls was never written to the wire.
    Refund(usize),
    /// A caller crashes: its call ends upstream by its lease's expiry, unreported.
    Crash(usize),
    /// A running call is renewed.
    Renew(usize),
    /// A waiting caller goes away.
    Cancel(usize),
    /// The server stops and starts again: waiting callers are gone, counts and leases are not.
    Restart,
    /// Time passes.
    Wait(u64),
    /// Time passes until the last refusal said that its call fits.
    WaitAsTold,
}

pub const LEASE_MS: u64 = 3_000;

const SETTINGS: Settings = Settings {
    users_max: 50,
    waiters_max: 20,
    lease_ms: LEASE_MS,
    renewals_ms_max: 4 * LEASE_MS,
    probe_ms: LEASE_MS,
    background_turn: 20,
    global: None,
    told_ms_max: u64::MAX,
    hash_seed: 7,
};

pub struct World {
    pub engine: Engine,
    pub referee: Referee,
    pub now: Instant,
    policy: Policy,
    shadows: Shadows,
    running: Vec<Permit>,
    crashed: Vec<(Permit, Instant)>,
    expiries: BTreeMap<Permit, Instant>,
    waiting: BTreeMap<Ticket, (Call, Instant, u64)>,
    told: Option<Instant>,
    /// Whether several calls may be let go at this instant, in an order that is not known.
    crowded: bool,
    pub refusals: usize,
    pub exact_refusals: usize,
}

impl World {
    pub fn new(policy: Policy) -> Self {
        let now = Instant(1_000_000);
        Self {
            engine: Engine::new(SETTINGS, vec![policy.clone()], now),
            referee: Referee::default(),
            now,
            policy,
            shadows: Shadows::default(),
            running: Vec::new(),
            crashed: Vec::new(),
            expiries: BTreeMap::new(),
            waiting: BTreeMap::new(),
            told: None,
            crowded: false,
            refusals: 0,
            exact_refusals: 0,
        }
    }

    pub fn step(&mut self, step: &Step) {
        match step {
            Step::Ask {
                app,
                tenant,
                user,
                background,
                weight,
                hold_ms,
                counted_permille,
            } => {
                let lane = if *background {
                    Lane::Background
                } else {
                    Lane::Foreground
                };
                let call = Call {
                    workload: 0,
                    app: format!("app{app}"),
                    tenant: format!("tenant{tenant}"),
                    user: format!("user{user}"),
                    lane,
                    weight: *weight,
                };
                self.ask(call, *hold_ms, *counted_permille);
            }
            Step::Complete(n, signal) => self.end(*n, |engine, now, permit| {
                engine.report(now, permit, signal);
                engine.complete(now, permit)
            }),
            Step::Refund(n) => {
                if let Some(permit) = self.pick(*n) {
                    assert_eq!(self.engine.refund(self.now, permit), Ended::Landed);
                    assert_eq!(self.engine.refund(self.now, permit), Ended::Unknown);
                    self.referee.sent.retain(|sent| sent.permit != permit);
                    self.settle();
                }
            }
            Step::Crash(n) => {
                if let Some(permit) = self.pick(*n) {
                    self.crashed.push((permit, self.expiries[&permit]));
                }
            }
            Step::Renew(n) => self.renew(*n),
            Step::Cancel(n) => {
                let ticket = self
                    .waiting
                    .keys()
                    .nth(n % self.waiting.len().max(1))
                    .copied();
                if let Some(ticket) = ticket {
                    self.waiting.remove(&ticket);
                    assert!(self.engine.cancel(self.now, ticket));
                    self.settle();
                }
            }
            Step::Restart => self.restart(),
            Step::Wait(ms) => self.pass(self.now.plus_ms(*ms)),
            Step::WaitAsTold => {
                if let Some(at) = self.told.take() {
                    self.pass(at.min(self.now.plus_ms(700_000)));
                }
            }
        }
    }

    /// Time passes as a driver lets it: stopping wherever the engine wants to be woken, and
    /// never later than a running call's expiry, by when its caller completes it.
    fn pass(&mut self, until: Instant) {
        loop {
            let expiry = self
                .running
                .iter()
                .map(|permit| Instant(self.expiries[permit].0 - 1))
                .min();
            let next = [self.engine.wake_at(), expiry]
                .into_iter()
                .flatten()
                .min()
                .map_or(until, |at| at.min(until));
            self.now = self.now.max(next);
            self.end_due();
            self.settle();
            assert!(
                self.engine.wake_at().is_none_or(|at| at > self.now),
                "a driver would spin"
            );
            if self.now >= until {
                return;
            }
        }
    }

    /// Completes what is about to expire; what crashed ends for the upstream at its expiry.
    fn end_due(&mut self) {
        let due: Vec<_> = self
            .running
            .iter()
            .copied()
            .filter(|permit| self.expiries[permit].0 <= self.now.0 + 1)
            .collect();
        for permit in due {
            self.running.retain(|other| *other != permit);
            self.ended(permit, self.now);
            assert_eq!(self.engine.complete(self.now, permit), Ended::Landed);
        }
        let now = self.now;
        let (over, rest) = std::mem::take(&mut self.crashed)
            .into_iter()
            .partition(|(_, at)| *at <= now);
        self.crashed = rest;
        let over: Vec<(Permit, Instant)> = over;
        over.into_iter()
            .for_each(|(permit, at)| self.ended(permit, at));
    }

    fn ask(&mut self, call: Call, hold_ms: u64, counted_permille: u64) {
        let mut before = self.engine.clone();
        self.crowded = !self.waiting.is_empty();
        let answer = self.engine.ask(self.now, &call, self.now.plus_ms(hold_ms));
        match answer {
            Answer::Granted(grant) => self.granted(grant, call, counted_permille),
            Answer::Parked(ticket) => {
                assert!(hold_ms > 0);
                self.waiting
                    .insert(ticket, (call, self.now.plus_ms(hold_ms), counted_permille));
            }
            Answer::Refused(refusal) => {
                before.settle(self.now);
                self.engine.settle(self.now);
                assert_eq!(
                    before.records(self.now),
                    self.engine.records(self.now),
                    "a refusal charged something"
                );
                self.refused(refusal, &call);
            }
        }
        self.settle();
    }

    /// How many calls layers that only count would have refused.
    pub fn judge_shadows(&mut self) -> usize {
        self.shadows.keep(&mut self.engine, self.now);
        self.shadows.judge()
    }

    fn restart(&mut self) {
        self.shadows.keep(&mut self.engine, self.now);
        self.waiting.clear();
        let mut restarted = Engine::new(SETTINGS, vec![self.policy.clone()], self.now);
        self.engine
            .records(self.now)
            .iter()
            .for_each(|record| restarted.restore_budget(record));
        self.engine
            .leases()
            .for_each(|lease| restarted.restore_lease(&lease));
        restarted.restored(self.engine.next_permit(), |_| false);
        assert_eq!(self.engine.records(self.now), restarted.records(self.now));
        self.engine = restarted;
    }

    fn refused(&mut self, refusal: Refusal, call: &Call) {
        self.refusals += 1;
        let Refusal::Busy(busy) = refusal else { return };
        assert!(busy.at > self.now);
        self.told = Some(busy.at);
        if !busy.exact || !self.waiting.is_empty() || busy.blocked_by == BlockedBy::Queue {
            return;
        }
        self.exact_refusals += 1;
        let early = Instant(busy.at.0 - 1);
        let at_early = self.engine.clone().ask(early, call, early);
        assert!(
            matches!(at_early, Answer::Refused(_)),
            "1 ms before the announced instant it fitted: {busy:?}"
        );
        let on_time = self.engine.clone().ask(busy.at, call, busy.at);
        assert!(
            matches!(on_time, Answer::Granted(_)),
            "at the announced instant it did not fit: {busy:?} {on_time:?}"
        );
    }

    fn settle(&mut self) {
        self.crowded |= self.waiting.len() > 1;
        self.engine.settle(self.now);
        for Settled { ticket, outcome } in self.engine.take_settled() {
            let (call, deadline, counted_permille) = self
                .waiting
                .remove(&ticket)
                .expect("settled once, and only what waits");
            match outcome {
                Ok(grant) => {
                    assert!(self.now <= deadline);
                    self.granted(grant, call, counted_permille);
                }
                Err(refusal) => {
                    let in_vain = match refusal {
                        Refusal::Busy(busy) => busy.at > deadline,
                        Refusal::Impossible { .. } | Refusal::Capacity { .. } => true,
                    };
                    assert!(
                        self.now >= deadline || in_vain,
                        "refused before its hold was over, and not told to come later"
                    );
                    self.refusals += 1;
                }
            }
        }
        assert!(
            self.waiting
                .values()
                .all(|(_, deadline, _)| *deadline > self.now),
            "waits past its hold"
        );
        self.crowded = false;
    }

    fn granted(&mut self, grant: Grant, call: Call, counted_permille: u64) {
        let crowded = self.crowded;
        self.shadows
            .granted(&self.policy, &self.referee, &call, self.now, crowded);
        self.running.push(grant.permit);
        self.expiries.insert(grant.permit, grant.expires_at);
        let sent = Sent {
            permit: grant.permit,
            call,
            granted_at: self.now,
            ended_at: None,
            counted_permille,
        };
        self.referee.sent.push(sent);
        self.referee.judge_newest(&self.policy);
    }

    fn end(&mut self, n: usize, how: impl Fn(&mut Engine, Instant, Permit) -> Ended) {
        let Some(permit) = self.pick(n) else { return };
        self.ended(permit, self.now);
        assert_eq!(how(&mut self.engine, self.now, permit), Ended::Landed);
        assert_eq!(
            how(&mut self.engine, self.now, permit),
            Ended::Unknown,
            "an end counts once"
        );
        self.settle();
    }

    fn renew(&mut self, n: usize) {
        if self.running.is_empty() {
            return;
        }
        let permit = self.running[n % self.running.len()];
        if let Ok(expires_at) = self.engine.renew(self.now, permit) {
            self.expiries.insert(permit, expires_at);
        }
    }

    fn pick(&mut self, n: usize) -> Option<Permit> {
        let position = n.checked_rem(self.running.len())?;
        Some(self.running.swap_remove(position))
    }

    fn ended(&mut self, permit: Permit, at: Instant) {
        let sent = self
            .referee
            .sent
            .iter_mut()
            .find(|sent| sent.permit == permit)
            .expect("was sent");
        sent.ended_at = Some(at);
    }
}
