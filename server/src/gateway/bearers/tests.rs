use futures_util::FutureExt as _;
use tokio::time::advance;

use super::*;

const REFUSED_FOR: Duration = Duration::from_secs(60);

fn ann() -> Claimed {
    ("app".to_owned(), "tenant".to_owned(), "ann".to_owned())
}

async fn turn(bearers: &Bearers, key: &str, hold_ms: u64) -> Result<Turn, NotNow> {
    let until = Instant::now() + Duration::from_millis(hold_ms);
    bearers.turn(key.to_owned(), ann(), until).await
}

#[tokio::test(start_paused = true)]
async fn of_bearers_that_claim_one_user_one_is_tried_at_a_time() {
    let bearers = Bearers::new(REFUSED_FOR);
    let first = turn(&bearers, "a", 0).await.unwrap();
    assert_eq!(turn(&bearers, "b", 0).await.unwrap_err(), NotNow::Busy);
    assert_eq!(turn(&bearers, "a", 1_000).await.unwrap_err(), NotNow::Busy);
    let mut other = ann();
    other.2 = "bob".to_owned();
    assert!(
        bearers
            .turn("b".to_owned(), other, Instant::now())
            .await
            .is_ok()
    );

    let mut waiting = Box::pin(turn(&bearers, "b", 5_000));
    assert!((&mut waiting).now_or_never().is_none());
    first.answered(StatusCode::OK);
    let second = waiting.await.unwrap();
    // The first is accepted, and waits for nobody any more.
    assert!(turn(&bearers, "a", 0).await.is_ok());
    assert_eq!(turn(&bearers, "c", 0).await.unwrap_err(), NotNow::Busy);
    drop((first, second));
    assert!(bearers.lock().lines.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_401_is_refused_for_60_s_accepted_before_or_not() {
    let bearers = Bearers::new(REFUSED_FOR);
    for before in [None, Some(StatusCode::OK)] {
        let tried = turn(&bearers, "a", 0).await.unwrap();
        if let Some(status) = before {
            tried.answered(status);
        }
        tried.answered(StatusCode::UNAUTHORIZED);
        assert!(tried.is_refused());
        assert_eq!(turn(&bearers, "a", 0).await.unwrap_err(), NotNow::Refused);
        assert!(turn(&bearers, "b", 0).await.is_ok(), "another one is tried");
        advance(REFUSED_FOR - Duration::from_millis(1)).await;
        assert_eq!(turn(&bearers, "a", 0).await.unwrap_err(), NotNow::Refused);
        advance(Duration::from_millis(1)).await;
        assert!(turn(&bearers, "a", 0).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_learns_that_its_bearer_was_refused() {
    let bearers = Bearers::new(REFUSED_FOR);
    let first = turn(&bearers, "a", 0).await.unwrap();
    let mut waiting = Box::pin(turn(&bearers, "a", 5_000));
    assert!((&mut waiting).now_or_never().is_none());
    first.answered(StatusCode::UNAUTHORIZED);
    assert_eq!(waiting.await.unwrap_err(), NotNow::Refused);
}

#[tokio::test(start_paused = true)]
async fn throttling_and_failures_say_nothing_of_a_bearer() {
    let bearers = Bearers::new(REFUSED_FOR);
    let tried = turn(&bearers, "a", 0).await.unwrap();
    for status in [429, 500, 503, 504] {
        tried.answered(StatusCode::from_u16(status).unwrap());
        assert_eq!(
            turn(&bearers, "b", 0).await.unwrap_err(),
            NotNow::Busy,
            "{status}"
        );
    }
    drop(tried);
    assert!(turn(&bearers, "b", 0).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_still_run_keeps_its_place_as_long_as_its_permit() {
    let bearers = Bearers::new(REFUSED_FOR);
    let tried = turn(&bearers, "a", 0).await.unwrap();
    tried.lingers();
    drop(tried);
    // The task that keeps it begins to.
    tokio::task::yield_now().await;
    advance(Permit::LEASE - Duration::from_millis(1)).await;
    assert_eq!(turn(&bearers, "b", 0).await.unwrap_err(), NotNow::Busy);
    assert!(turn(&bearers, "b", 2_000).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_full_memory_forgets_nobody_before_its_time() {
    let bearers = Bearers::bounded(REFUSED_FOR, 2);
    for key in ["a", "b", "c"] {
        turn(&bearers, key, 0)
            .await
            .unwrap()
            .answered(StatusCode::OK);
        let refused = turn(&bearers, &format!("forged-{key}"), 0).await.unwrap();
        refused.answered(StatusCode::UNAUTHORIZED);
    }
    let now = Instant::now();
    let standing = |key: &str| bearers.lock().standing(key, now);
    for key in ["a", "b"] {
        assert_eq!(
            standing(key),
            Standing::Accepted,
            "forgeries push nobody out"
        );
        assert_eq!(standing(&format!("forged-{key}")), Standing::Refused);
    }
    assert_eq!(standing("c"), Standing::Unknown);
    advance(ACCEPTED_FOR).await;
    turn(&bearers, "c", 0)
        .await
        .unwrap()
        .answered(StatusCode::OK);
    assert_eq!(
        bearers.lock().standing("c", Instant::now()),
        Standing::Accepted
    );
    assert_eq!(bearers.lock().accepted.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_whoever_stands_in_line_is_sent_away() {
    let bearers = Bearers::new(REFUSED_FOR);
    let first = turn(&bearers, "a", 0).await.unwrap();
    let mut waiting = Box::pin(turn(&bearers, "b", 60_000));
    assert!((&mut waiting).now_or_never().is_none());
    bearers.close();
    let waited = waiting.now_or_never().expect("told at once");
    assert_eq!(waited.unwrap_err(), NotNow::Closing);
    assert_eq!(
        turn(&bearers, "c", 60_000).await.unwrap_err(),
        NotNow::Closing
    );
    first.answered(StatusCode::OK);
    drop(first);
    assert!(bearers.lock().lines.is_empty());
}
