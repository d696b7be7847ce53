//! The landed weight of one budget: logs, and a view on them for each rate layer.
//!
//! Layers whose buckets are equally wide share a log, kept for the longest of their windows;
//! each layer only keeps where its own window begins and what lies in it. So a policy can
//! change without losing a count.

use smallvec::SmallVec;

use crate::call::PerLane;
use crate::log::{Cursor, Landed, Log};
use crate::shape::{ScopeShape, ViewShape};
use crate::time::Instant;

/// Empty until something lands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    logs: SmallVec<[Log; 1]>,
    views: SmallVec<[View; 2]>,
}

/// What lies in one layer's window.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    begins: Cursor,
    weight: PerLane<u64>,
}

impl Counts {
    /// What counts in a view now, as of the last [`advance`](Self::advance).
    pub(crate) fn weight(&self, view: usize) -> PerLane<u64> {
        self.views
            .get(view)
            .map_or_else(PerLane::default, |view| view.weight)
    }

    /// Whether nothing counts.
    pub(crate) fn is_empty(&self) -> bool {
        self.views.iter().all(|view| view.weight.total() == 0)
    }

    /// From when on nothing counts any more, told without reading the logs.
    pub(crate) fn over_at(&self, shape: &ScopeShape) -> Instant {
        let views = self.views.iter().zip(&shape.views);
        let counting = views.filter(|(view, _)| view.weight.total() > 0);
        let over = counting.map(|(_, spec)| self.logs[spec.log].last().plus_ms(spec.span_ms));
        over.max().unwrap_or_default()
    }

    /// Whether nothing can count at `now`, told without reading the logs.
    pub(crate) fn is_over(&self, shape: &ScopeShape, now: Instant) -> bool {
        let mut views = self.views.iter().zip(&shape.views);
        views.all(|(view, spec)| {
            view.weight.total() == 0 || self.logs[spec.log].last().plus_ms(spec.span_ms) <= now
        })
    }

    /// Forgets what landed a full window before `now`.
    pub(crate) fn advance(&mut self, shape: &ScopeShape, now: Instant) {
        let mut moved = false;
        for (view, spec) in self.views.iter_mut().zip(&shape.views) {
            if view.weight.total() > 0 {
                moved |= view.advance(&self.logs[spec.log], spec.span_ms, now);
            }
        }
        if moved {
            self.trim(shape);
        }
    }

    /// Counts `weight` that ended at `at`, which is not before anything counted so far.
    pub(crate) fn land(&mut self, shape: &ScopeShape, at: Instant, weight: PerLane<u64>) {
        if weight.total() == 0 || shape.views.is_empty() {
            return;
        }
        if self.views.is_empty() {
            self.logs.resize(shape.logs.len(), Log::default());
            self.views.resize(shape.views.len(), View::default());
        }
        for (index, spec) in shape.logs.iter().enumerate() {
            let log = &mut self.logs[index];
            // Most calls land in the bucket of the one before, which something counts.
            if spec.is_of(at, log.last()) && log.merge(weight) {
                continue;
            }
            let at = spec.bucket_end(at);
            let mut views = self.views.iter_mut().zip(&shape.views);
            if views.all(|(view, of)| of.log != index || log.is_end(view.begins)) {
                let begin = log.clear(at);
                of_log(&mut self.views, &shape.views, index).for_each(|view| view.begins = begin);
            } else {
                let (end, log) = (log.end(at), &*log);
                of_log(&mut self.views, &shape.views, index)
                    .filter(|view| log.is_end(view.begins))
                    .for_each(|view| view.begins = end);
            }
            // `<=`: a restored bucket may end after a call that lands in the middle of it.
            if !(spec.is_coarse() && at <= log.last() && log.merge(weight)) {
                log.push(at, weight);
            }
        }
        self.views
            .iter_mut()
            .for_each(|view| view.weight.add(weight));
    }

    /// When enough is forgotten that `total` of all and `background` of the background's
    /// weight is gone; `None` if so much has not landed.
    pub(crate) fn forgets_at(
        &self,
        shape: &ScopeShape,
        view: usize,
        total: u64,
        background: u64,
    ) -> Option<Instant> {
        if total == 0 && background == 0 {
            return Some(Instant(0));
        }
        let (view, spec) = (self.views.get(view)?, shape.views[view]);
        if view.weight.total() < total || view.weight.background < background {
            return None;
        }
        let (mut cursor, mut gone) = (view.begins, PerLane::default());
        while let Some((landed, next)) = self.logs[spec.log].after(cursor) {
            gone.add(landed.weight);
            if gone.total() >= total && gone.background >= background {
                return Some(landed.at.plus_ms(spec.span_ms));
            }
            cursor = next;
        }
        None
    }

