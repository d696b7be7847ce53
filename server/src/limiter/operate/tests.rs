//! Pauses and forced breakers on real files and the runtime's paused clock.

use spillway::{BlockedBy, Lane, Scope, Whose};
use tokio::time::advance;

use super::*;
use crate::limiter::{
    Ask, Busy, Call, Limiters, Permit, Recovery, Refused,
    tests::{Place, break_journal, kill, note},
};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

async fn ask(limiters: &Limiters, lane: Lane) -> Result<(), BlockedBy> {
    let ask = Ask {
        call: Call {
            workload: 0,
            app: "app".into(),
            tenant: String::new(),
            user: "ann".into(),
            lane,
            weight: 1,
        },
        account: None,
    };
    let asked = limiters.all()[0].acquire(&ask, Duration::ZERO).await;
    match asked.map(Permit::complete) {
        Ok(()) => Ok(()),
        Err(Refused::Busy(Busy { blocked_by, .. })) => Err(blocked_by),
        Err(other) => panic!("{other}"),
    }
}

async fn open(place: &Place) -> Limiters {
    place.open(Recovery::AssumeFull).await
}

fn key(scope: Scope) -> Key {
    let user = match scope {
        Scope::User => "ann",
        _ => "",
    };
    Key {
        workload: 0,
        scope,
        app: "app".into(),
        tenant: String::new(),
        user: user.into(),
    }
}

/// Both lanes, by what stops them.
async fn both(limiters: &Limiters) -> [Result<(), BlockedBy>; 2] {
    [
        ask(limiters, Lane::Foreground).await,
        ask(limiters, Lane::Background).await,
    ]
}

#[tokio::test]
async fn a_pause_outlives_kills_and_new_files_and_ends_by_itself() {
    let place = Place::new().await;
    for generations in 0..2 {
        let limiters = open(&place).await;
        let limiter = &limiters.all()[0];
        limiter.pause(Whose::Upstream, HOUR, &note()).unwrap();
        assert_eq!(both(&limiters).await, [Ok(()), Err(BlockedBy::Paused)]);
        for _ in 0..generations {
            limiter.inner.next_generation(false).unwrap();
        }
        kill(limiters);

        let limiters = open(&place).await;
        let pause = &limiters.all()[0].pauses()[0];
        assert_eq!(
            (&pause.whose, &pause.note),
            (&Whose::Upstream, &Some(note()))
        );
        advance(HOUR - MINUTE).await;
        assert_eq!(both(&limiters).await, [Ok(()), Err(BlockedBy::Paused)]);
        advance(MINUTE).await;
        assert_eq!(both(&limiters).await, [Ok(()), Ok(())]);
        assert_eq!(limiters.all()[0].pauses(), []);
        kill(limiters);
    }
}

#[tokio::test]
async fn a_pause_that_was_ended_stays_ended_after_a_kill() {
    let place = Place::new().await;
    let limiters = open(&place).await;
    let limiter = &limiters.all()[0];
    limiter.pause(Whose::Upstream, HOUR, &note()).unwrap();
    assert_eq!(limiter.resume(&Whose::Upstream), Ok(true));
    assert_eq!(limiter.resume(&Whose::Upstream), Ok(false));
    kill(limiters);
    let limiters = open(&place).await;
    assert_eq!(both(&limiters).await, [Ok(()), Ok(())]);
}

#[tokio::test]
async fn a_forced_breaker_outlives_a_kill_and_ends_by_itself() {
    let place = Place::new().await;
    for scope in [Scope::User, Scope::App] {
        let limiters = open(&place).await;
        let forced = limiters.all()[0].force_breaker(&key(scope), true, HOUR, &note());
        let forced = forced.unwrap();
        assert_eq!(forced.state, live::BreakerState::Open);
        assert_eq!(forced.reason, Some(live::BreakerReason::Forced));
        assert!(forced.since.is_some() && forced.until.is_some());
        kill(limiters);

        let limiters = open(&place).await;
        let refused = Err(BlockedBy::Breaker { scope });
        assert_eq!(both(&limiters).await, [refused, refused]);
        advance(HOUR - MINUTE).await;
        assert_eq!(both(&limiters).await, [refused, refused]);
        // The clock goes on from the last instant that was written down, a bit earlier.
        advance(2 * MINUTE).await;
        assert_eq!(both(&limiters).await, [Ok(()), Ok(())], "{scope}");
        kill(limiters);
    }
}

#[tokio::test]
async fn a_scope_without_limits_has_no_breaker_to_force() {
    let place = Place::new().await;
    let limiters = open(&place).await;
    let limiter = &limiters.all()[0];
    let none = NotDone::NoSuchBudget {
        scope: Scope::Tenant,
        known: "user, app".into(),
    };
    let tenant = key(Scope::Tenant);
    assert_eq!(
        limiter.force_breaker(&tenant, true, HOUR, &note()),
        Err(none.clone())
    );
    assert_eq!(limiter.reset_breaker(&tenant), Err(none));
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let place = Place::new().await;
    let limiters = open(&place).await;
    let limiter = &limiters.all()[0];
    limiter.pause(Whose::Upstream, HOUR, &note()).unwrap();
    let before = limiter.pauses();
    break_journal(&limiters);
    let app = Whose::App { app: "app".into() };
    assert_eq!(limiter.pause(app, HOUR, &note()), Err(NotDone::Storage));
    assert_eq!(
        limiter.pause(Whose::Upstream, 2 * HOUR, &note()),
        Err(NotDone::Storage)
    );
    assert_eq!(limiter.resume(&Whose::Upstream), Err(NotDone::Storage));
    assert_eq!(limiter.pauses(), before);
    let app = key(Scope::App);
    let forced = limiter.force_breaker(&app, true, HOUR, &note());
    assert_eq!(forced, Err(NotDone::Storage));
    assert_eq!(limiter.reset_breaker(&app), Err(NotDone::Storage));
    // The keeper's next round begins a new journal.
    limiter.inner.next_generation(false).unwrap();
    assert_eq!(both(&limiters).await, [Ok(()), Err(BlockedBy::Paused)]);
}

/// Whoever forced a breaker is shown as long as it is forced, whatever restarts come between.
#[tokio::test]
async fn who_forced_a_breaker_is_known_until_it_is_reset() {
    let place = Place::new().await;
    let app = key(Scope::App);
    for generations in [0, 1, 25] {
        let limiters = open(&place).await;
        let limiter = &limiters.all()[0];
        limiter.force_breaker(&app, true, HOUR, &note()).unwrap();
        for _ in 0..generations {
            limiter.inner.next_generation(false).unwrap();
        }
        kill(limiters);
        let limiters = open(&place).await;
        let limiter = &limiters.all()[0];
        let by = limiter.breaker(&app).by.map(|by| (by.who, by.reason));
        assert_eq!(by, Some(("a test".to_owned(), "why".to_owned())));
        let reset = limiter.reset_breaker(&app).unwrap();
        assert_eq!((reset.by, limiter.breaker(&app).by), (None, None));
        kill(limiters);
        let limiters = open(&place).await;
        assert_eq!(limiters.all()[0].breaker(&app).by, None);
        kill(limiters);
    }
}
