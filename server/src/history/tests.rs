//! The history against a plain model: all that was seen, in one list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway_app::live::{BreakerState, Dimension, Scope};

use super::*;
use crate::store::HistoryKept;

/// 2026-12-01T06:00:00Z.
const SIX: i64 = 1_796_104_800_000;
const HOUR: i64 = 3_600_000;

const STATES: [BreakerState; 5] = [
    BreakerState::Closed,
    BreakerState::Soft,
    BreakerState::Recovering,
    BreakerState::HalfOpen,
    BreakerState::Open,
];

fn seen(used: u32, admitted: u64, state: BreakerState, reported: Option<u32>) -> Point {
    let mut point = Point::default();
    point.merge(&Point {
        samples: 1,
        layers: vec![LayerPoint {
            scope: Scope::App,
            dimension: Dimension::Rate,
            window_ms: Some(60_000),
            used_permille: used,
            used_background_permille: used / 2,
        }],
        reported_permille: reported,
        upstream_throttled: admitted / 3,
        lanes: LanePoints {
            foreground: LanePoint {
                admitted,
                waiting_max: admitted / 2,
                ..LanePoint::default()
            },
            background: LanePoint::default(),
        },
        breakers: vec![ScopeState {
            scope: Scope::User,
            state,
        }],
    });
    point
}

prop_compose! {
    fn looks()(
        looks in prop::collection::vec(
            (0_i64..3 * HOUR, 0_u32..1_200, 0_u64..50, 0_usize..5, prop::option::of(0_u32..900)),
            1..120,
        )
    ) -> Vec<(i64, Point)> {
        let mut looks: Vec<_> = looks
            .into_iter()
            .map(|(at, used, admitted, state, reported)| {
                (SIX + at, seen(used, admitted, STATES[state], reported))
            })
            .collect();
        looks.sort_by_key(|(at, _)| *at);
        looks
    }
}

/// What a point that begins at `begin` has to be, of all that was seen.
fn model(looks: &[(i64, Point)], begin: i64, step: i64) -> Option<Point> {
    let inside: Vec<_> = looks
        .iter()
        .filter(|(at, _)| (begin..begin + step).contains(at))
        .map(|(_, point)| point)
        .collect();
    let layer = |field: fn(&LayerPoint) -> u32| inside.iter().map(|it| field(&it.layers[0])).max();
    let sum = |field: fn(&Point) -> u64| inside.iter().map(|it| field(it)).sum::<u64>();
    let (first, lane) = (inside.first()?, |it: &Point| it.lanes.foreground);
    Some(Point {
        samples: inside.len() as u32,
        layers: vec![LayerPoint {
            used_permille: layer(|it| it.used_permille)?,
            used_background_permille: layer(|it| it.used_background_permille)?,
            ..first.layers[0]
        }],
        reported_permille: inside.iter().filter_map(|it| it.reported_permille).max(),
        upstream_throttled: sum(|it| it.upstream_throttled),
        lanes: LanePoints {
            foreground: LanePoint {
                admitted: sum(|it| it.lanes.foreground.admitted),
                waiting_max: inside.iter().map(|it| lane(it).waiting_max).max()?,
                ..LanePoint::default()
            },
            background: LanePoint::default(),
        },
        breakers: vec![ScopeState {
            scope: Scope::User,
            state: STATES[inside
                .iter()
                .map(|it| usize::from(severity(it.breakers[0].state)))
                .max()?],
        }],
    })
}

/// What the database would have, of what `recorder` writes at `now_ms`.
fn write(recorder: &mut Recorder, now_ms: i64, table: &mut BTreeMap<(i64, i64), String>) {
    for row in recorder.rows() {
        let slot = (row.step_ms, row.at_ms);
        let point = merged(table.get(&slot).map(String::as_str), &row).unwrap();
        table.insert(slot, point);
    }
    recorder.written();
    for kept in Grade::ALL.map(|grade| grade.keep(now_ms)) {
        table.retain(|(step, at), _| {
            *step != kept.step_ms || (kept.first_ms..=kept.last_ms).contains(at)
        });
    }
}