    /// What counts, by the longest window of each log, to be written down.
    pub(crate) fn landed(&self, shape: &ScopeShape) -> Vec<(u64, Vec<Landed>)> {
        let logs = self.logs.iter().zip(&shape.logs).enumerate();
        let landed = logs.map(|(index, (log, spec))| {
            let views = self.views.iter().zip(&shape.views);
            let of_log = views.filter(|(view, of)| of.log == index && view.weight.total() > 0);
            let oldest = of_log.max_by_key(|(_, of)| of.span_ms);
            let mut cursor = oldest.map(|(view, _)| view.begins);
            let entries = std::iter::from_fn(|| {
                let (landed, next) = log.after(cursor?)?;
                cursor = Some(next);
                Some(landed)
            });
            (spec.window_ms, entries.collect::<Vec<_>>())
        });
        // An empty log beside a full one says that what the other holds is too old for it.
        if self.is_empty() {
            return Vec::new();
        }
        landed.collect()
    }

    /// Counts that were written down, perhaps under another policy: each log from the
    /// shortest written one that covers it, else from the longest.
    pub(crate) fn restored(
        shape: &ScopeShape,
        landed: &[(u64, Vec<Landed>)],
        now: Instant,
    ) -> Self {
        let mut counts = Self::default();
        if shape.views.is_empty() || landed.is_empty() {
            return counts;
        }
        counts.logs.resize(shape.logs.len(), Log::default());
        counts.views.resize(shape.views.len(), View::default());
        for (index, spec) in shape.logs.iter().enumerate() {
            let covering = landed
                .iter()
                .filter(|(window_ms, _)| *window_ms >= spec.window_ms);
            let longest = || landed.iter().max_by_key(|(window_ms, _)| *window_ms);
            let source = covering
                .min_by_key(|(window_ms, _)| *window_ms)
                .or_else(longest);
            let Some((_, entries)) = source else { continue };
            let log = &mut counts.logs[index];
            let begins = log.clear(
                entries
                    .iter()
                    .find(|entry| entry.weight.total() > 0)
                    .map_or(now, |first| spec.bucket_end(first.at)),
            );
            let mut weight = PerLane::default();
            for entry in entries.iter().filter(|entry| entry.weight.total() > 0) {
                let at = spec.bucket_end(entry.at);
                weight.add(entry.weight);
                if !(spec.is_coarse() && at <= log.last() && log.merge(entry.weight)) {
                    log.push(at, entry.weight);
                }
            }
            let restored = View { begins, weight };
            of_log(&mut counts.views, &shape.views, index).for_each(|view| *view = restored);
        }
        counts.advance(shape, now);
        counts
    }

    fn trim(&mut self, shape: &ScopeShape) {
        for (index, log) in self.logs.iter_mut().enumerate() {
            let views = of_log(&mut self.views, &shape.views, index);
            // A view in which nothing counts may stand anywhere; it is set when something lands.
            let Some(oldest) = views
                .map(|view| view.begins)
                .min_by_key(|begins| begins.position())
            else {
                continue;
            };
            let by = log.trim(oldest);
            of_log(&mut self.views, &shape.views, index)
                .for_each(|view| view.begins = view.begins.moved(by));
        }
    }
}

impl View {
    /// True if anything was forgotten.
    fn advance(&mut self, log: &Log, span_ms: u64, now: Instant) -> bool {
        let before = self.begins;
        while self.begins.at().plus_ms(span_ms) <= now
            && let Some((landed, next)) = log.after(self.begins)
        {
            self.weight.take(landed.weight);
            self.begins = next;
        }
        self.begins != before
    }
}

