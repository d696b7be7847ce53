//! Permits outside on real files and the runtime's paused clock.

use spillway::{Lane, NotRenewed, signal};
use tokio::time::advance;

use super::*;
use crate::limiter::{
    Call, Limiters, Permit, Recovery,
    outside::RUNNING_MAX,
    tests::{Place, kill},
};

const NO_HOLD: Duration = Duration::ZERO;
const KEPT: Duration = Duration::from_secs(15 * 60);
const MINUTE: Duration = Duration::from_millis(60_031);
const NEARLY: Duration = Duration::from_millis(1);

/// OneNote allows a user 120 calls a minute.
const MINUTE_LIMIT: u32 = 120;

fn ask() -> Ask {
    Ask {
        call: Call {
            workload: 0,
            app: "app".into(),
            tenant: String::new(),
            user: "ann".into(),
            lane: Lane::Foreground,
            weight: 1,
        },
        account: None,
    }
}

async fn take(limiters: &Limiters) -> HandedOut {
    let taken = limiters.all()[0].hand_out(Owner::OPEN, ask(), NO_HOLD);
    taken.await.unwrap()
}

fn answer(status: u16) -> Signal {
    signal::read(&signal::Answer {
        status,
        headers: &[],
        body: &[],
        unix_ms: 0,
    })
}

fn complete(limiters: &Limiters, id: PermitId) -> Result<(), UnknownPermit> {
    limiters.all()[0].complete(&Owner::OPEN, id, &answer(200))
}

fn renew(limiters: &Limiters, id: PermitId) -> Result<Duration, NotExtended> {
    limiters.all()[0].renew(&Owner::OPEN, id)
}

/// How much of the user's minute is used.
fn used(limiters: &Limiters) -> u32 {
    let left = limiters.all()[0].left(&ask()).unwrap();
    assert_eq!(left.headroom.limit, MINUTE_LIMIT);
    MINUTE_LIMIT - left.headroom.remaining
}

#[tokio::test]
async fn a_late_completion_lands_again_and_a_name_is_known_for_15_minutes_more() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let (late, lost) = (take(&limiters).await, take(&limiters).await);
    assert_eq!(late.ttl, Permit::LEASE);
    advance(Permit::LEASE).await;
    assert_eq!(used(&limiters), 2);
    assert_eq!(
        renew(&limiters, late.id),
        Err(NotExtended::NotRenewed(NotRenewed::Ended))
    );
    for _ in 0..2 {
        assert_eq!(complete(&limiters, late.id), Ok(()));
        assert_eq!(used(&limiters), 3, "once more, and only once");
    }
    advance(KEPT - NEARLY).await;
    assert_eq!(complete(&limiters, late.id), Ok(()));
    advance(NEARLY).await;
    for id in [late.id, lost.id] {
        assert_eq!(complete(&limiters, id), Err(UnknownPermit));
    }
}

#[tokio::test]
async fn renewals_end_after_15_minutes() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let it = take(&limiters).await;
    for _ in 0..8 {
        advance(Duration::from_secs(100)).await;
        assert_eq!(renew(&limiters, it.id), Ok(Permit::LEASE));
    }
    advance(Duration::from_secs(100)).await;
    assert_eq!(
        renew(&limiters, it.id),
        Err(NotExtended::NotRenewed(NotRenewed::TooLong))
    );
    assert_eq!(complete(&limiters, it.id), Ok(()));
    assert_eq!(used(&limiters), 1);
    // The last renewal was 100 s ago.
    advance(KEPT + Permit::LEASE - Duration::from_secs(100) - NEARLY).await;
    assert_eq!(complete(&limiters, it.id), Ok(()));
    advance(NEARLY).await;
    assert_eq!(complete(&limiters, it.id), Err(UnknownPermit));
}

#[tokio::test]
async fn a_recovery_waits_after_a_kill_for_what_is_still_held() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let slow = take(&limiters).await;
    let throttled = take(&limiters).await;
    limiters.all()[0]
        .complete(&Owner::OPEN, throttled.id, &answer(429))
        .unwrap();
    advance(Duration::from_secs(2)).await;
    let probe = take(&limiters).await;
    complete(&limiters, probe.id).unwrap();
    let refused = async |limiters: &Limiters| {
        let asked = limiters.all()[0].hand_out(Owner::OPEN, ask(), NO_HOLD);
        asked.await.is_err()
    };
    assert!(refused(&limiters).await, "one at once");
    kill(limiters);

    let limiters = place.open(Recovery::AssumeFull).await;
    assert!(refused(&limiters).await, "its end will be told");
    complete(&limiters, slow.id).unwrap();
    take(&limiters).await;
    assert!(refused(&limiters).await, "one at once");
}