proptest! {
    /// Whenever it is written, and however often: what is kept is what was seen.
    #[test]
    fn what_is_kept_is_what_was_seen(
        looks in looks(),
        writes in prop::collection::vec(any::<bool>(), 120),
    ) {
        let (mut recorder, mut table) = (Recorder::default(), BTreeMap::new());
        for ((at, point), writes) in looks.iter().zip(writes) {
            recorder.add(*at, "graph".to_owned(), "onenote".to_owned(), point.clone());
            if writes {
                write(&mut recorder, *at, &mut table);
            }
        }
        let now = looks.last().unwrap().0;
        write(&mut recorder, now, &mut table);
        for grade in Grade::ALL {
            let kept = grade.keep(now);
            let begins = (kept.first_ms..=kept.last_ms).step_by(grade.step_ms() as usize);
            let mut points = 0;
            for begin in begins {
                let stored = table.get(&(grade.step_ms(), begin)).map(|text| Point::read(text).unwrap());
                prop_assert_eq!(&stored, &model(&looks, begin, grade.step_ms()), "{:?} {}", grade, begin);
                points += usize::from(stored.is_some());
            }
            let all = table.keys().filter(|(step, _)| *step == grade.step_ms()).count();
            prop_assert_eq!(all, points, "none is kept beyond its time");
        }
    }

    /// Fewer points are what longer ones would have been, and gaps are where there is none.
    #[test]
    fn coarser_points_are_what_was_seen(looks in looks(), times in 1_i64..50) {
        let fine = |begin: i64| Some((begin, model(&looks, begin, 10_000)?));
        let past = Past {
            from_ms: SIX,
            until_ms: SIX + 3 * HOUR,
            step_ms: 10_000,
            points: (SIX..SIX + 3 * HOUR).step_by(10_000).filter_map(fine).collect(),
        };
        let step = 10_000 * times;
        let shown = coarser(&past, step);
        let first = SIX.div_euclid(step) * step;
        let coarse = |begin: i64| Some((begin, model(&looks, begin, step)?));
        let expected: Vec<_> = (first..SIX + 3 * HOUR).step_by(step as usize).filter_map(coarse).collect();
        prop_assert_eq!(&shown.points, &expected);
        let is_gap = |at: i64| gaps(&past).iter().any(|(from, until)| (*from..*until).contains(&at));
        // The last point's time is not over.
        for begin in (SIX..SIX + 3 * HOUR - 10_000).step_by(10_000) {
            prop_assert_eq!(is_gap(begin), fine(begin).is_none());
        }
    }
}

#[test]
fn the_longest_point_is_no_longer_than_it_may_be() {
    let lane = LanePoint {
        admitted: u64::MAX,
        held: u64::MAX,
        refused: u64::MAX,
        waiting_max: u64::MAX,
        in_flight_max: u64::MAX,
    };
    let layer = |n| LayerPoint {
        scope: Scope::Tenant,
        dimension: Dimension::Concurrency,
        window_ms: Some(spillway::policy::WINDOW_MS_MAX - n),
        used_permille: u32::MAX,
        used_background_permille: u32::MAX,
    };
    let scopes = [Scope::App, Scope::Tenant, Scope::User];
    let mut point = Point::default();
    point.merge(&Point {
        samples: u32::MAX,
        layers: (0..100).map(layer).collect(),
        reported_permille: Some(u32::MAX),
        upstream_throttled: u64::MAX,
        lanes: LanePoints {
            foreground: lane,
            background: lane,
        },
        breakers: scopes
            .map(|scope| ScopeState {
                scope,
                state: BreakerState::Recovering,
            })
            .to_vec(),
    });
    assert_eq!(point.layers.len(), LAYERS_MAX);
    let text = point.written().expect("it fits");
    assert_eq!(Point::read(&text), Some(point));
}