fn of_log<'a>(
    views: &'a mut [View],
    shapes: &'a [ViewShape],
    log: usize,
) -> impl Iterator<Item = &'a mut View> {
    let views = views.iter_mut().zip(shapes);
    views.filter_map(move |(view, of)| (of.log == log).then_some(view))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Lane, Scope};
    use crate::policy::{Dimension, Layer, Policy, Share};
    use crate::shape::{Shape, stretched_ms};

    fn shape(layers: &[(u64, u32)]) -> Shape {
        let layers = layers.iter().map(|(window_ms, limit)| {
            let dimension = Dimension::Rate {
                window_ms: *window_ms,
            };
            Layer::new(Scope::User, dimension, *limit).unwrap()
        });
        Shape::of(&Policy::new(layers.collect(), Share::HALF).unwrap())
    }

    fn weighing(lane: Lane, weight: u64) -> PerLane<u64> {
        let mut landed = PerLane::default();
        *landed.get_mut(lane) = weight;
        landed
    }

    fn land(counts: &mut Counts, shape: &Shape, at_ms: u64, weight: u64) {
        let shape = shape.at(Scope::User);
        counts.advance(shape, Instant(at_ms));
        counts.land(shape, Instant(at_ms), weighing(Lane::Foreground, weight));
    }

    #[test]
    fn an_exact_window_forgets_a_call_one_stretched_window_after_it_ended() {
        let shape = shape(&[(60_000, 120), (1_000, 50)]);
        let mut counts = Counts::default();
        land(&mut counts, &shape, 5_000, 2);
        let user = shape.at(Scope::User);
        counts.advance(user, Instant(65_030));
        assert_eq!([0, 1].map(|view| counts.weight(view).total()), [2, 0]);
        assert!(!counts.is_over(user, Instant(65_030)) && counts.is_over(user, Instant(65_031)));
        counts.advance(user, Instant(65_031));
        assert!(counts.is_empty());
    }

    #[test]
    fn a_bucket_lives_until_its_end_and_a_window() {
        let shape = shape(&[(120_000, 10_000)]);
        let mut counts = Counts::default();
        land(&mut counts, &shape, 1_500, 1);
        land(&mut counts, &shape, 2_000, 1);
        land(&mut counts, &shape, 2_001, 1);
        let user = shape.at(Scope::User);
        assert_eq!(counts.landed(user)[0].1.len(), 2);
        counts.advance(user, Instant(2_000 + stretched_ms(120_000) - 1));
        assert_eq!(counts.weight(0).total(), 3);
        counts.advance(user, Instant(2_000 + stretched_ms(120_000)));
        assert_eq!(counts.weight(0).total(), 1);
    }

    #[test]
    fn it_tells_when_enough_is_forgotten() {
        let shape = shape(&[(1_000, 10)]);
        let user = shape.at(Scope::User);
        let mut counts = Counts::default();
        land(&mut counts, &shape, 10, 1);
        counts.land(user, Instant(20), weighing(Lane::Background, 2));
        let gone = |total, background| counts.forgets_at(user, 0, total, background);
        assert_eq!(gone(1, 0), Some(Instant(10).plus_ms(stretched_ms(1_000))));
        assert_eq!(gone(1, 1), Some(Instant(20).plus_ms(stretched_ms(1_000))));
        assert_eq!((gone(4, 0), gone(1, 3)), (None, None));
    }

    #[test]
    fn long_use_keeps_the_log_short() {
        let shape = shape(&[(1_000, 100), (10_000, 400)]);
        let mut counts = Counts::default();
        for n in 0..100_000 {
            land(&mut counts, &shape, n * 50, 1);
        }
        let user = shape.at(Scope::User);
        assert_eq!([0, 1].map(|view| counts.weight(view).total()), [21, 201]);
        assert!(counts.logs[0].room() < 2_000, "{}", counts.logs[0].room());
        assert_eq!(counts.landed(user)[0].1.len(), 201);
    }

    #[test]
    fn a_changed_policy_keeps_what_it_can_and_never_counts_less() {
        let old = shape(&[(60_000, 120), (3_600_000, 800)]);
        let mut counts = Counts::default();
        for n in 0..100 {
            land(&mut counts, &old, n * 1_000, 1);
        }
        let now = Instant(99_000);
        let written = counts.landed(old.at(Scope::User));
        for layers in [
            &[(30_000, 120)][..],
            &[(60_000, 60)],
            &[(3_600_000, 400), (60_000, 900)],
        ] {
            let new = shape(layers);
            let new = new.at(Scope::User);
            let changed = Counts::restored(new, &written, now);
            for (view, (window_ms, _)) in layers.iter().enumerate() {
                let exact = 100.min(stretched_ms(*window_ms).div_ceil(1_000));
                let counted = changed.weight(view).total();
                assert!(
                    (exact..=100).contains(&counted),
                    "{layers:?} {view}: {counted} of {exact}"
                );
            }
        }
    }
}
