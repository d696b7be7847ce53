//! A world at OneNote's limits whose upstream says how it feels.

use spillway::{
    Answer, BlockedBy, Busy, Call, Engine, Instant, Lane, Named, Permit, Preset, Refusal, Scope,
    Signal, Status, Verdict,
};

use super::SETTINGS;

pub const START: Instant = Instant(1_800_000_000_000);

pub const USER: Named = Named {
    user: true,
    tenant: false,
    app: false,
};
pub const APP: Named = Named {
    user: false,
    tenant: false,
    app: true,
};
pub const BOTH: Named = Named {
    user: true,
    tenant: false,
    app: true,
};

/// An engine with OneNote's limits, and a clock.
pub struct World {
    pub engine: Engine,
    pub now: Instant,
}

impl World {
    pub fn new() -> Self {
        let policy = Preset::OneNote.policy().expect("legal");
        Self {
            engine: Engine::new(SETTINGS, vec![policy], START),
            now: START,
        }
    }

    pub fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        self.engine.settle(self.now);
    }

    pub fn ask(&mut self, user: &str, lane: Lane) -> Answer {
        self.engine.ask(self.now, &call(user, lane), self.now)
    }

    pub fn go(&mut self, user: &str) -> Permit {
        match self.ask(user, Lane::Foreground) {
            Answer::Granted(grant) => grant.permit,
            other => panic!("{user} should go at {:?}: {other:?}", self.now),
        }
    }

    pub fn refused(&mut self, user: &str) -> Busy {
        match self.ask(user, Lane::Foreground) {
            Answer::Refused(Refusal::Busy(busy)) => busy,
            other => panic!("{user} should be refused at {:?}: {other:?}", self.now),
        }
    }

    /// The call's answer comes and ends.
    pub fn answer(&mut self, permit: Permit, signal: &Signal) -> usize {
        let trips = self.engine.report(self.now, permit, signal).len();
        self.engine.complete(self.now, permit);
        self.engine.settle(self.now);
        trips
    }

    /// A call goes and is answered so.
    pub fn call(&mut self, user: &str, signal: &Signal) -> usize {
        let permit = self.go(user);
        self.answer(permit, signal)
    }

    pub fn status(&mut self, scope: Scope, user: &str) -> Status {
        let view = self.engine.view(self.now, 0, None, 100);
        let budgets = view.shared.iter().chain(&view.users);
        let found = budgets
            .filter(|budget| budget.key.scope == scope && budget.key.user == user)
            .map(|budget| budget.breaker.status);
        found.max().unwrap_or_default()
    }
}

pub fn call(user: &str, lane: Lane) -> Call {
    Call {
        workload: 0,
        app: "app".into(),
        tenant: String::new(),
        user: user.into(),
        lane,
        weight: 1,
    }
}

pub const fn signal(verdict: Verdict) -> Signal {
    Signal {
        verdict,
        retry_after_ms: None,
        named: None,
        percentage_permille: None,
        remaining: None,
        charged_units: None,
        unauthorized: false,
    }
}

pub const fn throttled(named: Option<Named>, retry_after_ms: Option<u64>) -> Signal {
    Signal {
        named,
        retry_after_ms,
        ..signal(Verdict::Throttled)
    }
}

pub const FINE: Signal = signal(Verdict::Passed);

pub const BREAKER_OF_USER: BlockedBy = BlockedBy::Breaker { scope: Scope::User };
pub const BREAKER_OF_APP: BlockedBy = BlockedBy::Breaker { scope: Scope::App };

/// A probe and rounds of 1, 2 and 4 calls: as many as a user may have in flight.
pub fn recover(world: &mut World, user: &str) {
    world.call(user, &FINE);
    assert_eq!(world.status(Scope::User, user), Status::Recovering);
    for round in [1, 2, 4] {
        let permits: Vec<_> = (0..round).map(|_| world.go(user)).collect();
        if round < 4 {
            assert_eq!(
                world.refused(user).blocked_by,
                BREAKER_OF_USER,
                "only {round} at once"
            );
        }
        for permit in permits {
            world.answer(permit, &FINE);
        }
        world.pass_ms(60_100);
    }
    assert_eq!(world.status(Scope::User, user), Status::Closed);
}
