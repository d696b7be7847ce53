//! The engine's promise, held against a brute-force log over generated histories: callers
//! that crash, hang up, complete late, mix weights and lanes, wait and come as told.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod referee;
mod shadows;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use spillway::{
    Dimension, Layer, Named, Override, OwnLimit, Policy, Scope, Share, Signal, Verdict,
};

use crate::world::{Step, World};

const CASES: u32 = 400;
const STEPS: usize = 400;

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![Just(Scope::User), Just(Scope::Tenant), Just(Scope::App)]
}

fn dimension() -> impl Strategy<Value = Dimension> {
    let window_ms = prop_oneof![
        Just(150_u64),
        Just(1_000),
        Just(10_000),
        Just(60_000),
        Just(600_000)
    ];
    prop_oneof![
        4 => window_ms.prop_map(|window_ms| Dimension::Rate { window_ms }),
        1 => Just(Dimension::Concurrency),
    ]
}

/// Above 512 counts are kept in buckets.
fn limit() -> impl Strategy<Value = u32> {
    prop_oneof![5 => 1_u32..30, 1 => 513_u32..700]
}

/// One in six only counts.
fn layer() -> impl Strategy<Value = Layer> {
    let shadow = prop_oneof![5 => Just(false), 1 => Just(true)];
    (scope(), dimension(), limit(), shadow).prop_map(|(scope, dimension, limit, shadow)| {
        let layer = Layer::new(scope, dimension, limit).expect("legal");
        if shadow { layer.counting_only() } else { layer }
    })
}

/// Own limits of one of the keys that call.
fn own() -> impl Strategy<Value = Override> {
    let limits = proptest::collection::vec((dimension(), limit()), 1..4);
    (scope(), 0..2_u8, 0..2_u8, 0..3_u8, limits).prop_filter_map(
        "each dimension once",
        |(scope, app, tenant, user, limits)| {
            let name = |of: Scope, name: String| match scope <= of {
                true => name,
                false => String::new(),
            };
            let names = [
                format!("app{app}"),
                name(Scope::Tenant, format!("tenant{tenant}")),
                name(Scope::User, format!("user{user}")),
            ];
            let limits = limits.into_iter();
            let limits = limits.map(|(dimension, limit)| OwnLimit { dimension, limit });
            Override::new(scope, names, limits.collect()).ok()
        },
    )
}

fn policy() -> impl Strategy<Value = Policy> {
    let share = (1_u16..=1000).prop_map(|permille| Share::new(permille).expect("legal"));
    let overrides = prop_oneof![
        2 => Just(Vec::new()),
        1 => proptest::collection::vec(own(), 1..5),
    ];
    (proptest::collection::vec(layer(), 1..7), share, overrides).prop_filter_map(
        "each layer and each key once",
        |(layers, share, overrides)| {
            Policy::new(layers, share)
                .and_then(|policy| policy.with_overrides(overrides))
                .ok()
        },
    )
}

/// Mostly all is well; now and then the upstream throttles, fails, or reports its limit.
fn signal() -> impl Strategy<Value = Signal> {
    let verdict = prop_oneof![
        20 => Just(Verdict::Passed),
        2 => Just(Verdict::Throttled),
        1 => Just(Verdict::Outage),
        1 => Just(Verdict::Final),
    ];
    let named = (any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(user, tenant, app)| Named { user, tenant, app })
        .prop_filter("names somebody", |named| {
            named.user || named.tenant || named.app
        });
    let retry_after_ms = proptest::option::of(1_u64..90_000);
    let percentage_permille = prop_oneof![30 => Just(None), 1 => (700_u32..1_300).prop_map(Some)];
    (
        verdict,
        retry_after_ms,
        proptest::option::of(named),
        percentage_permille,
    )
        .prop_map(
            |(verdict, retry_after_ms, named, percentage_permille)| Signal {
                verdict,
                retry_after_ms,
                named,
                percentage_permille,
                remaining: None,
                charged_units: None,
                unauthorized: false,
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let weight = prop_oneof![6 => Just(1_u32), 3 => 1_u32..6, 2 => 20_u32..90];
    let hold_ms = prop_oneof![2 => Just(0_u64), 1 => 1_u64..100_000];
    let ask = (
        0..2_u8,
        0..2_u8,
        0..3_u8,
        any::<bool>(),
        weight,
        hold_ms,
        0..=1000_u64,
    )
        .prop_map(
            |(app, tenant, user, background, weight, hold_ms, counted_permille)| Step::Ask {
                app,
                tenant,
                user,
                background,
                weight,
                hold_ms,
                counted_permille,
            },
        );
    let wait = prop_oneof![4 => 0_u64..40, 2 => 0_u64..2_500, 1 => 0_u64..70_000];
    prop_oneof![
        10 => ask,
        6 => (any::<usize>(), signal()).prop_map(|(n, signal)| Step::Complete(n, signal)),
        1 => any::<usize>().prop_map(Step::Refund),
        1 => any::<usize>().prop_map(Step::Crash),
        1 => any::<usize>().prop_map(Step::Renew),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => Just(Step::Restart),
        4 => wait.prop_map(Step::Wait),
        1 => Just(Step::WaitAsTold),
    ]
}

/// Over at least 100,000 steps: no window, fixed at any phase or sliding, and no concurrency
/// limit is ever exceeded in any budget; a refusal charges nothing; an exact wait is exact;
/// nobody waits past their hold; an end counts once. Keys with own limits are held to those, and
/// layers that only count tell truly what they would have refused.
#[test]
fn no_history_makes_the_upstream_see_a_call_too_many() {
    let (steps_done, exact, granted, shadowed) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let config = Config {
        cases: CASES,
        ..Config::with_source_file(file!())
    };
    let history = (
        policy(),
        proptest::collection::vec(step(), STEPS..=STEPS + 50),
        any::<u64>(),
    );
    let outcome = TestRunner::new(config).run(&history, |(policy, steps, phase)| {
        let mut world = World::new(policy.clone());
        steps.iter().for_each(|step| world.step(step));
        world.referee.judge_all(&policy, world.now, phase % 600_000);
        shadowed.fetch_add(world.judge_shadows(), Ordering::Relaxed);
        steps_done.fetch_add(steps.len(), Ordering::Relaxed);
        exact.fetch_add(world.exact_refusals, Ordering::Relaxed);
        granted.fetch_add(world.referee.sent.len(), Ordering::Relaxed);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{} steps, {} grants, {} exact refusals, {} that only counted layers would have refused",
        count(&steps_done),
        count(&granted),
        count(&exact),
        count(&shadowed)
    );
    assert!(count(&shadowed) > 200);
    assert!(count(&steps_done) >= 100_000 && count(&granted) > 20_000 && count(&exact) > 2_000);
}
