//! States for the tests of the overview.

use crate::live::{
    Breaker, BreakerReason, BreakerState, Budget, Dimension, Lane, LaneName, Lanes, Layer, Lease,
    Scope, Second, State, Upstream, UserState, Workload,
};

/// When [`overview`] was true, Unix milliseconds.
pub const NOW: i64 = 1_796_047_407_250;

/// When [`overview`] was true.
pub const AS_OF: &str = "2026-11-30T14:03:27.250Z";

/// A rate of `limit` per `window` seconds.
pub fn rate(window_s: u64, limit: u32, used: u32, background: u32) -> Layer {
    Layer {
        dimension: Dimension::Rate,
        window_ms: Some(window_s * 1000),
        limit,
        used,
        used_background: background,
        share_permille: 500,
        frees_at: None,
        lingering: 0,
    }
}

/// At most `limit` in flight.
pub fn concurrency(limit: u32, used: u32, background: u32) -> Layer {
    Layer {
        dimension: Dimension::Concurrency,
        window_ms: None,
        ..rate(1, limit, used, background)
    }
}

/// The same layer, full until `at`.
pub fn frees(layer: Layer, at: &str) -> Layer {
    Layer {
        frees_at: Some(at.to_owned()),
        lingering: 0,
        ..layer
    }
}

/// A user of `note-bridge` (or the app itself, if nameless).
pub fn budget(user: &str, layers: Vec<Layer>) -> Budget {
    let (name, tenant) = user.split_once('@').unwrap_or((user, ""));
    Budget {
        scope: if name.is_empty() {
            Scope::App
        } else {
            Scope::User
        },
        app: "note-bridge".to_owned(),
        tenant: tenant.to_owned(),
        user: user.to_owned(),
        layers,
        breaker: Breaker::default(),
    }
}

/// A breaker that throttling brought into `state`.
pub fn throttled(state: BreakerState, until: Option<&str>) -> Breaker {
    Breaker {
        state,
        until: until.map(ToOwned::to_owned),
        reason: Some(BreakerReason::Throttled),
        ..Breaker::default()
    }
}

/// A breaker that closes when told to.
pub fn forced(state: BreakerState, until: &str) -> Breaker {
    Breaker {
        reason: Some(BreakerReason::Forced),
        ..throttled(state, Some(until))
    }
}

/// A budget that is nowhere near a limit, with its breaker.
pub fn tripped(user: &str, breaker: Breaker) -> Budget {
    Budget {
        breaker,
        ..budget(user, onenote((30, 0), (60, 0), (0, 0)))
    }
}

/// The three OneNote layers of a user.
pub fn onenote(minute: (u32, u32), hour: (u32, u32), in_flight: (u32, u32)) -> Vec<Layer> {
    vec![
        rate(60, 120, minute.0, minute.1),
        rate(3_600, 400, hour.0, hour.1),
        concurrency(5, in_flight.0, in_flight.1),
    ]
}

/// One upstream with one workload that holds `budgets`.
pub fn state(budgets: Vec<Budget>) -> State {
    let mut state = State {
        as_of: AS_OF.to_owned(),
        started_at: "2026-11-30T13:00:00.000Z".to_owned(),
        time_scale: 1,
        house: None,
        upstreams: vec![Upstream {
            unwritable: false,
            pauses: Vec::new(),
            forced: Vec::new(),
            name: "graph".to_owned(),
            workloads: vec![Workload {
                name: "onenote".to_owned(),
                users: budgets.iter().filter(|it| it.scope == Scope::User).count() as u64,
                budgets,
                ..Workload::default()
            }],
        }],
    };
    state.sort();
    state
}

/// Ana in tenant `x` with one call running, granted eight seconds ago.
pub fn user(layers: Vec<Layer>) -> UserState {
    UserState {
        as_of: AS_OF.to_owned(),
        started_at: "2026-11-30T13:00:00.000Z".to_owned(),
        time_scale: 1,
        upstream: "graph".to_owned(),
        workload: "onenote".to_owned(),
        app: "note-bridge".to_owned(),
        tenant: "x".to_owned(),
        user: "ana@x".to_owned(),
        budgets: vec![budget("ana@x", layers)],
        leases: vec![lease(4_711)],
        leases_total: 1,
        ..UserState::default()
    }
}

/// A lease of a person's call, granted eight seconds ago.
pub fn lease(permit: u64) -> Lease {
    Lease {
        permit,
        lane: LaneName::Foreground,
        weight: 1,
        granted_at: "2026-11-30T14:03:19.250Z".to_owned(),
        expires_at: "2026-11-30T14:05:19.250Z".to_owned(),
        probe: false,
        lingering: false,
    }
}

/// A busy afternoon: one user out of quota, two near, a crawl at its share.
pub fn overview() -> State {
    let mut hour = onenote((61, 12), (400, 96), (0, 0));
    hour[1] = frees(hour[1].clone(), "2026-11-30T14:14:06.000Z");
    let app = vec![
        rate(60, 240, 168, 66),
        rate(3_600, 800, 688, 301),
        concurrency(20, 11, 5),
    ];
    let mut state = state(vec![
        budget("", app),
        budget("ana@contoso.example", hour),
        budget(
            "li.wei@fabrikam.example",
            onenote((74, 60), (344, 60), (2, 1)),
        ),
        budget("sam@contoso.example", onenote((109, 0), (220, 40), (4, 0))),
        budget(
            "crawl-noor@fabrikam.example",
            onenote((58, 58), (200, 200), (1, 1)),
        ),
        budget("kim@adatum.example", onenote((8, 0), (48, 0), (1, 0))),
    ]);
    state.time_scale = 60;
    let workload = &mut state.upstreams[0].workloads[0];
    workload.users = 14;
    workload.lanes = Lanes {
        foreground: Lane {
            admitted: 18_204,
            held: 311,
            refused: 4,
            waiting: 3,
            waiting_ms_max: 440,
            hold_ms_mean: 12,
            waiting_since: Some("2026-11-30T14:03:26.810Z".to_owned()),
        },
        background: Lane {
            admitted: 6_433,
            held: 5_120,
            refused: 0,
            waiting: 214,
            waiting_ms_max: 545_000,
            hold_ms_mean: 3_140,
            waiting_since: Some("2026-11-30T13:54:22.250Z".to_owned()),
        },
    };
    workload.recent = (0..60_u32)
        .map(|i| Second {
            at: 1_796_047_347 + u64::from(i),
            admitted: 6 + (i * 7) % 9,
            held: (i * 5) % 4,
            refused: 0,
        })
        .collect();
    state
}
