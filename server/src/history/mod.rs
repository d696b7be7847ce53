//! What was: how full limits were, what became of the calls, and how breakers stood.
//!
//! Each workload is looked at every [`SAMPLE_EVERY`] by the same figures that Prometheus gets,
//! which name no user. What is seen goes into a [`Point`]; each [`Grade`] has points of its own
//! length, kept for its own time: 10 s for an hour, a minute for a day, an hour for 30 days. A
//! workload has at most [`POINTS_MAX`] points of at most [`POINT_BYTES_MAX`], 10 MB; some 2.5 MB
//! under the limits of `OneNote`.
//!
//! Points of all workloads and grades are written together when ten seconds are over, in one
//! transaction and by a task of its own: no call waits for it. They are written *to what is there*:
//! percentages and states by the worst, counts by their sum, which come to the same in whatever
//! parts they arrive. So nothing has to be read back at a start, and a clock that is set back
//! only adds to points that are there. Where nobody looked there is no point: a gap, not a zero.

mod coarser;
mod grade;
mod point;
mod recorder;
mod sample;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

pub use coarser::{coarser, gaps};
pub use grade::{Grade, Range};
pub use point::{
    LAYERS_MAX, LanePoint, LanePoints, LayerPoint, POINT_BYTES_MAX, Point, ScopeState, severity,
};
use recorder::Recorder;
use sample::Sampler;

use crate::{
    http::Shutdown,
    limiter::Limiters,
    store::{self, HistoryPlace, HistoryRow, Store},
};

/// How often is looked: often enough for what is full for a few seconds, and with 100,000 users
/// still below a hundredth of a core.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// The most points of one workload.
pub const POINTS_MAX: usize = 360 + 1_440 + 720;

/// The past of the limiters. Clones share it.
#[derive(Clone, Debug)]
pub struct History {
    store: Store,
    limiters: Arc<Limiters>,
}

/// What was recorded of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Where it begins: the first point that may be there, Unix milliseconds.
    pub from_ms: i64,
    /// Where it ends: until when it was asked.
    pub until_ms: i64,
    /// How long each point lasts, milliseconds.
    pub step_ms: i64,
    /// The points that there are and when each begins, the earliest first.
    pub points: Vec<(i64, Point)>,
}

impl History {
    /// The past of `limiters`, kept in `store`.
    #[must_use]
    pub fn new(store: Store, limiters: Arc<Limiters>) -> Self {
        Self { store, limiters }
    }

    /// What was recorded of a workload in `range` until `now_ms`. What is no point of ours is left
    /// out as if nobody had looked.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn past(
        &self,
        upstream: &str,
        workload: &str,
        range: Range,
        now_ms: i64,
    ) -> Result<Past, store::Error> {
        let grade = range.grade();
        let from_ms = grade.begin(now_ms - grade.kept_ms()) + grade.step_ms();
        let place = HistoryPlace { upstream, workload };
        let rows = self.store.history(place, grade.step_ms(), from_ms, now_ms);
        let points = rows.await?.into_iter().filter_map(|row| {
            let point = Point::read(&row.point)?;
            Some((row.at_ms, point))
        });
        Ok(Past {
            from_ms,
            until_ms: now_ms,
            step_ms: grade.step_ms(),
            points: points.collect(),
        })
    }

    /// Records until `shutdown` begins; what was seen until then is written at the end.
    pub async fn run(self, shutdown: Shutdown) {
        let (mut sampler, mut recorder) = (Sampler::default(), Recorder::default());
        let mut ticks = interval(SAMPLE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_over = false;
        while !is_over {
            tokio::select! {
                _ = ticks.tick() => {}
                () = shutdown.begun() => is_over = true,
            }
            let now_ms = Timestamp::now().as_millisecond();
            for seen in self.look(&mut sampler).await {
                recorder.add(now_ms, seen.upstream, seen.workload, seen.point);
            }
            if is_over || recorder.is_due(now_ms) {
                self.write(&mut recorder, now_ms).await;
            }
        }
    }

    /// What is seen now, off the runtime's threads: it takes its time.
    async fn look(&self, sampler: &mut Sampler) -> Vec<sample::Seen> {
        let limiters = Arc::clone(&self.limiters);
        let figures = spawn_blocking(move || {
            let all = limiters.all().iter();
            all.map(|it| (it.figures(), it.take_reported()))
                .collect::<Vec<_>>()
        });
        match figures.await {
            Ok(figures) => sampler.samples(&figures),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "nobody could look for the history");
                Vec::new()
            }
        }
    }

    /// Writes what there is to write, and forgets what is too old. What cannot be written is kept
    /// for the next time, within a bound.
    async fn write(&self, recorder: &mut Recorder, now_ms: i64) {
        let rows: Vec<_> = recorder.rows().collect();
        let keep = Grade::ALL.map(|grade| grade.keep(now_ms));
        match self.store.add_history(&rows, &keep, merged).await {
            Ok(()) => recorder.written(),
            Err(error) => {
                recorder.bound(now_ms);
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "the history is not written; it is tried again");
            }
        }
    }
}

/// What is written where `old` is there and `new` came. What is no point of ours gives way.
fn merged(old: Option<&str>, new: &HistoryRow) -> Option<String> {
    let mut point = Point::read(&new.point)?;
    if let Some(old) = old.and_then(Point::read) {
        point.merge(&old);
    }
    point.written()
}

#[cfg(test)]
mod tests;
