//! What goes wrong: the upstream's moods, operators, and the end of the server.

use spillway::{Call, Instant, Key, Permit, Scope, Whose};

use super::agenda::Item;
use super::trace::Kind;
use super::{Answered, START, Stop, World};
use crate::answers;
use crate::prng::Prng;
use crate::script::{Fault, What};
use crate::seen::Seen;

impl World<'_> {
    /// A fault begins.
    pub(super) fn fault(&mut self, fault: usize) -> Result<(), Stop> {
        let Fault { lasts_ms, what, .. } = self.script.faults[fault];
        let until = self.now.plus_ms(lasts_ms);
        match what {
            What::Crash { counts_lost } => self.kill(until, counts_lost),
            What::Jump => {
                if self.now >= self.away_until {
                    self.away_until = until;
                }
                Ok(())
            }
            What::Force {
                workload,
                app,
                open,
            } => self.operate(workload, app, Some((open, until))),
            What::Reset { workload, app } => self.operate(workload, app, None),
            What::Pause { resumed, .. } => {
                if resumed {
                    let half_way = self.now.plus_ms(lasts_ms / 2);
                    self.agenda.put(half_way, Item::Resume { fault });
                }
                self.pause(what, until)
            }
            _ => Ok(()),
        }
    }

    /// The server is killed: waiting callers and gateway calls die with it.
    fn kill(&mut self, until: Instant, counts_lost: bool) -> Result<(), Stop> {
        if self.now < self.away_until {
            return Ok(());
        }
        (self.killed, self.away_until) = (true, until);
        self.outcome.restarts += 1;
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            let caller = self.position(waiting.caller);
            self.agenda.put(until, Item::Ask { caller });
        }
        let flights = self.flights.iter();
        let dead = flights.filter(|(_, flight)| flight.gateway || counts_lost);
        let dead: Vec<Permit> = dead.map(|(permit, _)| *permit).collect();
        for permit in dead {
            if let Some(flight) = self.flights.get(&permit) {
                let policy = &self.script.policies[flight.call.workload];
                self.upstream.ended(policy, &flight.call, permit);
            }
            self.forget(permit);
        }
        if counts_lost {
            // What the lost engine had let go is over: longer than that it cannot know of.
            for (permit, _) in std::mem::take(&mut self.orphans) {
                self.referee.ended(self.now, permit);
            }
        }
        self.agenda.put(until, Item::Restart { counts_lost });
        Ok(())
    }

    /// The server is back.
    pub(super) fn restart(&mut self, counts_lost: bool) -> Result<(), Stop> {
        self.killed = false;
        let outside: Vec<Permit> = self.flights.keys().copied().collect();
        self.driver.restart(self.now, counts_lost, &outside);
        if counts_lost {
            self.pauses.forget();
        }
        self.referee.restarted(&outside);
        self.expire()?;
        self.trace(Kind::Restarted, self.driver.next_permit().0, self.now);
        self.show(&Seen::Restarted { counts_lost })?;
        self.settle()
    }

    fn operate(
        &mut self,
        workload: usize,
        app: u8,
        force: Option<(bool, Instant)>,
    ) -> Result<(), Stop> {
        if self.now < self.away_until {
            return Ok(());
        }
        let key = Key {
            workload,
            scope: Scope::App,
            app: format!("app{app}"),
            tenant: String::new(),
            user: String::new(),
        };
        self.expire()?;
        if let Some((open, until)) = force {
            self.driver.force(self.now, &key, open, until);
            let key = &key;
            self.show(&Seen::Forced { key, until })?;
        } else {
            self.driver.reset(self.now, &key);
            self.show(&Seen::Reset { key: &key })?;
        }
        self.settle()
    }

    /// An operator pauses background calls, unless nobody answers the operator.
    fn pause(&mut self, what: What, until: Instant) -> Result<(), Stop> {
        let Some(whose) = whose(what).filter(|_| self.now >= self.away_until) else {
            return Ok(());
        };
        self.expire()?;
        self.pauses.begin(whose.clone(), until);
        self.driver.pause(self.now, &whose, until);
        self.settle()
    }

    /// An operator ends a pause.
    pub(super) fn resume(&mut self, fault: usize) -> Result<(), Stop> {
        let Some(whose) = whose(self.script.faults[fault].what) else {
            return Ok(());
        };
        self.expire()?;
        let in_force = self.pauses.end(self.now, &whose);
        let ended = self.driver.resume(self.now, &whose);
        self.require(in_force == ended, "paused is paused", || {
            format!("{whose:?} is ended: {ended}, is in force: {in_force}")
        })?;
        self.settle()
    }

    /// What the upstream will answer to a call that arrives now.
    pub(super) fn answer_of(&self, permit: Permit, call: &Call, over: bool) -> Answered {
        let unix_ms = self.now.0;
        let mut answered = Answered::Says(answers::passed(unix_ms, None, None));
        if over {
            // Named or not, with a wait or not: as the permit's number has it.
            let form = usize::try_from(permit.0 % 35).unwrap_or(0);
            let wait = (permit.0.is_multiple_of(2)).then_some(3);
            return Answered::Says(answers::throttled(unix_ms, wait, form));
        }
        for fault in self.active() {
            let mut prng = Prng::of_part(self.script.seed ^ permit.0, u64::from(fault.id) + 1_000);
            let hit = |prng: &mut Prng, permille: u64| prng.next() % 1_000 < permille;
            match fault.what {
                What::Throttle {
                    app,
                    user,
                    permille,
                    retry_after,
                    form,
                } if call.app == format!("app{app}")
                    && user.is_none_or(|user| call.user == format!("user{user}"))
                    && hit(&mut prng, permille) =>
                {
                    // Those that come together are told different waits.
                    let wait = retry_after.map(|wait| prng.small(1, wait));
                    let signal = answers::throttled(unix_ms, wait, form);
                    answered = Answered::Says(signal);
                }
                What::Outage { status, permille } if hit(&mut prng, permille) => {
                    answered = status.map_or(Answered::Nothing, |status| {
                        Answered::Says(answers::outage(unix_ms, status))
                    });
                }
                What::Percentage { permille, form } => {
                    answered = Answered::Says(answers::passed(unix_ms, Some(permille), form));
                }
                _ => {}
            }
        }
        answered
    }

    /// How much of every layer others use now.
    pub(super) fn foreign_permille(&self) -> u64 {
        let foreign = self.active().filter_map(|fault| match fault.what {
            What::Foreign { permille } => Some(permille),
            _ => None,
        });
        foreign.max().unwrap_or(0)
    }

    /// How many times as long answers take now.
    pub(super) fn slowness(&self) -> u64 {
        let slow = self.active().filter_map(|fault| match fault.what {
            What::Slow { factor } => Some(factor),
            _ => None,
        });
        slow.max().unwrap_or(1)
    }

    fn active(&self) -> impl Iterator<Item = &Fault> {
        let now_ms = self.now.ms_since(START);
        self.script
            .faults
            .iter()
            .filter(move |it| it.at_ms <= now_ms && now_ms < it.at_ms + it.lasts_ms)
    }
}

/// Whose background calls an operator pauses.
fn whose(what: What) -> Option<Whose> {
    let What::Pause {
        app, tenant, user, ..
    } = what
    else {
        return None;
    };
    let app = app.map(|app| format!("app{app}"));
    let tenant = tenant.map(|tenant| format!("tenant{tenant}"));
    let user = user.map(|user| format!("user{user}"));
    Some(match (app, tenant, user) {
        (None, ..) => Whose::Upstream,
        (Some(app), None, _) => Whose::App { app },
        (Some(app), Some(tenant), None) => Whose::Tenant { app, tenant },
        (Some(app), Some(tenant), Some(user)) => Whose::User { app, tenant, user },
    })
}
