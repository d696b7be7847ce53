//! What a preview says, held against what then happens, on the runtime's paused clock.

use std::time::Duration;

use spillway::{Layer, Preset};
use tokio::{
    task::JoinSet,
    time::{Instant as Time, sleep, sleep_until},
};

use super::*;
use crate::limiter::{
    Ask, Call, Limiters, Recovery,
    tests::{Place, kill},
};

/// One call of a schedule.
#[derive(Clone, Copy)]
struct Planned {
    at_ms: u64,
    user: u64,
    lane: Lane,
    hold_ms: u64,
    ran_ms: u64,
}

/// Ten minutes of some users, each at its own pace, the same each time.
fn plan() -> Vec<Planned> {
    let mut random = 7_u64;
    let mut next = move |below: u64| {
        // Knuth's MMIX generator: its high bits are good enough for a schedule.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut planned = Vec::new();
    let mut at_ms = 0;
    while at_ms < 600_000 {
        at_ms += next(900);
        let background = next(3) == 0;
        planned.push(Planned {
            at_ms,
            user: next(8) * next(2),
            lane: if background {
                Lane::Background
            } else {
                Lane::Foreground
            },
            hold_ms: if background { 20_000 } else { next(3) * 1_000 },
            ran_ms: 200 + next(1_500),
        });
    }
    planned
}

fn halved(policy: &Policy) -> Policy {
    let half = |layer: &Layer| {
        Layer::new(layer.scope(), layer.dimension(), (layer.limit() / 2).max(1)).unwrap()
    };
    let layers = policy.layers().iter().map(half).collect();
    Policy::new(layers, policy.background_share()).unwrap()
}

/// Makes the calls, and says how many were refused in each lane.
async fn make(limiter: &Limiter, planned: &[Planned]) -> PerLane<u64> {
    let begun = Time::now();
    let mut callers = JoinSet::new();
    for call in planned.iter().copied() {
        let limiter = limiter.clone();
        callers.spawn(async move {
            sleep_until(begun + Duration::from_millis(call.at_ms)).await;
            let ask = Ask {
                call: Call {
                    workload: 0,
                    app: "app".into(),
                    tenant: "t".into(),
                    user: call.user.to_string(),
                    lane: call.lane,
                    weight: 1,
                },
                account: None,
            };
            match limiter
                .acquire(&ask, Duration::from_millis(call.hold_ms))
                .await
            {
                Ok(permit) => {
                    sleep(Duration::from_millis(call.ran_ms)).await;
                    permit.complete();
                    (call.lane, 0)
                }
                Err(_) => (call.lane, 1),
            }
        });
    }
    let mut refused = PerLane::default();
    while let Some(ended) = callers.join_next().await {
        let (lane, count) = ended.unwrap();
        *refused.get_mut(lane) += count;
    }
    refused
}

fn is_within_2_percent(predicted: u64, real: u64) -> bool {
    predicted.abs_diff(real) * 50 <= real
}

async fn open(place: &Place) -> Limiters {
    place.open(Recovery::AssumeFull).await
}

#[tokio::test]
async fn a_preview_of_halved_limits_says_what_then_happens() {
    let (planned, policy) = (plan(), Preset::OneNote.policy().unwrap());
    let halved = halved(&policy);
    let recorded = Place::new().await;
    let limiters = open(&recorded).await;
    let limiter = &limiters.all()[0];
    let before = make(limiter, &planned).await;
    let preview = limiter.preview(0, &halved);

    // A database is opened while time goes on.
    kill(limiters);
    let applied = Place::new().await;
    let limiters = open(&applied).await;
    let limiter = &limiters.all()[0];
    assert!(limiter.put_in_force(0, 2, &halved));
    let after = make(limiter, &planned).await;

    println!(
        "of {}: before {before:?}, after {after:?}, {preview:?}",
        planned.len()
    );
    for lane in [Lane::Foreground, Lane::Background] {
        let (before, after) = (*before.get(lane), *after.get(lane));
        assert!(
            after > before + 50,
            "halved limits refuse more: {before}, {after}"
        );
        assert_eq!(preview.really.get(lane).refused, before);
        assert!(
            is_within_2_percent(preview.current.get(lane).refused, before),
            "{preview:?}"
        );
        assert!(
            is_within_2_percent(preview.changed.get(lane).refused, after),
            "{preview:?}"
        );
        assert!(
            preview.changed.get(lane).wait_ms_max <= 20_000,
            "{preview:?}"
        );
    }
    let asked = preview.changed.foreground.asked + preview.changed.background.asked;
    assert_eq!(asked, planned.len() as u64);
    assert!(preview.changed.background.waited > 0);
    // The parts of the time add up.
    let parts = preview.refused.iter();
    let (current, changed) = parts.fold((0, 0), |(current, changed), part| {
        (current + part.current, changed + part.changed)
    });
    let all = |lanes: &PerLane<Tried>| lanes.foreground.refused + lanes.background.refused;
    assert_eq!(
        (current, changed),
        (all(&preview.current), all(&preview.changed))
    );
    assert_eq!(preview.refused.len(), SLICES);
}

#[tokio::test]
async fn without_calls_a_preview_says_so() {
    let place = Place::new().await;
    let limiters = open(&place).await;
    let preview = limiters.all()[0].preview(0, &Preset::OneNote.policy().unwrap());
    assert_eq!((preview.from, preview.changed), (None, PerLane::default()));
    let nowhere = limiters.all()[0].preview(99, &Preset::OneNote.policy().unwrap());
    assert_eq!(nowhere.from, None);
}

#[test]
fn it_is_said_in_a_sentence() {
    let outcome = |asked, refused, wait_ms_max| Tried {
        asked,
        refused,
        waited: 1,
        wait_ms_max,
    };
    let lanes = |refused| PerLane {
        foreground: outcome(200, refused, 1_250),
        background: outcome(140, 5 * refused, 19_849),
    };
    let mut preview = Preview {
        from: Some(Timestamp::UNIX_EPOCH),
        until: Some(Timestamp::UNIX_EPOCH),
        really: lanes(0),
        current: lanes(0),
        changed: lanes(2),
        refused: Vec::new(),
    };
    let expected = "would have refused 12 of 340 calls (now 0): foreground 2 of 200, longest \
        wait 1.2 s; background 10 of 140, longest wait 19.8 s";
    assert_eq!(preview.to_string(), expected);
    preview.from = None;
    assert!(preview.to_string().starts_with("nothing called"));
}
