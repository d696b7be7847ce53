//! What was seen and is not written yet.

use std::collections::BTreeMap;

use super::{Grade, Point};
use crate::store::HistoryRow;

/// Whose point, of which grade, and when it begins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    grade: Grade,
    at_ms: i64,
    upstream: String,
    workload: String,
}

/// What was seen and is not written yet: increments on what the database has.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    seen: BTreeMap<Slot, Point>,
    /// The begin of the finest point that is not over.
    running_ms: Option<i64>,
}

impl Recorder {
    /// Something was seen at `now_ms`.
    pub(super) fn add(&mut self, now_ms: i64, upstream: String, workload: String, point: Point) {
        self.running_ms.get_or_insert(Grade::Fine.begin(now_ms));
        for grade in Grade::ALL {
            let slot = Slot {
                grade,
                at_ms: grade.begin(now_ms),
                upstream: upstream.clone(),
                workload: workload.clone(),
            };
            self.seen.entry(slot).or_default().merge(&point);
        }
    }

    /// Whether the point is over that began with the first that is not written.
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        let end = self.running_ms.map(|begin| begin + Grade::Fine.step_ms());
        // Also where the clock was set back.
        end.is_some_and(|end| now_ms >= end || now_ms < end - 2 * Grade::Fine.step_ms())
    }

    /// What is to be written, a row each.
    pub(super) fn rows(&self) -> impl Iterator<Item = HistoryRow> {
        self.seen.iter().filter_map(|(slot, point)| {
            Some(HistoryRow {
                upstream: slot.upstream.clone(),
                workload: slot.workload.clone(),
                step_ms: slot.grade.step_ms(),
                at_ms: slot.at_ms,
                point: point.written()?,
            })
        })
    }

    /// It is written.
    pub(super) fn written(&mut self) {
        *self = Self::default();
    }

    /// Forgets what need not be written any more: as many points are left as are kept anyhow.
    pub(super) fn bound(&mut self, now_ms: i64) {
        self.running_ms = Some(Grade::Fine.begin(now_ms));
        self.seen.retain(|slot, _| {
            let kept = slot.grade.keep(now_ms);
            (kept.first_ms..=kept.last_ms).contains(&slot.at_ms)
        });
    }
}
