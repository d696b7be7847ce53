//! Any live data, for property tests.

use proptest::prelude::*;

use super::{
    Attention, Breaker, BreakerReason, BreakerState, Budget, Change, Dimension, ForcedBreaker,
    House, HousePart, Lane, LaneName, Lanes, Layer, Lease, Pause, PauseScope, Queue, Scope, Second,
    SetBy, State, Upstream, UserState, Workload,
};

fn instant() -> impl Strategy<Value = Option<String>> {
    prop::option::of((0..60_u8).prop_map(|second| format!("2026-01-01T00:00:{second:02}.000Z")))
}

fn set_by(number: u32) -> Option<SetBy> {
    (number > 0).then(|| SetBy {
        who: format!("w{number}"),
        ..SetBy::default()
    })
}

fn breaker() -> impl Strategy<Value = Breaker> {
    use BreakerReason::{Forced, Outage, Percentage, Throttled};
    use BreakerState::{Closed, HalfOpen, Open, Recovering, Soft};
    let state = prop::sample::select(vec![Closed, Soft, Open, HalfOpen, Recovering]);
    let reason = prop::sample::select(vec![Throttled, Percentage, Outage, Forced]);
    (
        state,
        prop::option::of(reason),
        instant(),
        instant(),
        any::<bool>(),
        0..3_u32,
    )
        .prop_map(|(state, reason, since, until, probing, number)| Breaker {
            state,
            since: since.clone(),
            until,
            reason,
            probing,
            ramp_calls: (number > 0).then_some(number),
            soft_permille: (number > 1).then_some(number),
            reported_permille: since.as_ref().map(|_| number * 700),
            reported_at: since,
            drift: number / 2,
            by: set_by(number),
        })
}

fn layer() -> impl Strategy<Value = Layer> {
    (1_u32..5, 0_u32..6, any::<bool>()).prop_map(|(limit, used, rate)| Layer {
        dimension: if rate {
            Dimension::Rate
        } else {
            Dimension::Concurrency
        },
        window_ms: rate.then_some(60_000),
        limit,
        used,
        used_background: used / 2,
        share_permille: 500,
        lingering: used / 3,
        frees_at: (rate && used >= limit).then(|| "2026-01-01T00:00:09.000Z".to_owned()),
    })
}

fn budget() -> impl Strategy<Value = Budget> {
    let scope = prop_oneof![Just(Scope::App), Just(Scope::Tenant), Just(Scope::User)];
    (
        scope,
        0..2_u8,
        0..2_u8,
        0..3_u8,
        prop::collection::vec(layer(), 0..3),
        breaker(),
    )
        .prop_map(|(scope, app, tenant, user, layers, breaker)| Budget {
            scope,
            app: format!("a{app}"),
            // A key that does not apply is empty, and left out of a budget's name.
            tenant: if tenant == 0 {
                String::new()
            } else {
                format!("t{tenant}")
            },
            user: format!("u{user}"),
            layers,
            breaker,
        })
}

fn recent() -> impl Strategy<Value = Vec<Second>> {
    (0..4_u64, prop::collection::vec(0..2_u32, 0..5)).prop_map(|(from, admitted)| {
        (from..)
            .zip(admitted)
            .map(|(at, admitted)| Second {
                at,
                admitted,
                ..Second::default()
            })
            .collect()
    })
}

fn workload() -> impl Strategy<Value = Workload> {
    (
        0..3_u8,
        prop::collection::vec(budget(), 0..6),
        0..3_u64,
        recent(),
        any::<bool>(),
    )
        .prop_map(|(name, budgets, count, recent, more)| Workload {
            name: format!("w{name}"),
            budgets,
            lanes: Lanes {
                background: Lane {
                    admitted: count,
                    waiting_since: more.then(|| "2026-01-01T00:00:01.000Z".to_owned()),
                    ..Lane::default()
                },
                ..Lanes::default()
            },
            recent,
            shared: count / 2,
            full_until: more.then(|| "2026-01-01T01:00:00.000Z".to_owned()),
            users: count,
            next_cursor: more.then(|| "next".to_owned()),
            #[cfg(feature = "ssr")]
            shadows: Vec::new(),
        })
}

fn pauses() -> impl Strategy<Value = Vec<Pause>> {
    use PauseScope::{App, Tenant, Upstream, User};
    let scope = prop::sample::select(vec![Upstream, App, Tenant, User]);
    let pause = (scope, 0..2_u8, instant()).prop_map(|(scope, key, until)| {
        let keyed = |from| match scope >= from {
            true => format!("k{key}"),
            false => String::new(),
        };
        Pause {
            scope,
            app: keyed(App),
            tenant: keyed(Tenant),
            user: keyed(User),
            until: until.unwrap_or_default(),
            by: set_by(key.into()),
        }
    });
    prop::collection::vec(pause, 0..3)
}

