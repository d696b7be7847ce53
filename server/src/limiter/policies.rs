//! Limits that change while calls run and wait.

use std::sync::{MutexGuard, PoisonError};

use spillway::Policy;

use super::{Inner, Limiter, WorkloadIndex};

impl Limiter {
    /// Which version of a workload's limits is in force; `None`: there is no such workload.
    #[must_use]
    pub fn policy_version(&self, workload: WorkloadIndex) -> Option<i64> {
        self.inner.versions().get(workload).copied()
    }

    /// The limits in force; `None`: there is no such workload.
    #[must_use]
    pub fn policy(&self, workload: WorkloadIndex) -> Option<Policy> {
        let first = self.inner.shards.indices().next()?;
        self.inner
            .with(first, |core, _| core.engine.policy(workload).cloned())
    }

    /// Puts `version` of a workload's limits in force, unless it is, or a later one. Permits that
    /// are out stay, what was counted counts; calls that wait and fit now go, and those that
    /// never will are refused.
    ///
    /// One shard after the other: no budget crosses shards, so each app meets either the old
    /// limits or the new ones, and no shard waits for another's recount. It holds each shard's
    /// lock for as long as counting its users anew takes, so call it where waiting is allowed.
    pub fn put_in_force(&self, workload: WorkloadIndex, version: i64, policy: &Policy) -> bool {
        // Held to the end: of two changes at once the later version stays.
        let mut versions = self.inner.versions();
        let Some(in_force) = versions.get_mut(workload).filter(|it| **it < version) else {
            return false;
        };
        for shard in self.inner.shards.indices() {
            self.inner.with(shard, |core, clock| {
                let policy = policy.clone();
                core.engine.change_policy(clock.now(), workload, policy);
            });
        }
        *in_force = version;
        true
    }
}

impl Inner {
    fn versions(&self) -> MutexGuard<'_, Vec<i64>> {
        let versions = self.versions.lock();
        versions.unwrap_or_else(PoisonError::into_inner)
    }
}
