//! A preview, as the editor shows it.

use spillway::{Dimension, PerLane, Policy, Scope};
use spillway_app::{Lane, Trial};

use super::shown::digest;
use crate::{
    chart::{Lines, Paint, Point, Series, Span, Style, Unit, lines},
    limiter::{Preview, Slice, Tried},
    policy::{Busy, Place, Policies, words},
};

/// Tries `policy` on what called lately.
pub(super) async fn of(
    policies: &Policies,
    place: &Place<'_>,
    policy: Policy,
) -> Result<Trial, Busy> {
    let tried = digest(&policy);
    let now = place.limiter.policy(place.workload);
    let notes = now.map_or_else(Vec::new, |now| notes(&now, &policy));
    let preview = policies.preview(place, policy).await?;
    let both = |lanes: &PerLane<Tried>| lane(&sum(lanes));
    let (current, changed) = (&preview.current, &preview.changed);
    let lanes = [
        (
            "Foreground",
            lane(&current.foreground),
            lane(&changed.foreground),
        ),
        (
            "Background",
            lane(&current.background),
            lane(&changed.background),
        ),
        ("Both", both(current), both(changed)),
    ];
    let instant = |at: jiff::Timestamp| format!("{at:.0}");
    Ok(Trial {
        says: preview.to_string(),
        between: preview
            .from
            .zip(preview.until)
            .map(|(from, until)| (instant(from), instant(until))),
        lanes: lanes.to_vec(),
        notes,
        tried,
        chart: chart(&preview),
    })
}

/// Refusals over time, as they are and as they would be.
fn chart(preview: &Preview) -> Option<String> {
    let (from, until) = preview.from.zip(preview.until)?;
    let span = Span::new(from.as_millisecond(), until.as_millisecond())?;
    let points = |of: fn(&Slice) -> u64| {
        let points = preview.refused.iter().map(|slice| Point {
            at_ms: slice.at.as_millisecond(),
            value: u32::try_from(of(slice)).ok().map(f64::from),
        });
        points.collect()
    };
    let series = vec![
        Series {
            paint: Paint::Near,
            style: Style::Area,
            points: points(|slice| slice.changed),
        },
        Series {
            paint: Paint::Fore,
            style: Style::Line,
            points: points(|slice| slice.current),
        },
    ];
    let drawn = lines(&Lines {
        title: "Refused calls over time",
        description: &preview.to_string(),
        span,
        unit: Unit::Count,
        series,
        gaps: Vec::new(),
    });
    match drawn {
        Ok(drawn) => Some(drawn),
        Err(error) => {
            // The table says the same.
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "a preview has no chart");
            None
        }
    }
}

fn lane(tried: &Tried) -> Lane {
    Lane {
        asked: tried.asked,
        refused: tried.refused,
        waited: tried.waited,
        wait_ms_max: tried.wait_ms_max,
    }
}

fn sum(lanes: &PerLane<Tried>) -> Tried {
    let (a, b) = (&lanes.foreground, &lanes.background);
    Tried {
        asked: a.asked + b.asked,
        refused: a.refused + b.refused,
        waited: a.waited + b.waited,
        wait_ms_max: a.wait_ms_max.max(b.wait_ms_max),
    }
}

/// What happens when they are put in force and no preview can try: what ended before the longest
/// window until now was not kept.
fn notes(now: &Policy, changed: &Policy) -> Vec<String> {
    let longest = |scope: Scope| {
        let windows = now.layers_at(scope).filter_map(|it| window(it.dimension()));
        windows.max().unwrap_or(0)
    };
    let longer = changed.layers().iter().filter_map(|layer| {
        let window_ms = window(layer.dimension())?;
        (window_ms > longest(layer.scope())).then(|| {
            let what = words::limited(layer.scope(), layer.dimension());
            let span = words::span(window_ms);
            format!(
                "\u{201c}{what}\u{201d} looks further back than any limit there until now: what \
                 ended before was not kept, so it is sure from {span} after the change on."
            )
        })
    });
    longer.collect()
}

const fn window(dimension: Dimension) -> Option<u64> {
    match dimension {
        Dimension::Rate { window_ms } => Some(window_ms),
        Dimension::Concurrency => None,
    }
}

#[cfg(test)]
mod tests {
    use spillway::{Layer, policy::Share};

    use super::*;

    #[test]
    fn a_longer_window_is_said_and_a_shorter_one_is_not() {
        let policy = |window_ms| {
            let rate = Dimension::Rate { window_ms };
            let layer = Layer::new(Scope::User, rate, 5).unwrap();
            Policy::new(vec![layer], Share::HALF).unwrap()
        };
        let said = notes(&policy(30_000), &policy(60_000));
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("each user, calls in 1 min"), "{said:?}");
        assert!(notes(&policy(60_000), &policy(30_000)).is_empty());
        assert!(notes(&policy(60_000), &policy(60_000)).is_empty());
    }
}
