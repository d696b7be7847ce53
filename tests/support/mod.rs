//! What tests of the engine at its outside share: a world with one policy and a clock.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod moods;

use spillway::{
    Answer, Busy, Call, Dimension, Engine, Grant, Instant, Key, Lane, Layer, Policy, Refusal,
    Scope, Settings, Settled, Share, Ticket,
};

pub const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };
pub const HOUR: Dimension = Dimension::Rate {
    window_ms: 3_600_000,
};

/// Everything that a test does not care about.
pub const SETTINGS: Settings = Settings {
    users_max: 1_000,
    waiters_max: 2_000,
    lease_ms: 120_000,
    renewals_ms_max: 900_000,
    probe_ms: 30_000,
    background_turn: 20,
    global: None,
    told_ms_max: u64::MAX,
    hash_seed: 7,
};

/// Half of every layer is the background's.
pub fn policy(layers: &[(Scope, Dimension, u32)]) -> Policy {
    let layers = layers
        .iter()
        .map(|(scope, dimension, limit)| Layer::new(*scope, *dimension, *limit).expect("legal"));
    Policy::new(layers.collect(), Share::HALF).expect("legal")
}

/// A call of weight 1.
pub fn call(user: &str, lane: Lane) -> Call {
    Call {
        workload: 0,
        app: "app".into(),
        tenant: "tenant".into(),
        user: user.into(),
        lane,
        weight: 1,
    }
}

pub struct World {
    pub engine: Engine,
    pub now: Instant,
}

impl World {
    pub fn of(policy: Policy) -> Self {
        Self::with(SETTINGS, vec![policy])
    }

    pub fn with(settings: Settings, policies: Vec<Policy>) -> Self {
        let now = Instant(1_800_000_000_000);
        Self {
            engine: Engine::new(settings, policies, now),
            now,
        }
    }

    pub fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    pub fn ask(&mut self, call: &Call) -> Answer {
        self.engine.ask(self.now, call, self.now)
    }

    pub fn go(&mut self, call: &Call) -> Grant {
        match self.ask(call) {
            Answer::Granted(grant) => grant,
            other => panic!("it fits: {other:?}"),
        }
    }

    /// Goes and ends at once.
    pub fn pass(&mut self, call: &Call) {
        let grant = self.go(call);
        self.engine.complete(self.now, grant.permit);
    }

    pub fn refused(&mut self, call: &Call) -> Busy {
        match self.ask(call) {
            Answer::Refused(Refusal::Busy(busy)) => busy,
            other => panic!("it does not fit: {other:?}"),
        }
    }

    pub fn park(&mut self, call: &Call, hold_ms: u64) -> Ticket {
        let deadline = self.now.plus_ms(hold_ms);
        match self.engine.ask(self.now, call, deadline) {
            Answer::Parked(ticket) => ticket,
            other => panic!("it waits: {other:?}"),
        }
    }

    pub fn settled(&mut self) -> Vec<Settled> {
        self.engine.settle(self.now);
        self.engine.take_settled()
    }

    /// What a layer of this budget holds.
    pub fn used(&mut self, call: &Call, scope: Scope, layer: usize) -> u64 {
        let key = Key::of(call, scope);
        let view = self.engine.budget_view(self.now, &key).expect("a workload");
        view.layers[layer].used.total()
    }
}
