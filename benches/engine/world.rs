//! The engine under load: OneNote's limits for users, and an app that is wide or narrow.

use spillway::{
    Answer, Call, Dimension, Engine, Instant, Lane, Layer, Policy, Scope, Settings, Share,
};

const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };
const HOUR: Dimension = Dimension::Rate {
    window_ms: 3_600_000,
};

#[derive(Clone)]
pub struct World {
    engine: Engine,
    now: Instant,
}

/// An app whose limits a hundred thousand users do not reach.
pub fn wide_app() -> [u32; 3] {
    [100_000_000, 1_000_000_000, 1_000]
}

/// One call for each user; keys of 36 bytes, as UUIDs have.
pub fn calls(users: usize) -> Vec<Call> {
    let call = |n: usize| Call {
        workload: 0,
        app: format!("{:036x}", 0xa11_u64),
        tenant: format!("{:036x}", 0x7e4a_u64),
        user: format!(
            "{:08x}-{:04x}-4000-8000-{:012x}",
            n * 2_654_435_761 % 0xffff_ffff,
            n & 0xffff,
            n
        ),
        lane: Lane::Foreground,
        weight: 1,
    };
    (0..users).map(call).collect()
}

impl World {
    pub fn with(app: [u32; 3]) -> Self {
        let layers = [
            (Scope::User, MINUTE, 120),
            (Scope::User, HOUR, 400),
            (Scope::User, Dimension::Concurrency, 5),
            (Scope::App, MINUTE, app[0]),
            (Scope::App, HOUR, app[1]),
            (Scope::App, Dimension::Concurrency, app[2]),
        ];
        let layers = layers
            .map(|(scope, dimension, limit)| Layer::new(scope, dimension, limit).expect("legal"));
        let policy = Policy::new(layers.to_vec(), Share::HALF).expect("legal");
        let settings = Settings {
            users_max: 200_000,
            waiters_max: 10_000,
            lease_ms: 120_000,
            renewals_ms_max: 900_000,
            probe_ms: 30_000,
            background_turn: 20,
            global: None,
            told_ms_max: u64::MAX,
            hash_seed: 0x5eed,
        };
        Self {
            engine: Engine::new(settings, vec![policy], Instant(0)),
            now: Instant(0),
        }
    }

    pub fn ask(&mut self, call: &Call) -> Answer {
        self.engine.ask(self.now, call, self.now)
    }

    /// One call goes and ends; ten seconds pass for one user, one millisecond among many.
    pub fn grant_and_complete(&mut self, call: &Call, apart_ms: u64) {
        self.now = self.now.plus_ms(apart_ms);
        match self.ask(call) {
            Answer::Granted(grant) => {
                std::hint::black_box(self.engine.complete(self.now, grant.permit));
            }
            other => panic!("it fits: {other:?}"),
        }
    }

    /// Uses up every user's hour and, at last, its minute; half a second between two calls of
    /// the same user.
    pub fn fill_hours(&mut self, calls: &[Call]) {
        for portion in [120, 120, 40, 120] {
            self.now = self.now.plus_ms(61_000);
            for _ in 0..portion {
                self.now = self.now.plus_ms(500);
                calls
                    .iter()
                    .for_each(|call| self.grant_and_complete(call, 0));
            }
        }
    }
}
