//! When the parts that were throttled may come back.
//!
//! It is told with the one answer and counted from then: others of its parts may have taken
//! a while since the first was known to fail.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    super::{readmission::next_room, retry::stay_away},
    answer::Answer,
    run::{Answered, Job},
};

/// What is known of each part.
#[derive(Debug)]
pub(super) struct Waits(Vec<Known>);

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// When it may come back, as its last answer has it.
    at: Option<Instant>,
    /// Whether it is the limiter's word, which keeps a place for it until then.
    has_place: bool,
}

impl Waits {
    /// Nothing yet, of so many parts.
    pub(super) fn of(parts: usize) -> Self {
        Self(vec![Known::default(); parts])
    }

    /// The upstream answered a part, and told it to wait or not.
    pub(super) fn told(&mut self, part: usize, now: Instant, wait: Option<Duration>) {
        self.0[part] = Known {
            at: wait.map(|wait| now + wait),
            has_place: false,
        };
    }

    /// The gateway answered a part itself, and perhaps told it to wait.
    pub(super) fn says(&mut self, part: usize, own: &Answer) {
        let told = own.signal(0).retry_after_ms.map(Duration::from_millis);
        let at = told.map(|told| Instant::now() + told);
        self.0[part].at = self.0[part].at.max(at);
    }

    /// The limiter has no room for a part until then.
    pub(super) fn has_place(&mut self, part: usize, at: Instant) {
        let known = &mut self.0[part];
        *known = Known {
            at: known.at.max(Some(at)),
            has_place: true,
        };
    }

    /// `Retry-After` of a part in whole seconds; `None`: its answer speaks of nothing that goes
    /// by itself.
    pub(super) async fn seconds(
        &self,
        job: &Job<'_>,
        part: usize,
        answered: &Answered,
    ) -> Option<u64> {
        let known = self.0[part];
        let now = Instant::now();
        let left = known.at.map(|at| at.saturating_duration_since(now));
        let least = stay_away(answered.status(), answered.verdict(), left)?;
        let ask = job.asks[part].as_ref();
        let room = match ask.filter(|_| !known.has_place) {
            Some(ask) => next_room(&job.upstream.limiter, ask).await,
            None => Duration::ZERO,
        };
        let dialect = ask.map_or_else(
            || job.upstream.dialect(),
            |ask| job.upstream.workload(ask.call.workload).1,
        );
        let retry_after = &job.gateway.retry_after;
        Some(retry_after.seconds(room.max(least), dialect.retry_after_s_max()))
    }
}
