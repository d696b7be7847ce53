//! What machines read of the limiters: figures that name no user, tenant or app.
//!
//! Calls in flight and budgets are looked at [`STEPS`] at a time, and decisions go on between.

use std::{sync::atomic::Ordering, time::Duration};

use spillway::{Survey, SurveyStep};

use super::shards::ShardIndex;
use super::tally::Tally;
use super::{Inner, Limiter};

/// How many calls or budgets are looked at while a shard is locked: a fraction of a millisecond.
const STEPS: usize = 1_024;

/// What one upstream's limiter adds up to.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The upstream's name.
    pub name: String,
    /// Everything that has limits; the last may be the upstream's own.
    pub workloads: Vec<WorkloadFigures>,
    /// How many user keys hold counts or leases.
    pub users: u64,
    /// How many permits outside have neither ended nor expired.
    pub permits_out: u64,
    /// How many permits outside have expired since the start.
    pub permits_expired: u64,
    /// The length of the journals.
    pub journal_bytes: u64,
    /// How long ago the oldest line was written that is not synced.
    pub journal_unsynced: Duration,
    /// How often the counters could not be brought to disk since the start.
    pub journal_errors: u64,
    /// Whether grants can be written down.
    pub writable: bool,
}

/// How one upstream's journals are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalHealth {
    /// Whether grants can be written down.
    pub is_writable: bool,
    /// How long ago the oldest line was written that is not synced.
    pub unsynced: Duration,
    /// How often the counters could not be brought to disk since the start.
    pub errors: u64,
}

/// What one workload adds up to.
#[derive(Clone, Debug)]
pub struct WorkloadFigures {
    /// Its name.
    pub name: String,
    /// Its budgets and queues.
    pub survey: Survey,
    /// What became of its calls.
    pub tally: Tally,
}

impl Limiter {
    /// What it adds up to now. Takes its time: not for tasks that others wait for.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let inner = &self.inner;
        let mut workloads: Vec<_> = inner
            .workloads
            .iter()
            .map(|workload| WorkloadFigures {
                name: workload.name.clone(),
                survey: Survey::default(),
                tally: Tally::default(),
            })
            .collect();
        for shard in inner.shards.indices() {
            inner.survey(shard, &mut workloads);
        }
        let (permits_out, permits_expired) = inner.outside.lock().counts(inner.clock.now());
        let journals = inner.shards.journals();
        let health = self.journal_health();
        Figures {
            name: inner.name.clone(),
            workloads,
            users: inner.shards.users() as u64,
            permits_out: permits_out as u64,
            permits_expired,
            journal_bytes: journals.iter().map(super::journal::Journal::bytes).sum(),
            journal_unsynced: health.unsynced,
            journal_errors: health.errors,
            writable: health.is_writable,
        }
    }
}

impl Limiter {
    /// How its journals are.
    #[must_use]
    pub fn journal_health(&self) -> JournalHealth {
        let journals = self.inner.shards.journals();
        let unsynced = journals
            .iter()
            .filter_map(super::journal::Journal::unsynced);
        JournalHealth {
            is_writable: self.ready().is_ok(),
            unsynced: unsynced.max().unwrap_or_default(),
            errors: self.inner.keeping_errors.load(Ordering::Relaxed),
        }
    }

    /// The most that the upstream reported of a limit since this was last asked, per mille, of each
    /// workload. For one asker alone.
    pub(crate) fn take_reported(&self) -> Vec<Option<u32>> {
        let mut reported = vec![None; self.inner.workloads.len()];
        for mut core in self.inner.shards.each() {
            for (most, tally) in reported.iter_mut().zip(&mut core.tallies) {
                *most = tally.take_reported().max(*most);
            }
        }
        reported
    }
}

impl Inner {
    fn survey(&self, shard: ShardIndex, workloads: &mut [WorkloadFigures]) {
        let mut surveys = {
            let mut core = self.shards.lock(shard);
            for (workload, tally) in workloads.iter_mut().zip(&core.tallies) {
                workload.tally.add(tally);
            }
            core.engine.survey(self.clock.now())
        };
        let mut next = Some(SurveyStep::FIRST);
        while let Some(from) = next {
            let mut core = self.shards.lock(shard);
            let now = self.clock.now();
            next = core.engine.survey_more(&mut surveys, now, from, STEPS);
        }
        for (workload, survey) in workloads.iter_mut().zip(&surveys) {
            workload.survey.add(survey);
        }
    }
}
