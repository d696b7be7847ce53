//! Calls arrive upstream, are answered, and end: well, late or never.

use std::collections::BTreeMap;

use spillway::{Ended, Instant, Permit};

use super::agenda::Item;
use super::trace::Kind;
use super::{Answered, Flight, Stop, World};
use crate::script::Ending;
use crate::seen::Seen;

impl World<'_> {
    /// A call is on its way.
    pub(super) fn depart(&mut self, permit: Permit, flight: Flight) -> Result<(), Stop> {
        let (ending, expires_at) = (flight.ending, flight.expires_at);
        let lasts_ms = self.lasts_ms(&flight);
        let prng = &mut self.states[flight.caller].prng;
        // It arrives before its lease ends: later, callers would not be trusted.
        let latest_ms = expires_at.ms_since(self.now).saturating_sub(1);
        let arrival_ms = prng.between(0, lasts_ms.min(latest_ms));
        self.flights.insert(permit, flight);
        let now = self.now;
        let at = |ms: u64| now.plus_ms(ms);
        if ending == Ending::Refund {
            self.agenda.put(at(arrival_ms), Item::Refund { permit });
            return Ok(());
        }
        if arrival_ms == 0 {
            self.arrive(permit)?;
        } else {
            self.agenda.put(at(arrival_ms), Item::Arrive { permit });
        }
        self.agenda.put(at(lasts_ms), Item::Answer { permit });
        if let Ending::Renew { .. } = ending {
            self.renew_later(permit);
        }
        Ok(())
    }

    /// The upstream counts the call and decides what it will answer.
    pub(super) fn arrive(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.get(&permit) else {
            return Ok(());
        };
        let call = flight.call.clone();
        let policy = &self.script.policies[call.workload];
        let foreign_permille = self.foreign_permille();
        let over = self
            .upstream
            .arrives(self.now, policy, &call, permit, foreign_permille);
        if let Some(over) = over.as_ref().filter(|over| !over.by_others) {
            let layer = format!("{:?}", over.layer);
            self.show(&Seen::Overfull { call: &call, layer })?;
        }
        let answer = self.answer_of(permit, &call, over.is_some());
        if let Some(flight) = self.flights.get_mut(&permit) {
            flight.answer = Some(answer);
        }
        Ok(())
    }

    /// An answer has come: the engine hears of it, and most end with it.
    pub(super) fn answer(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.get(&permit) else {
            return Ok(());
        };
        let (ending, caller, call) = (flight.ending, flight.caller, flight.call.clone());
        let policy = &self.script.policies[call.workload];
        self.upstream.ended(policy, &call, permit);
        match ending {
            Ending::Never => {
                self.forget(permit);
                Ok(())
            }
            Ending::Abandon => {
                self.driver.abandon(self.now, permit);
                self.referee.abandoned(permit);
                self.forget(permit);
                self.settle()
            }
            Ending::Late { by_ms } => {
                let at = self.now.max(flight.expires_at.plus_ms(by_ms));
                self.agenda.put(at, Item::Complete { permit });
                Ok(())
            }
            Ending::Prompt | Ending::Renew { .. } | Ending::Refund => {
                self.report(permit)?;
                let body_ms = self.states[caller].prng.next() % 8;
                if body_ms > 5 {
                    // The body takes its time.
                    let at = self.now.plus_ms(body_ms * 40);
                    self.agenda.put(at, Item::Complete { permit });
                    return self.settle();
                }
                self.complete(permit)
            }
        }
    }

    fn report(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.get(&permit) else {
            return Ok(());
        };
        let signal = match flight.answer {
            Some(Answered::Says(signal)) => Some(signal),
            Some(Answered::Nothing) => None,
            None => return Ok(()),
        };
        let call = flight.call.clone();
        let trips = self.driver.report(self.now, permit, signal.as_ref());
        self.outcome.trips += trips.len() as u64;
        for trip in &trips {
            self.trace(Kind::Tripped, permit.0, trip.until.unwrap_or(self.now));
        }
        self.show(&Seen::Reported {
            permit,
            call: &call,
            signal: signal.as_ref(),
            trips: &trips,
        })
    }

    /// The caller says that its call is over.
    pub(super) fn complete(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.remove(&permit) else {
            return Ok(());
        };
        let ended = self.driver.complete(self.now, permit);
        self.trace(Kind::Completed, permit.0, self.now);
        match ended {
            Ended::Landed => self.referee.ended(self.now, permit),
            Ended::Overrun => self.referee.overran(self.now, permit, &flight.call),
            Ended::Unknown => {}
        }
        self.show(&Seen::Completed {
            permit,
            ended,
            expired_at: flight.expired_at,
        })?;
        self.think(flight.caller);
        self.settle()
    }

    /// The call was never sent.
    pub(super) fn refund(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.remove(&permit) else {
            return Ok(());
        };
        let ended = self.driver.refund(self.now, permit);
        self.trace(Kind::Refunded, permit.0, self.now);
        if ended == Ended::Landed {
            self.referee.refunded(permit);
        }
        self.show(&Seen::Refunded {
            permit,
            ended,
            expired_at: flight.expired_at,
        })?;
        self.think(flight.caller);
        self.settle()
    }

    /// The call still runs.
    pub(super) fn renew(&mut self, permit: Permit) -> Result<(), Stop> {
        let Some(flight) = self.flights.get(&permit) else {
            return Ok(());
        };
        let (granted_at, alive) = (flight.granted_at, flight.expired_at.is_none());
        let outcome = self.driver.renew(self.now, permit);
        self.trace(Kind::Renewed, permit.0, outcome.unwrap_or(self.now));
        self.show(&Seen::Renewed {
            permit,
            granted_at,
            outcome,
        })?;
        match (outcome, self.flights.get_mut(&permit)) {
            (Ok(expires_at), Some(flight)) if alive => {
                flight.expires_at = expires_at;
                self.renew_later(permit);
            }
            // Where it cannot be renewed, it is aborted and held to its expiry.
            _ => self.forget(permit),
        }
        self.settle()
    }

    /// Leases that ended by themselves.
    pub(super) fn expire(&mut self) -> Result<(), Stop> {
        let now = self.now;
        let due = |flight: &Flight| flight.expired_at.is_none() && flight.expires_at <= now;
        let expired = self.flights.iter().filter(|(_, flight)| due(flight));
        let expired: Vec<_> = expired
            .map(|(permit, flight)| (*permit, flight.expires_at, flight.call.clone()))
            .collect();
        for (permit, at, call) in expired {
            if let Some(flight) = self.flights.get_mut(&permit) {
                flight.expired_at = Some(at);
            }
            self.gone(permit, at, &call)?;
        }
        let orphans = std::mem::take(&mut self.orphans).into_iter();
        let (over, left) = orphans.partition(|(_, (at, _))| *at <= now);
        self.orphans = left;
        let over: BTreeMap<_, _> = over;
        for (permit, (at, call)) in over {
            self.gone(permit, at, &call)?;
        }
        Ok(())
    }

    fn gone(&mut self, permit: Permit, at: Instant, call: &spillway::Call) -> Result<(), Stop> {
        // What runs on is cut off upstream: callers' timing is trusted (engine.md, Leases).
        let policy = &self.script.policies[call.workload];
        self.upstream.ended(policy, call, permit);
        self.referee.ended(at, permit);
        self.show(&Seen::Expired { permit, at })
    }

    /// Nobody will end this call but its lease's expiry; its caller goes on.
    pub(super) fn forget(&mut self, permit: Permit) {
        let Some(flight) = self.flights.remove(&permit) else {
            return;
        };
        if flight.expired_at.is_none() {
            self.orphans
                .insert(permit, (flight.expires_at, flight.call));
        }
        self.think(flight.caller);
    }

    fn lasts_ms(&mut self, flight: &Flight) -> u64 {
        let it = &self.script.callers[flight.caller];
        let prng = &mut self.states[flight.caller].prng;
        let latency_ms = prng.between(it.latency_ms / 4, it.latency_ms);
        match flight.ending {
            Ending::Renew { runs_ms } => runs_ms,
            _ => latency_ms * self.slowness(),
        }
    }

    fn renew_later(&mut self, permit: Permit) {
        let Some(flight) = self.flights.get(&permit) else {
            return;
        };
        let at = self
            .now
            .plus_ms(flight.expires_at.ms_since(self.now) * 2 / 3);
        self.agenda.put(at, Item::Renew { permit });
    }
}
