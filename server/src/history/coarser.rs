//! Fewer points for the same time, and the time without any.

use std::collections::BTreeMap;

use super::{Past, Point};

/// The same past in points of `step_ms`, which is a multiple of its own. Where only some of a
/// point was recorded there is one; where nothing was, none.
#[must_use]
pub fn coarser(past: &Past, step_ms: i64) -> Past {
    let step_ms = step_ms.max(past.step_ms).max(1);
    let mut points: BTreeMap<_, Point> = BTreeMap::new();
    for (at_ms, point) in &past.points {
        let begin = at_ms.div_euclid(step_ms) * step_ms;
        points.entry(begin).or_default().merge(point);
    }
    Past {
        from_ms: past.from_ms.div_euclid(step_ms) * step_ms,
        until_ms: past.until_ms,
        step_ms,
        points: points.into_iter().collect(),
    }
}

/// When nothing was recorded: from and until, the earliest first. Time that is not over, the last
/// point's, is none of them.
#[must_use]
pub fn gaps(past: &Past) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut until = past.from_ms;
    // The point that runs now is written when it is over.
    let end = past.until_ms - past.step_ms;
    for at_ms in past.points.iter().map(|(at_ms, _)| *at_ms).chain([end]) {
        if until + past.step_ms <= at_ms {
            gaps.push((until, at_ms));
        }
        until = until.max(at_ms + past.step_ms);
    }
    gaps
}