fn forced() -> impl Strategy<Value = Vec<ForcedBreaker>> {
    let scope = prop::sample::select(vec![Scope::App, Scope::Tenant, Scope::User]);
    let forced = (scope, 0..2_u8, instant()).prop_map(|(scope, key, until)| {
        let keyed = |from| match scope >= from {
            true => format!("k{key}"),
            false => String::new(),
        };
        ForcedBreaker {
            workload: format!("w{key}"),
            scope,
            app: keyed(Scope::App),
            tenant: keyed(Scope::Tenant),
            user: keyed(Scope::User),
            state: BreakerState::Open,
            until: until.unwrap_or_default(),
            by: set_by(key.into()),
        }
    });
    prop::collection::vec(forced, 0..3)
}

/// Once looked at, it is known for good.
fn house(number: u32) -> House {
    House {
        parts: vec![HousePart {
            name: "Database".to_owned(),
            said: format!("answers {number}"),
            is_trouble: number > 0,
        }],
        throttled: u64::from(number),
        changes: (0..number)
            .map(|n| Change {
                who: format!("w{n}"),
                ..Change::default()
            })
            .collect(),
        attention: (0..number)
            .map(|n| Attention {
                says: format!("s{n}"),
                path: "/floods".to_owned(),
                way: "way".to_owned(),
            })
            .collect(),
        ..House::default()
    }
}

/// A state in order.
pub fn state() -> impl Strategy<Value = State> {
    let workloads = prop::collection::vec(workload(), 0..3);
    let held = (0..3_u8, pauses(), forced());
    let upstream = (held, workloads).prop_map(|((name, pauses, forced), workloads)| Upstream {
        name: format!("n{name}"),
        unwritable: name == 1,
        pauses,
        forced,
        workloads,
    });
    (0..2_u32, prop::collection::vec(upstream, 0..3)).prop_map(|(tick, upstreams)| {
        let mut state = State {
            as_of: format!("2026-01-01T00:00:0{tick}.000Z"),
            started_at: format!("{tick}"),
            time_scale: 1 + tick,
            upstreams,
            house: Some(house(tick)),
        };
        tidy(&mut state);
        state
    })
}

/// In order, and nothing named twice.
fn tidy(state: &mut State) {
    state.sort();
    state.upstreams.dedup_by(|a, b| a.name == b.name);
    for upstream in &mut state.upstreams {
        upstream.workloads.dedup_by(|a, b| a.name == b.name);
        for workload in &mut upstream.workloads {
            let mut seen = std::collections::BTreeSet::new();
            workload.budgets.retain(|budget| seen.insert(budget.key()));
        }
    }
}

fn lease() -> impl Strategy<Value = Lease> {
    let lane = prop::sample::select(vec![LaneName::Foreground, LaneName::Background]);
    (0..1_u64 << 53, lane, 1..9_u32, any::<bool>(), any::<bool>()).prop_map(
        |(permit, lane, weight, probe, lingering)| Lease {
            permit,
            lane,
            weight,
            granted_at: "2026-01-01T00:00:01.000Z".to_owned(),
            expires_at: "2026-01-01T00:02:01.000Z".to_owned(),
            probe,
            lingering,
        },
    )
}

/// Any user.
pub fn user() -> impl Strategy<Value = UserState> {
    let keys = (".{0,4}", ".{0,4}", ".{0,4}");
    let budgets = prop::collection::vec(budget(), 0..3);
    let leases = prop::collection::vec(lease(), 0..4);
    (keys, budgets, leases, pauses(), instant(), any::<bool>()).prop_map(
        |((app, tenant, user), budgets, leases, pauses, since, unwritable)| UserState {
            as_of: "2026-01-01T00:00:00.000Z".to_owned(),
            started_at: "2025-12-31T00:00:00.000Z".to_owned(),
            time_scale: 60,
            upstream: "graph".to_owned(),
            workload: "onenote".to_owned(),
            app,
            tenant,
            user,
            global: budgets.first().cloned(),
            budgets,
            unwritable,
            pauses,
            foreground: Queue {
                waiting: u32::from(since.is_some()),
                since,
            },
            background: Queue::default(),
            leases_total: leases.len() as u64,
            leases,
        },
    )
}
