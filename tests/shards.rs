//! Several engines that share an upstream, each with its own apps, beside one with all.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::collections::BTreeSet;

use spillway::{
    Answer, Call, Engine, Instant, Lane, Permit, Refusal, Scope, Settings, WorkloadView,
};
use support::{MINUTE, policy};

const ENGINES: usize = 3;
const APPS: usize = 7;
const USERS: usize = 5;

/// The second workload holds the upstream's own limits.
const SETTINGS: Settings = Settings {
    global: Some(1),
    ..support::SETTINGS
};

fn engine() -> Engine {
    let own = policy(&[(Scope::User, MINUTE, 4), (Scope::Tenant, MINUTE, 9)]);
    let global = policy(&[(Scope::Tenant, MINUTE, 40), (Scope::App, MINUTE, 12)]);
    Engine::new(SETTINGS, vec![own, global], Instant(0))
}

fn call(n: usize) -> Call {
    let user = n / APPS % USERS;
    Call {
        workload: 0,
        app: format!("app {}", n % APPS),
        tenant: format!("tenant {}", user % 2),
        user: format!("user {user}"),
        lane: Lane::ALL[n / 3 % 2],
        weight: 1,
    }
}

fn shared() -> Vec<Engine> {
    let engines = (0..ENGINES).map(|position| {
        let mut engine = engine();
        engine.share_numbers(position, ENGINES);
        engine
    });
    engines.collect()
}

/// A call's steps through its window: some end, some go on, some wait.
#[test]
fn they_decide_and_show_what_one_engine_would() {
    let (mut one, mut several) = (engine(), shared());
    let mut numbers = BTreeSet::new();
    for n in 0..1_000 {
        let (call, now) = (call(n * n / 3), Instant(n as u64 * 151));
        let own = &mut several[app(&call) % ENGINES];
        let deadline = now.plus_ms([0, 40_000][n % 2]);
        let answers = (one.ask(now, &call, deadline), own.ask(now, &call, deadline));
        match answers {
            (Answer::Granted(a), Answer::Granted(b)) => {
                assert!(
                    numbers.insert(b.permit),
                    "{} was given out before",
                    b.permit
                );
                if n % 5 > 0 {
                    one.complete(now, a.permit);
                    own.complete(now, b.permit);
                }
            }
            (Answer::Parked(_), Answer::Parked(_)) => {}
            (a, b) => assert_eq!(a, b),
        }
        settle(&mut one, &mut several, now, &mut numbers);
        for workload in (0..2).filter(|_| n % 4 == 0) {
            assert_same_view(&mut one, &mut several, now, workload);
        }
    }
    assert!(numbers.len() > 100);
}

fn app(call: &Call) -> usize {
    call.app.rsplit(' ').next().unwrap().parse().unwrap()
}

fn settle(one: &mut Engine, several: &mut [Engine], now: Instant, numbers: &mut BTreeSet<Permit>) {
    one.settle(now);
    let alone = one.take_settled();
    let mut together = Vec::new();
    for engine in several {
        engine.settle(now);
        together.extend(engine.take_settled());
    }
    let granted =
        |settled: &[spillway::Settled]| settled.iter().filter(|it| it.outcome.is_ok()).count();
    assert_eq!(
        (alone.len(), granted(&alone)),
        (together.len(), granted(&together))
    );
    for grant in together.iter().filter_map(|it| it.outcome.ok()) {
        assert!(numbers.insert(grant.permit));
    }
}

fn assert_same_view(one: &mut Engine, several: &mut [Engine], now: Instant, workload: usize) {
    let mut cursor = None;
    loop {
        let page = one.view(now, workload, cursor.as_ref(), 3);
        let views = several
            .iter_mut()
            .map(|engine| engine.view(now, workload, cursor.as_ref(), 3));
        let joined = WorkloadView::joined(views.collect::<Vec<_>>(), 3);
        assert_eq!(format!("{joined:?}"), format!("{page:?}"));
        let Some(last) = page.users.last() else { break };
        cursor = Some((last.closeness_permille, last.key.clone()));
    }
}

#[test]
fn numbers_go_on_behind_the_highest_after_a_restart_whoever_gave_it() {
    let mut several = shared();
    let now = Instant(0);
    let mut given = BTreeSet::new();
    let mut highest = Permit(0);
    for engines in [ENGINES, 2, 5, 1, 4] {
        several.truncate(0);
        several.extend((0..engines).map(|position| {
            let mut engine = engine();
            engine.share_numbers(position, engines);
            engine.restored(Permit(highest.0 + 1), |_| false);
            engine
        }));
        for (n, engine) in several.iter_mut().enumerate() {
            for user in 0..=n {
                let Answer::Granted(grant) = engine.ask(now, &call(user * APPS), now) else {
                    panic!("it fits");
                };
                assert!(given.insert(grant.permit));
                highest = highest.max(grant.permit);
            }
        }
    }
}

#[test]
fn a_bound_on_users_is_lowered_without_loss_and_idle_ones_make_room() {
    let mut engine = engine();
    let ask = |engine: &mut Engine, n: usize, at: u64| {
        engine.ask(Instant(at), &call(n * APPS), Instant(at))
    };
    for n in 0..2 {
        let Answer::Granted(grant) = ask(&mut engine, n, 0) else {
            panic!("it fits");
        };
        engine.complete(Instant(0), grant.permit);
    }
    engine.bound_users(1);
    assert_eq!(engine.users(), 2);
    assert!(matches!(ask(&mut engine, 1, 0), Answer::Granted(_)));
    let refused = ask(&mut engine, 2, 0);
    assert_eq!(refused, Answer::Refused(Refusal::Capacity { users_max: 1 }));
    engine.drop_idle(Instant(100_000));
    assert_eq!(engine.users(), 1, "one runs still");
}
