//! Callers ask, wait, go away and are let go.

use spillway::{Answer, Call, Grant, Instant, Refusal, Settled, Ticket};

use super::agenda::Item;
use super::trace::Kind;
use super::{Flight, Stop, World};
use crate::script::{Asking, Caller, Ending};
use crate::seen::{Seen, Waiting};

/// A refusal that names no instant is tried again after so long.
const RETRY_MS: u64 = 1_000;

impl World<'_> {
    /// A caller asks for its next call.
    pub(super) fn ask(&mut self, caller: usize) -> Result<(), Stop> {
        let it = &self.script.callers[caller];
        let state = &mut self.states[caller];
        state.asks += 1;
        if state.asks > self.script.asks_each || self.now > self.closing_time() {
            return Ok(());
        }
        let call = call(it);
        let hold_ms = match it.asking {
            Asking::Park { hold_ms } | Asking::HangUp { hold_ms, .. } => hold_ms,
            Asking::Return | Asking::Poll { .. } => 0,
        };
        let deadline = self.now.plus_ms(hold_ms);
        let before = self.driver.fork();
        let answer = self.driver.ask(self.now, &call, deadline);
        self.outcome.asked += 1;
        match &answer {
            Answer::Granted(grant) => self.granted(*grant, call.clone(), caller, None)?,
            Answer::Parked(ticket) => self.parked(*ticket, &call, caller, deadline),
            Answer::Refused(refusal) => self.refused(caller, refusal),
        }
        self.show(&Seen::Asked {
            call: &call,
            deadline,
            answer: &answer,
            before: &before,
        })?;
        self.settle()
    }

    /// A parked call's outcome.
    pub(super) fn settled(&mut self, settled: Settled) -> Result<(), Stop> {
        let Settled { ticket, outcome } = settled;
        let Some(waiting) = self.waiting.remove(&ticket) else {
            return self.show(&Seen::SettledTwice { ticket });
        };
        let caller = self.position(waiting.caller);
        match outcome {
            Ok(grant) => {
                let call = waiting.call.clone();
                self.granted(grant, call, caller, Some((ticket, &waiting)))
            }
            Err(refusal) => {
                self.refused(caller, &refusal);
                self.show(&Seen::Dismissed {
                    ticket,
                    waiting: &waiting,
                    refusal: &refusal,
                })
            }
        }
    }

    /// A caller goes away while it waits.
    pub(super) fn hang_up(&mut self, ticket: Ticket) -> Result<(), Stop> {
        let Some(gone) = self.waiting.remove(&ticket) else {
            return Ok(());
        };
        let waited = self.driver.cancel(self.now, ticket);
        self.trace(Kind::HungUp, ticket.0, self.now);
        self.show(&Seen::HungUp { ticket, waited })?;
        let caller = self.position(gone.caller);
        self.think(caller);
        self.settle()
    }

    /// The caller's next call, after a while.
    pub(super) fn think(&mut self, caller: usize) {
        let think_ms = self.script.callers[caller].think_ms;
        let prng = &mut self.states[caller].prng;
        let think_ms = prng.between(think_ms / 2, think_ms + think_ms / 2);
        self.agenda
            .put(self.now.plus_ms(think_ms), Item::Ask { caller });
    }

    /// Where the caller of this id stands.
    pub(super) fn position(&self, id: u32) -> usize {
        let callers = &self.script.callers;
        callers.iter().position(|it| it.id == id).unwrap_or(0)
    }

    fn parked(&mut self, ticket: Ticket, call: &Call, caller: usize, deadline: Instant) {
        self.trace(Kind::Parked, ticket.0, deadline);
        let it = &self.script.callers[caller];
        if let Asking::HangUp { after_ms, .. } = it.asking {
            let at = self.now.plus_ms(after_ms);
            self.agenda.put(at, Item::HangUp { ticket });
        }
        let waiting = Waiting {
            call: call.clone(),
            caller: it.id,
            since: self.now,
            deadline,
        };
        self.waiting.insert(ticket, waiting);
    }

    fn refused(&mut self, caller: usize, refusal: &Refusal) {
        let told = match refusal {
            Refusal::Busy(busy) => busy.at,
            Refusal::Impossible { .. } => {
                self.trace(Kind::Impossible, caller as u64, self.now);
                return;
            }
            _ => self.now.plus_ms(RETRY_MS),
        };
        self.trace(Kind::Told, caller as u64, told);
        let at = match self.script.callers[caller].asking {
            Asking::Poll { every_ms } => self.now.plus_ms(every_ms),
            _ => told,
        };
        self.agenda.put(at, Item::Ask { caller });
    }

    /// A call may go, and goes.
    fn granted(
        &mut self,
        grant: Grant,
        call: Call,
        caller: usize,
        waited: Option<(Ticket, &Waiting)>,
    ) -> Result<(), Stop> {
        let Grant {
            permit, expires_at, ..
        } = grant;
        self.trace(Kind::Granted, permit.0, expires_at);
        self.outcome.granted += 1;
        self.referee.granted(self.now, permit, &call);
        self.show(&Seen::Granted {
            call: &call,
            permit,
            expires_at,
            waited,
        })?;
        let it = &self.script.callers[caller];
        // Who ends badly does so in two calls of three.
        let badly = self.states[caller].prng.percent(66);
        let flight = Flight {
            call,
            caller,
            granted_at: self.now,
            expires_at,
            expired_at: None,
            ending: if badly { it.ending } else { Ending::Prompt },
            gateway: it.gateway,
            answer: None,
        };
        self.depart(permit, flight)
    }
}

fn call(it: &Caller) -> Call {
    Call {
        workload: it.workload,
        app: format!("app{}", it.app),
        tenant: format!("tenant{}", it.tenant),
        user: format!("user{}", it.user),
        lane: it.lane,
        weight: it.weight,
    }
}
