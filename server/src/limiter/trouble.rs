//! Which breakers stop calls, for those who tell somebody.

use jiff::Timestamp;
use spillway::{Instant, Stopped};

use super::{Inner, Limiter, shards::ShardIndex};

/// How many budgets are looked at while a shard is locked: a fraction of a millisecond.
const STEPS: usize = 1_024;

impl Limiter {
    /// What stops calls now: each workload's name, and which of its breakers. Takes its time: not
    /// for tasks that others wait for.
    #[must_use]
    pub fn trouble(&self) -> Vec<(String, Stopped)> {
        let inner = &self.inner;
        let mut all = vec![Stopped::default(); inner.workloads.len()];
        for shard in inner.shards.indices() {
            for (all, found) in all.iter_mut().zip(inner.trouble_of(shard)) {
                all.add(found);
            }
        }
        let names = inner.workloads.iter().map(|workload| workload.name.clone());
        names.zip(all).collect()
    }

    /// An instant of the engine's on the wall clock.
    #[must_use]
    pub fn timestamp(&self, at: Instant) -> Timestamp {
        self.inner.clock.timestamp(at)
    }
}

impl Inner {
    fn trouble_of(&self, shard: ShardIndex) -> Vec<Stopped> {
        let mut found = vec![Stopped::default(); self.workloads.len()];
        let mut next = Some(0);
        while let Some(first) = next {
            // Decisions go on between.
            let mut core = self.shards.lock(shard);
            let now = self.clock.now();
            next = core.engine.find_trouble(now, &mut found, first, STEPS);
        }
        found
    }
}
