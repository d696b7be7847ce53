//! What all budgets add up to, told without naming any.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, Call, Dimension, Engine, Instant, Lane, PerLane, Permit, Scope, Settings, Status,
    Survey, SurveyStep,
};
use support::{MINUTE, SETTINGS, policy};

const START: Instant = Instant(1_800_000_000_000);

fn engine() -> Engine {
    let settings = Settings {
        users_max: 10_000,
        ..SETTINGS
    };
    let policy = policy(&[
        (Scope::User, MINUTE, 10),
        (Scope::User, Dimension::Concurrency, 4),
        (Scope::App, Dimension::Concurrency, 2_000),
    ]);
    Engine::new(settings, vec![policy], START)
}

fn ask(engine: &mut Engine, user: usize, lane: Lane, hold_ms: u64) -> Option<Permit> {
    let call = Call {
        workload: 0,
        app: "app".into(),
        tenant: String::new(),
        user: format!("u{user}"),
        lane,
        weight: 1,
    };
    match engine.ask(START, &call, START.plus_ms(hold_ms)) {
        Answer::Granted(grant) => Some(grant.permit),
        Answer::Parked(_) => None,
        Answer::Refused(refusal) => panic!("{refusal}"),
    }
}

/// The survey at `now`, so many steps at a time.
fn survey(engine: &mut Engine, now: Instant, steps: usize) -> Survey {
    surveyed(engine, now, steps).0
}

/// The same, and how many times the engine was asked for it.
fn surveyed(engine: &mut Engine, now: Instant, steps: usize) -> (Survey, usize) {
    let mut surveys = engine.survey(now);
    let mut next = Some(SurveyStep::FIRST);
    let mut times = 0;
    while let Some(from) = next {
        next = engine.survey_more(&mut surveys, now, from, steps);
        times += 1;
    }
    (surveys.pop().expect("there is one workload"), times)
}

fn scope(survey: &Survey, scope: Scope) -> &spillway::ScopeSurvey {
    let found = survey.scopes.iter().find(|it| it.scope == scope);
    found.expect("it has layers")
}

#[test]
fn the_budget_closest_to_a_limit_is_told_and_all_are_counted() {
    let mut engine = engine();
    for user in 0..1_000 {
        let permit = ask(&mut engine, user, Lane::Foreground, 0).expect("there is room");
        engine.complete(START, permit);
    }
    for lane in [Lane::Foreground, Lane::Background, Lane::Foreground] {
        ask(&mut engine, 500, lane, 0);
    }
    for steps in [1, 7, 256, 100_000] {
        let survey = survey(&mut engine, START, steps);
        let users = scope(&survey, Scope::User);
        let used: Vec<_> = users
            .layers
            .iter()
            .map(|it| (it.limit, it.used_max, it.used_background_max))
            .collect();
        assert_eq!(used, [(10, 4, 1), (4, 3, 1)]);
        assert_eq!(users.budgets.get(&Status::Closed), Some(&1_000));
        let app = scope(&survey, Scope::App);
        assert_eq!((app.layers[0].used_max, app.budgets.len()), (3, 1));
        let running = PerLane {
            foreground: 2,
            background: 1,
        };
        assert_eq!(survey.in_flight, running);
        assert_eq!(survey.waiting, PerLane::default());
    }
    // What has left its window counts no more.
    let later = survey(&mut engine, START.plus_ms(60_100), 64);
    let users = scope(&later, Scope::User);
    assert_eq!(users.budgets.values().sum::<u64>(), 1);
}

/// However much there is, each time the engine looks at so many calls or budgets and no more.
#[test]
fn no_step_looks_at_more_than_it_may() {
    let mut engine = engine();
    let permits: Vec<_> = (0..1_000)
        .filter_map(|user| ask(&mut engine, user, Lane::Foreground, 0))
        .collect();
    for steps in [1, 10, 300] {
        let (survey, times) = surveyed(&mut engine, START, steps);
        assert_eq!(survey.in_flight.foreground, 1_000);
        // The users' budgets, and at least their app's.
        let least = 1_000_usize.div_ceil(steps) + 1_001_usize.div_ceil(steps);
        assert!(times >= least, "{times} < {least}");
    }
    // Those that ended or were renewed are counted once or not at all.
    let later = START.plus_ms(1_000);
    for (n, permit) in permits.into_iter().enumerate() {
        match n % 3 {
            0 => {
                engine.complete(later, permit);
            }
            1 => {
                engine.renew(later, permit).expect("it runs");
            }
            _ => {}
        }
    }
    for steps in [1, 10, 300] {
        assert_eq!(survey(&mut engine, later, steps).in_flight.foreground, 666);
    }
}

#[test]
fn who_waits_is_counted_by_lane() {
    let mut engine = engine();
    for _ in 0..4 {
        ask(&mut engine, 1, Lane::Foreground, 0);
    }
    for _ in 0..3 {
        assert_eq!(ask(&mut engine, 1, Lane::Foreground, 130_000), None);
    }
    assert_eq!(ask(&mut engine, 1, Lane::Background, 130_000), None);
    let survey = survey(&mut engine, START, 64);
    let waiting = PerLane {
        foreground: 3,
        background: 1,
    };
    assert_eq!(survey.waiting, waiting);
}

#[test]
fn engines_add_up() {
    let (mut one, mut other) = (engine(), engine());
    ask(&mut one, 1, Lane::Foreground, 0);
    for _ in 0..2 {
        ask(&mut other, 2, Lane::Foreground, 0);
    }
    let mut all = Survey::default();
    for engine in [&mut one, &mut other] {
        all.add(&survey(engine, START, 64));
    }
    let users = scope(&all, Scope::User);
    assert_eq!(users.layers[0].used_max, 2);
    assert_eq!(users.budgets.get(&Status::Closed), Some(&2));
    assert_eq!(all.in_flight.foreground, 3);
}
