//! Scripts from seeds.

use spillway::{Dimension, Lane, Layer, Policy, Preset, Scope, Share};

use crate::prng::Prng;
use crate::script::{Asking, Caller, Counting, Ending, Fault, Script, Sizes, What};

/// The kinds of worlds, for what some invariants promise only in worlds of their kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything goes.
    Wild,
    /// Nothing disturbs: who parks or returns is served.
    Healthy,
    /// Everybody comes exactly when told.
    Patient,
    /// Many park for the same few calls of an app, in both lanes.
    Crowded,
}

/// The script of `seed`.
pub fn script(seed: u64) -> Script {
    let mut prng = Prng::new(seed);
    let kind = match prng.next() % 10 {
        0 => Kind::Patient,
        1 => Kind::Crowded,
        2..=3 => Kind::Healthy,
        _ => Kind::Wild,
    };
    let policies: Vec<Policy> = (0..prng.between(1, 2))
        .map(|_| policy(&mut prng, kind))
        .collect();
    let longest_ms = policies.iter().map(longest_ms).max().unwrap_or(0);
    let lasts_ms = (longest_ms * prng.between(4, 12)).clamp(60_000, 4 * 3_600_000);
    let sizes = sizes(&mut prng);
    let callers = callers(&mut prng, kind, &policies, lasts_ms);
    let mut faults = Vec::new();
    if kind == Kind::Wild {
        faults = self::faults(&mut prng, policies.len(), lasts_ms);
        faults.extend(pauses(seed, lasts_ms));
    }
    Script {
        seed,
        sizes,
        policies,
        counting: counting(&mut prng),
        asks_each: prng.between(150, 500) * 2 / callers.len() as u64,
        callers,
        faults,
        lasts_ms,
        timer_lag_ms: prng.one_of(&[0, 0, 0, 1, 7, 250]),
        snapshot_every: usize::try_from(prng.between(5, 80)).unwrap_or(5),
    }
}

fn sizes(prng: &mut Prng) -> Sizes {
    let lease_ms = prng.one_of(&[1_500, 5_000, 30_000, 120_000]);
    Sizes {
        users_max: usize::try_from(prng.one_of(&[4, 12, 1_000])).unwrap_or(4),
        waiters_max: usize::try_from(prng.one_of(&[3, 20, 2_000])).unwrap_or(3),
        lease_ms,
        renewals_ms_max: lease_ms * prng.between(2, 8),
        probe_ms: prng.one_of(&[1_000, 30_000]),
    }
}

fn policy(prng: &mut Prng, kind: Kind) -> Policy {
    if kind == Kind::Crowded {
        let window_ms = prng.one_of(&[1_000, 4_000]);
        let (dimension, limit) = (Dimension::Rate { window_ms }, prng.small(1, 3));
        let layer = Layer::new(Scope::App, dimension, limit).expect("legal");
        return Policy::new(vec![layer], Share::new(1000).expect("legal")).expect("legal");
    }
    if prng.percent(8) {
        return Preset::OneNote.policy().expect("legal");
    }
    let layers = prng.one_of(&[1, 1, 2, 2, 3, 4, 5, 6, 8]);
    loop {
        let layers = (0..layers).map(|_| layer(prng)).collect();
        let permille = prng.one_of(&[1, 200, 500, 500, 500, 800, 1000]);
        let share = Share::new(permille).expect("legal");
        // Two layers of the same kind are illegal: another draw.
        if let Ok(policy) = Policy::new(layers, share) {
            return policy;
        }
    }
}

fn layer(prng: &mut Prng) -> Layer {
    let scope = prng.one_of(&Scope::ALL);
    let window_ms = prng.one_of(&[150, 1_000, 1_000, 4_000, 10_000, 60_000, 600_000]);
    let dimension = if prng.percent(25) {
        Dimension::Concurrency
    } else {
        Dimension::Rate { window_ms }
    };
    // Above 512 counts are kept in buckets.
    let limit = match prng.next() % 10 {
        0 => prng.small(513, 700),
        1..=3 => prng.small(10, 40),
        _ => prng.small(1, 9),
    };
    Layer::new(scope, dimension, limit).expect("legal")
}

fn longest_ms(policy: &Policy) -> u64 {
    let windows = policy.layers().iter().map(|layer| match layer.dimension() {
        Dimension::Rate { window_ms } => window_ms,
        Dimension::Concurrency => 1_000,
    });
    windows.max().unwrap_or(1_000)
}

fn counting(prng: &mut Prng) -> Counting {
    match prng.next() % 7 {
        0 => Counting::Lenient,
        1 | 2 => Counting::Sliding,
        3 => Counting::FirstHit,
        _ => Counting::Fixed {
            phase_ms: prng.between(0, 3_600_000),
        },
    }
}

fn callers(prng: &mut Prng, kind: Kind, policies: &[Policy], lasts_ms: u64) -> Vec<Caller> {
    let count = prng.one_of(&[2, 4, 6, 9, 14, 24]);
    let (apps, tenants, users) = (prng.between(1, 2), prng.between(1, 3), prng.between(1, 4));
    let crowded = kind == Kind::Crowded;
    let count = if crowded { 24 } else { count };
    // Crowds do not pause to think.
    let busy_ms = if crowded { 0 } else { lasts_ms * count / 250 };
    let caller = |id: u64| {
        let workload = prng.between(0, policies.len() as u64 - 1);
        let small = |n: u64| u8::try_from(n).unwrap_or(0);
        Caller {
            id: u32::try_from(id).unwrap_or(0),
            workload: usize::try_from(workload).unwrap_or(0),
            app: small(prng.between(0, apps - 1)),
            tenant: small(prng.between(0, tenants - 1)),
            user: small(prng.between(0, users - 1)),
            lane: lane(prng, kind),
            weight: weight(prng, kind),
            starts_ms: prng.one_of(&[0, 0, 1]) * prng.between(0, lasts_ms / 2),
            think_ms: prng.one_of(&[0, 1, 1, 3]) * prng.between(1, busy_ms.max(2)),
            latency_ms: prng.one_of(&[0, 20, 300, 2_000, 20_000]),
            asking: asking(prng, kind, lasts_ms),
            ending: ending(prng, kind),
            gateway: prng.percent(50),
        }
    };
    (0..count).map(caller).collect()
}

