//! For whom user keys come to be, so that a driver can bound how many each opens.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use spillway::{Answer, Call, Ended, Engine, Instant, Lane, Opener, Scope};
use support::{MINUTE, SETTINGS, policy};

fn engine(scope: Scope, limit: u32) -> Engine {
    let policy = policy(&[(scope, MINUTE, limit)]);
    Engine::new(SETTINGS, vec![policy], Instant(0))
}

fn call(user: usize) -> Call {
    Call {
        workload: 0,
        app: "app".to_owned(),
        tenant: String::new(),
        user: format!("user {user}"),
        lane: Lane::Foreground,
        weight: 1,
    }
}

fn opener(number: u32) -> Opener {
    Opener(NonZeroU32::new(number).unwrap())
}

/// A driver's own count.
fn count(engine: &mut Engine, open: &mut BTreeMap<Opener, i64>) {
    for (opener, came) in engine.take_openings() {
        *open.entry(opener).or_default() += if came { 1 } else { -1 };
    }
}

fn granted(engine: &mut Engine, now: Instant, user: usize) {
    match engine.ask(now, &call(user), now) {
        Answer::Granted(grant) => assert_eq!(engine.complete(now, grant.permit), Ended::Landed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_key_is_counted_once_for_whom_it_came_to_be_until_it_vanishes() {
    let (mut engine, mut open) = (engine(Scope::User, 4), BTreeMap::new());
    for (who, users) in [(1, 0..30), (2, 20..50)] {
        engine.open_for(Some(opener(who)));
        users.for_each(|user| granted(&mut engine, Instant(user as u64), user));
    }
    engine.open_for(None);
    granted(&mut engine, Instant(60), 99);
    count(&mut engine, &mut open);
    assert_eq!(open, BTreeMap::from([(opener(1), 30), (opener(2), 20)]));
    assert_eq!(engine.users(), 51);
    assert!(engine.knows_user(&call(0)) && !engine.knows_user(&call(50)));

    engine.drop_idle(Instant(3 * 60_000));
    count(&mut engine, &mut open);
    assert_eq!(open, BTreeMap::from([(opener(1), 0), (opener(2), 0)]));
    assert_eq!(engine.users(), 0);
}

#[test]
fn a_waiting_call_opens_its_key_and_a_refused_one_none() {
    let (mut engine, mut open) = (engine(Scope::User, 4), BTreeMap::new());
    engine.open_for(Some(opener(1)));
    let heavy = Call {
        weight: 5,
        ..call(0)
    };
    let refused = engine.ask(Instant(0), &heavy, Instant(0));
    assert!(matches!(refused, Answer::Refused(_)));
    count(&mut engine, &mut open);
    assert_eq!(open, BTreeMap::new());

    let until = Instant(90_000);
    let asks = (0..5).map(|_| engine.ask(Instant(1), &call(1), until));
    let waiting = asks.filter(|answer| matches!(answer, Answer::Parked(_)));
    assert_eq!(waiting.count(), 1);
    count(&mut engine, &mut open);
    assert_eq!(open, BTreeMap::from([(opener(1), 1)]));
}

#[test]
fn where_users_have_no_limits_nothing_is_opened() {
    let mut engine = engine(Scope::App, 4);
    engine.open_for(Some(opener(1)));
    granted(&mut engine, Instant(0), 1);
    assert_eq!(engine.take_openings(), []);
}
