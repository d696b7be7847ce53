//! The wall clock is set while the limiter runs, and while it does not.

use super::*;
use crate::clock::tests::set_wall;

const HOURS: Duration = Duration::from_secs(2 * 3_600);

/// The true time moves on, and the wall clock shows something else: so far from it.
async fn pass(time: Duration, truth: &mut Duration, wrong_ms: i64) {
    advance(time).await;
    *truth += time;
    let truth_ms = i64::try_from(truth.as_millis()).unwrap();
    set_wall(truth_ms + wrong_ms);
}

/// A minute's calls, and not one more.
async fn spend_a_minute(limiters: &Limiters) {
    assert_eq!(go(limiters, 130).await, 120, "service goes on");
    let wait = wait(ask(limiters, "ana", NO_HOLD).await);
    assert!(wait > Duration::from_secs(50) && wait < MINUTE, "{wait:?}");
}

/// Case 32 [go-limiter#41]: the wall clock steps back two hours, then forward two; and,
/// while running, forward two and back.
#[tokio::test]
async fn steps_of_the_wall_clock_stop_nothing_and_refill_nothing_while_running() {
    let place = Place::new().await;
    let limiters = place.open(Recovery::AssumeFull).await;
    let (mut truth, back) = (Duration::ZERO, -2 * 3_600_000);
    for wrong_ms in [back, 0, -back, 0] {
        spend_a_minute(&limiters).await;
        let before = limiters.state(None, None, 1).unwrap().as_of;
        pass(Duration::ZERO, &mut truth, wrong_ms).await;
        // Whoever looks makes the server notice.
        let after = limiters.state(None, None, 1).unwrap().as_of;
        assert_ne!(before[..13], after[..13], "another hour is shown");
        assert_eq!(go(&limiters, 10).await, 0, "no free refill");
        // The hour's 400 allow three such minutes.
        pass(Duration::from_secs(1_300), &mut truth, wrong_ms).await;
    }
    spend_a_minute(&limiters).await;
}

/// Case 32, its second half: the server is killed before each step and started after it. A
/// clock that is ahead of the truth at a start cannot be told from a server that was down
/// for as long; it steps forward here to the truth, from behind.
#[tokio::test]
async fn steps_of_the_wall_clock_across_a_restart_stop_nothing_and_refill_nothing() {
    let place = Place::new().await;
    let mut limiters = place.open(Recovery::AssumeFull).await;
    let mut truth = Duration::ZERO;
    pass(HOURS, &mut truth, 0).await;
    for wrong_ms in [-2 * 3_600_000, 0] {
        spend_a_minute(&limiters).await;
        kill(limiters);
        set_wall(i64::try_from(truth.as_millis()).unwrap() + wrong_ms);
        limiters = place.open(Recovery::AssumeFull).await;
        assert_eq!(go(&limiters, 10).await, 0, "no free refill");
        pass(MINUTE, &mut truth, wrong_ms).await;
    }
    spend_a_minute(&limiters).await;
    assert_eq!(go(&limiters, 10).await, 0);
}
