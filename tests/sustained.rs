//! How much of a limit can be used for long: what the proof costs.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;

use spillway::{
    Answer, Call, Dimension, Engine, Instant, Lane, Layer, Permit, Policy, Scope, Settings, Share,
};

/// Grants in eight windows after two of warm-up, per mille of the limit, by a caller that
/// asks whenever the engine says that a call fits.
fn use_permille(window_ms: u64, limit: u32, latency_ms: u64) -> u64 {
    let layer = Layer::new(Scope::App, Dimension::Rate { window_ms }, limit).expect("legal");
    let policy = Policy::new(vec![layer], Share::HALF).expect("legal");
    let settings = Settings {
        users_max: 10,
        waiters_max: 10,
        lease_ms: 900_000,
        renewals_ms_max: 900_000,
        probe_ms: 30_000,
        background_turn: 20,
        global: None,
        told_ms_max: u64::MAX,
        hash_seed: 7,
    };
    let start = Instant(1_000_000);
    let mut engine = Engine::new(settings, vec![policy], start);
    let mut ends: BTreeSet<(Instant, Permit)> = BTreeSet::new();
    let (mut now, mut counted) = (start, 0);
    let (from, until) = (start.plus_ms(2 * window_ms), start.plus_ms(10 * window_ms));
    while now < until {
        while let Some((at, permit)) = ends.first().copied().filter(|(at, _)| *at <= now) {
            ends.remove(&(at, permit));
            engine.complete(now, permit);
        }
        let call = Call {
            workload: 0,
            app: "app".into(),
            tenant: String::new(),
            user: "user".into(),
            lane: Lane::Foreground,
            weight: 1,
        };
        let told = match engine.ask(now, &call, now) {
            Answer::Granted(grant) => {
                ends.insert((now.plus_ms(latency_ms), grant.permit));
                counted += u64::from(now >= from);
                continue;
            }
            Answer::Refused(spillway::Refusal::Busy(busy)) => busy.at,
            other => panic!("unexpected {other:?}"),
        };
        now = ends
            .first()
            .map_or(told, |(at, _)| told.min(*at))
            .max(now.plus_ms(1));
    }
    counted * 1000 / (8 * u64::from(limit))
}

#[test]
fn sustained_use_reaches_what_the_design_promises() {
    for (window_ms, limit, latency_ms) in [
        (60_000, 120, 500),
        (3_600_000, 400, 800),
        (60_000, 240, 0),
        (3_600_000, 800, 800),
        (60_000, 3_000, 300),
    ] {
        let bucket_ms = if limit <= 512 { 0 } else { window_ms / 120 };
        let promised = 995 * window_ms / (window_ms + bucket_ms + latency_ms);
        let used = use_permille(window_ms, limit, latency_ms);
        println!(
            "{limit} per {window_ms} ms at {latency_ms} ms: {used} permille, promised {promised}"
        );
        assert!(
            used >= promised,
            "{limit} per {window_ms} ms: {used} permille of the limit, promised {promised}"
        );
    }
}
