use spillway_app::live::BreakerState;

use super::*;
use crate::history::{LanePoint, ScopeState};

/// 2026-12-01T06:00:00Z.
const SIX: i64 = 1_796_104_800_000;

/// An hour of which only two stretches were recorded.
fn past() -> Past {
    let point = |n: i64| {
        let mut point = Point {
            samples: 2,
            breakers: vec![ScopeState {
                scope: Scope::App,
                state: if n < 30 {
                    BreakerState::Closed
                } else {
                    BreakerState::Open
                },
            }],
            ..Point::default()
        };
        point.lanes.foreground = LanePoint {
            admitted: 5,
            ..LanePoint::default()
        };
        (SIX + n * 10_000, point)
    };
    Past {
        from_ms: SIX,
        until_ms: SIX + 3_600_000,
        step_ms: 10_000,
        points: (0..60).chain(180..240).map(point).collect(),
    }
}

fn titled<'a>(charts: &'a Charts, title: &str) -> &'a Figure {
    let found = charts.figures.iter().find(|it| it.title.starts_with(title));
    found.unwrap()
}

/// What a table says of a minute of the hour; the newest is on top, and the last has just begun.
fn told(figure: &Figure, minute: usize, column: usize) -> &str {
    &figure.rows[60 - minute].1[column]
}

#[test]
fn counts_are_told_a_minute_and_time_without_them_is_shaded_and_a_dash() {
    let charts = charts(Ok(past()), Range::Hour);
    assert!(charts.has_gaps && charts.note.is_none());
    let calls = titled(&charts, "Calls");
    assert_eq!(calls.head[..3], ["From", "Background", "Foreground"]);
    assert_eq!(calls.rows.len(), 61);
    assert_eq!(calls.rows[60].0, "2026-12-01T06:00:00Z");
    assert_eq!((told(calls, 1, 1), told(calls, 20, 1)), ("30", NOTHING));
    let shaded = calls.svg.matches("fill=\"var(--track)\"").count();
    assert_eq!(shaded, 2);
    let said = "Foreground 30 at most, 30 last";
    assert!(calls.svg.contains(said), "{}", calls.svg);
}

#[test]
fn breakers_are_told_by_their_worst_state() {
    let charts = charts(Ok(past()), Range::Hour);
    let breakers = titled(&charts, "Breakers");
    let states = [1, 8, 20].map(|minute| told(breakers, minute, 0));
    assert_eq!(states, ["Closed", "Open", NOTHING]);
    assert!(breakers.svg.contains("App: at worst open."));
}

#[test]
fn without_anything_recorded_it_is_said_why() {
    let empty = Past {
        points: vec![],
        ..past()
    };
    let charts = charts(Ok(empty), Range::Month);
    assert!(charts.figures.is_empty());
    assert!(charts.note.is_some_and(|note| note.contains("ten seconds")));
}