fn lane(prng: &mut Prng, kind: Kind) -> Lane {
    if kind != Kind::Patient && prng.percent(40) {
        Lane::Background
    } else {
        Lane::Foreground
    }
}

fn weight(prng: &mut Prng, kind: Kind) -> u32 {
    if kind == Kind::Patient {
        return 1;
    }
    let heavy = prng.small(2, 5);
    prng.one_of(&[1, 1, 1, heavy])
}

fn asking(prng: &mut Prng, kind: Kind, lasts_ms: u64) -> Asking {
    let hold_ms = prng.one_of(&[200, 5_000, 30_000, 120_000]);
    match (kind, prng.next() % 8) {
        (Kind::Patient, _) | (Kind::Wild, 0 | 1) | (Kind::Healthy, 0) => Asking::Return,
        (Kind::Wild, 2) | (Kind::Healthy, 1) => Asking::Poll {
            every_ms: prng.between(1, (lasts_ms / 50).max(2)),
        },
        (Kind::Crowded, _) => Asking::Park { hold_ms: 600_000 },
        (_, 3) => Asking::HangUp {
            hold_ms,
            after_ms: prng.between(0, hold_ms),
        },
        (Kind::Healthy, _) => Asking::Park {
            hold_ms: prng.one_of(&[1, 20]) * hold_ms,
        },
        _ => Asking::Park { hold_ms },
    }
}

fn ending(prng: &mut Prng, kind: Kind) -> Ending {
    if kind == Kind::Patient {
        return Ending::Prompt;
    }
    match prng.next() % 12 {
        0 => Ending::Never,
        1 => Ending::Abandon,
        2 => Ending::Late {
            by_ms: prng.one_of(&[0, 1, 700, 40_000, 1_200_000]),
        },
        3 => Ending::Renew {
            runs_ms: prng.between(1_000, 200_000),
        },
        4 => Ending::Refund,
        _ => Ending::Prompt,
    }
}

fn faults(prng: &mut Prng, workloads: usize, world_ms: u64) -> Vec<Fault> {
    let count = prng.one_of(&[0, 1, 2, 4, 8, 12]);
    let fault = |id: u32| {
        let what = what(prng, workloads);
        let lasts_ms = match what {
            What::Crash { .. } | What::Jump => prng.one_of(&[1, 500, 4_000, 90_000]),
            _ => prng.between(1, world_ms / 4),
        };
        Fault {
            id,
            at_ms: prng.between(0, world_ms),
            lasts_ms,
            what,
        }
    };
    (0..count).map(fault).collect()
}

fn what(prng: &mut Prng, workloads: usize) -> What {
    let app = u8::try_from(prng.next() % 2).unwrap_or(0);
    let workload = usize::try_from(prng.next() % workloads as u64).unwrap_or(0);
    match prng.next() % 16 {
        0..=3 => What::Throttle {
            app,
            user: prng.one_of(&[None, Some(0), Some(1)]),
            permille: prng.one_of(&[30, 300, 1_000]),
            retry_after: prng.one_of(&[None, None, Some(1), Some(7), Some(45)]),
            form: usize::try_from(prng.next() % 64).unwrap_or(0),
        },
        4..=6 => What::Outage {
            status: prng.one_of(&[None, Some(502), Some(503), Some(504)]),
            permille: prng.one_of(&[100, 600, 1_000, 1_000]),
        },
        7 | 8 => What::Percentage {
            permille: prng.small(700, 1_300),
            form: prng.one_of(&[None, None, Some(0), Some(1), Some(3)]),
        },
        9 => What::Foreign {
            permille: prng.one_of(&[200, 700, 1_000]),
        },
        10 => What::Slow {
            factor: prng.between(2, 20),
        },
        11 | 12 => What::Crash {
            counts_lost: prng.percent(20),
        },
        13 => What::Jump,
        14 => What::Force {
            workload,
            app,
            open: prng.percent(60),
        },
        _ => What::Reset { workload, app },
    }
}

/// The stream of pauses; others are numbered from 1 on.
const PAUSES: u64 = 1 << 40;

/// Pauses are a stream of their own: the rest of a world is the same without them.
fn pauses(seed: u64, world_ms: u64) -> Vec<Fault> {
    let mut prng = Prng::of_part(seed, PAUSES);
    let count = prng.one_of(&[0, 0, 1, 2, 4]);
    let pause = |n: u32| Fault {
        id: 1_000 + n,
        at_ms: prng.between(0, world_ms),
        lasts_ms: prng.between(1, world_ms / 4),
        what: pause(&mut prng),
    };
    (0..count).map(pause).collect()
}

/// Of all, an app, a tenant or a user.
fn pause(prng: &mut Prng) -> What {
    let mut one_of = |n: u64| u8::try_from(prng.next() % n).unwrap_or(0);
    let width = one_of(4);
    What::Pause {
        app: (width > 0).then(|| one_of(2)),
        tenant: (width > 1).then(|| one_of(3)),
        user: (width > 2).then(|| one_of(4)),
        resumed: one_of(3) == 0,
    }
}