#[test]
fn there_are_as_many_points_as_is_said() {
    let points = |grade: Grade| {
        let kept = grade.keep(SIX);
        (kept.last_ms - kept.first_ms) / kept.step_ms + 1
    };
    let points: i64 = Grade::ALL.map(points).iter().sum();
    assert_eq!(points, POINTS_MAX as i64);
}

#[test]
fn what_cannot_be_written_is_kept_within_bounds() {
    let mut recorder = Recorder::default();
    // Two days without a database that writes.
    for at in (SIX..SIX + 48 * HOUR).step_by(5_000) {
        let point = seen(1, 1, BreakerState::Closed, None);
        recorder.add(at, "graph".to_owned(), "onenote".to_owned(), point);
        if recorder.is_due(at) {
            recorder.bound(at);
        }
    }
    let rows = recorder.rows().count();
    assert!(rows <= 360 + 1_440 + 48, "{rows}");
}

#[test]
fn it_is_written_each_ten_seconds_and_when_the_clock_is_set_back() {
    let mut recorder = Recorder::default();
    assert!(!recorder.is_due(SIX));
    let point = seen(1, 1, BreakerState::Closed, None);
    recorder.add(SIX + 3_000, "graph".to_owned(), "onenote".to_owned(), point);
    assert!(!recorder.is_due(SIX + 9_999));
    assert!(recorder.is_due(SIX + 10_000));
    assert!(recorder.is_due(SIX - HOUR));
    recorder.written();
    assert!(!recorder.is_due(SIX + 20_000));
}

fn row(at_ms: i64, point: &str) -> HistoryRow {
    HistoryRow {
        upstream: "graph".to_owned(),
        workload: "onenote".to_owned(),
        step_ms: 10_000,
        at_ms,
        point: point.to_owned(),
    }
}

#[tokio::test]
async fn points_are_added_to_what_is_there_across_restarts_and_forgotten_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", dir.path().join("spillway.db").display());
    let store = Store::open(&url).await.unwrap();
    let one = seen(400, 2, BreakerState::Closed, None).written().unwrap();
    let two = seen(700, 3, BreakerState::Open, Some(90))
        .written()
        .unwrap();
    let keep = [Grade::Fine.keep(SIX + 1)];
    let add = |store: Store, rows: Vec<HistoryRow>, keep: [HistoryKept; 1]| async move {
        store.add_history(&rows, &keep, merged).await.unwrap();
    };
    add(
        store.clone(),
        vec![row(SIX, &one), row(SIX - HOUR, &one)],
        keep,
    )
    .await;
    store.close().await;
    let store = Store::open(&url).await.unwrap();
    // What somebody else wrote gives way, and is a gap until then.
    add(
        store.clone(),
        vec![row(SIX, &two), row(SIX - 10_000, "{}")],
        keep,
    )
    .await;
    let past = |store: Store| async move {
        let place = HistoryPlace {
            upstream: "graph",
            workload: "onenote",
        };
        store
            .history(place, 10_000, SIX - 2 * HOUR, SIX + HOUR)
            .await
            .unwrap()
    };
    let stored = past(store.clone()).await;
    assert_eq!(
        stored.len(),
        1,
        "the hour before is forgotten, and what is no point is not written"
    );
    let point = Point::read(&stored[0].point).unwrap();
    assert_eq!((point.samples, point.layers[0].used_permille), (2, 700));
    assert_eq!(
        (point.lanes.foreground.admitted, point.reported_permille),
        (5, Some(90))
    );
    assert_eq!(point.breakers[0].state, BreakerState::Open);
    add(store.clone(), vec![], [Grade::Fine.keep(SIX + 2 * HOUR)]).await;
    assert!(past(store.clone()).await.is_empty());
}
