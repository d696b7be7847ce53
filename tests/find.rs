//! Users found by name and by trouble, a few budgets at a time.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use spillway::{
    Answer, BudgetView, Call, Dimension, Engine, Found, Instant, Lane, Scope, Settings, Trouble,
    Wanted,
};
use support::{MINUTE, SETTINGS, policy};

const START: Instant = Instant(1_800_000_000_000);
const LIMIT: u32 = 10;

/// An engine in which user n of `users` has n modulo 11 calls of its ten, in tenant n modulo 3.
fn engine(users: usize) -> Engine {
    let settings = Settings {
        users_max: 200_000,
        ..SETTINGS
    };
    let policy = policy(&[
        (Scope::User, MINUTE, LIMIT),
        (Scope::App, Dimension::Concurrency, 1_000_000_000),
    ]);
    let mut engine = Engine::new(settings, vec![policy], START);
    for user in 0..users {
        for _ in 0..user % 11 {
            charge(&mut engine, user);
        }
    }
    engine
}

fn charge(engine: &mut Engine, user: usize) {
    let call = Call {
        workload: 0,
        app: "app".into(),
        tenant: format!("t{}", user % 3),
        user: format!("User{user}"),
        lane: Lane::Foreground,
        weight: 1,
    };
    match engine.ask(START, &call, START) {
        Answer::Granted(grant) => drop(engine.complete(START, grant.permit)),
        other => panic!("{other:?}"),
    }
}

fn wanted(text: &str, trouble: Trouble, max: usize) -> Wanted {
    Wanted {
        workload: 0,
        text: text.to_owned(),
        trouble,
        after: None,
        max,
    }
}

/// What is found, so many positions at a time, and in how many steps.
fn find(engine: &mut Engine, wanted: &Wanted, steps: usize) -> (Found, usize) {
    let (mut found, mut next, mut times) = (Found::default(), Some(0), 0);
    while let Some(from) = next {
        next = engine.find_more(wanted, &mut found, START, from, steps);
        times += 1;
    }
    (found, times)
}

fn names(found: &Found) -> Vec<String> {
    found
        .users()
        .map(|it: &BudgetView| it.key.user.clone())
        .collect()
}

/// The users of [`engine`] that have called, most calls first, then by tenant and name.
fn model(users: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<String> {
    let mut all: Vec<_> = (0..users)
        .filter(|user| user % 11 > 0 && is_wanted(*user))
        .map(|user| {
            (
                std::cmp::Reverse(user % 11),
                user % 3,
                format!("User{user}"),
            )
        })
        .collect();
    all.sort();
    all.into_iter().map(|(.., name)| name).collect()
}

#[test]
fn pages_put_together_are_all_in_order_whatever_the_steps() {
    const USERS: usize = 500;
    let mut engine = engine(USERS);
    for (max, steps) in [(1, 256), (7, 1), (100, 37), (1_000, 100_000)] {
        let mut wanted = wanted("", Trouble::Any, max);
        let mut all = Vec::new();
        loop {
            let (found, _) = find(&mut engine, &wanted, steps);
            assert_eq!((found.users, found.matched), (454, 454));
            all.extend(names(&found));
            wanted.after = found.cursor(max);
            if wanted.after.is_none() {
                break;
            }
        }
        assert_eq!(
            all,
            model(USERS, |_| true),
            "{max} at a time, {steps} a step"
        );
    }
}

#[test]
fn names_are_found_in_any_key_whatever_the_case() {
    let mut engine = engine(100);
    for (text, is_wanted) in [
        (
            "uSER1",
            (|user| user == 1 || (10..20).contains(&user)) as fn(usize) -> bool,
        ),
        ("T2", |user| user % 3 == 2),
        ("app", |_| true),
        ("user1000", |_| false),
        ("ü", |_| false),
    ] {
        let (found, _) = find(&mut engine, &wanted(text, Trouble::Any, 200), 256);
        assert_eq!(names(&found), model(100, is_wanted), "{text}");
        assert_eq!(found.matched, found.users().count() as u64);
        assert_eq!(found.users, 90);
    }
}

#[test]
fn trouble_is_what_is_asked_for_or_more() {
    let mut engine = engine(100);
    for (trouble, least) in [
        (Trouble::Near(800), 8),
        (Trouble::Stopped, 10),
        (Trouble::Tripped, 11),
    ] {
        let (found, _) = find(&mut engine, &wanted("", trouble, 200), 256);
        assert_eq!(
            names(&found),
            model(100, |user| user % 11 >= least),
            "{trouble:?}"
        );
    }
}

#[test]
fn who_is_stopped_by_a_breaker_comes_before_who_is_full() {
    let mut engine = engine(100);
    let key = spillway::Key {
        workload: 0,
        scope: Scope::User,
        app: "app".into(),
        tenant: "t1".into(),
        user: "User1".into(),
    };
    let until = START.plus_ms(60_000);
    engine.force(START, &key, true, until);
    let (found, _) = find(&mut engine, &wanted("", Trouble::Any, 1), 256);
    assert_eq!(names(&found), ["User1"]);
    let (found, _) = find(&mut engine, &wanted("", Trouble::Tripped, 9), 256);
    assert_eq!(names(&found), ["User1"]);
}

/// A page of 100,000 users: no step looks at more positions than it may, and no more users are
/// kept than are shown.
#[test]
fn a_page_of_very_many_users_is_found_in_bounded_steps() {
    const USERS: usize = 110_000;
    const STEPS: usize = 1_024;
    let mut engine = engine(USERS);
    let wanted = wanted("user", Trouble::Any, 50);
    let (found, times) = find(&mut engine, &wanted, STEPS);
    assert_eq!(found.users, 100_000);
    assert_eq!(found.users().count(), 50);
    assert!(found.users().all(|it| it.closeness_permille == 1_000));
    // Users, their tenants and the app, in chunks that are not full.
    assert!(times <= (USERS + 1_000) / STEPS + 1, "{times} steps");
}