#[tokio::test]
async fn permits_outlive_a_kill_whatever_became_of_them() {
    let place = Place::new().await;
    for generations in 0..2 {
        let limiters = place.open(Recovery::AssumeFull).await;
        let [running, renewed, completed, returned] = [
            take(&limiters).await,
            take(&limiters).await,
            take(&limiters).await,
            take(&limiters).await,
        ];
        complete(&limiters, completed.id).unwrap();
        let limiter = &limiters.all()[0];
        limiter.give_back(&Owner::OPEN, returned.id).unwrap();
        advance(MINUTE).await;
        renew(&limiters, renewed.id).unwrap();
        for _ in 0..generations {
            limiter.inner.next_generation(false).unwrap();
        }
        kill(limiters);
        let limiters = place.open(Recovery::AssumeFull).await;
        // What landed a minute ago no longer counts; two still run.
        assert_eq!(used(&limiters), 2);
        for handed_out in [running, renewed, completed, returned] {
            assert_eq!(complete(&limiters, handed_out.id), Ok(()));
        }
        assert_eq!(used(&limiters), 2, "each once");
        assert!(renew(&limiters, renewed.id).is_err());
        advance(Permit::LEASE).await;
        assert_eq!(used(&limiters), 0);
        // The renewed one expired a minute later than the other.
        advance(KEPT - MINUTE / 2).await;
        assert_eq!(complete(&limiters, renewed.id), Ok(()));
        assert_eq!(complete(&limiters, running.id), Err(UnknownPermit));
        kill(limiters);
    }
}

#[tokio::test]
async fn an_overdue_call_is_completed_after_a_kill() {
    let place = Place::new().await;
    for generations in 0..2 {
        let limiters = place.open(Recovery::AssumeFull).await;
        let it = take(&limiters).await;
        advance(Permit::LEASE).await;
        // Files tell the time by what happened.
        complete(&limiters, take(&limiters).await.id).unwrap();
        for _ in 0..generations {
            limiters.all()[0].inner.next_generation(false).unwrap();
        }
        kill(limiters);
        let limiters = place.open(Recovery::AssumeFull).await;
        let landed = used(&limiters);
        assert_eq!(complete(&limiters, it.id), Ok(()));
        assert_eq!(used(&limiters), landed + 1);
        advance(Permit::LEASE).await;
        kill(limiters);
    }
}

#[tokio::test]
async fn others_permits_do_not_exist() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let (limiter, it) = (&limiters.all()[0], take(&limiters).await);
    let other = Owner::token("other");
    assert_eq!(
        limiter.complete(&other, it.id, &answer(429)),
        Err(UnknownPermit)
    );
    assert_eq!(limiter.give_back(&other, it.id), Err(UnknownPermit));
    assert_eq!(
        limiter.renew(&other, it.id),
        Err(NotExtended::Unknown(UnknownPermit))
    );
    assert_eq!(complete(&limiters, PermitId::random()), Err(UnknownPermit));
    assert_eq!(renew(&limiters, it.id), Ok(Permit::LEASE));
}

#[tokio::test]
async fn who_leaves_while_waiting_holds_nothing() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let limiter = &limiters.all()[0];
    let mut running = Vec::new();
    for _ in 0..5 {
        running.push(take(&limiters).await.id);
    }
    let waits = limiter.hand_out(Owner::OPEN, ask(), Duration::from_secs(60));
    assert!(tokio::time::timeout(NEARLY, waits).await.is_err());
    complete(&limiters, running[0]).unwrap();
    let shard = limiter.inner.shards.of(&ask().call.app);
    let core = limiter.inner.shards.lock(shard);
    assert_eq!(core.engine.leases().count(), 4);
    let now = limiter.inner.clock.now();
    assert_eq!(core.outside.lock().of(shard, now).len(), 5);
}

#[tokio::test]
async fn permits_outside_are_bounded_and_the_gateway_s_go_on() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let limiter = &limiters.all()[0];
    let expires_at = limiter.inner.clock.now().plus_ms(60_000);
    for number in 0..RUNNING_MAX as u64 {
        limiter.inner.outside.lock().insert(Handed {
            id: PermitId::random(),
            permit: spillway::Permit(1_000 + number),
            shard: 0,
            owner: Owner::OPEN,
            expires_at,
            ended: false,
        });
    }
    assert_eq!(
        limiter.hand_out(Owner::OPEN, ask(), NO_HOLD).await,
        Err(NotHandedOut::TooMany)
    );
    assert_eq!(used(&limiters), 0);
    limiter.acquire(&ask(), NO_HOLD).await.unwrap().complete();
    advance(Duration::from_secs(60)).await;
    take(&limiters).await;
}

#[tokio::test]
async fn permits_of_calls_that_run_together_are_written_together_before_they_are_told() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let journal = place.journal_of("app");
    let written = || std::fs::read_to_string(&journal).unwrap().lines().count();
    let before = written();
    let mut calls: Vec<_> = (0..5).map(|_| Box::pin(take(&limiters))).collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call).is_pending());
    }
    assert_eq!((written(), used(&limiters)), (before, 5));
    calls.remove(0).await;
    // Each has the line of its grant, and that of its name.
    assert_eq!(written(), before + 10);
    drop(calls);
    assert_eq!(used(&limiters), 1, "who leaves before gives back");
    kill(limiters);
    let limiters = place.open(Recovery::AssumeFull).await;
    assert_eq!(used(&limiters), 1);
}
