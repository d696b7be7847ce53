//! A running server takes up what others append.

use std::time::Duration;

use spillway::Policy;

use super::Policies;
use crate::{
    limiter::{Limiter, WorkloadIndex},
    store::{self, PolicyPlace, StoredPolicy},
};

/// How often the database is asked whether the command line, or another, changed limits.
pub const RELOAD_EVERY: Duration = Duration::from_millis(250);

impl Policies {
    /// Takes up what others change, for ever.
    pub async fn keep(self) {
        if self.file_rules {
            return;
        }
        let mut every = tokio::time::interval(RELOAD_EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut known, mut failing) = (None, false);
        loop {
            every.tick().await;
            match self.look(&mut known).await {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "limits that others change cannot be read");
                }
                Err(_) => {}
            }
        }
    }

    /// Looks whether there are other versions than those `known`, by their number.
    async fn look(&self, known: &mut Option<i64>) -> Result<(), store::Error> {
        let versions = self.store.policies_made().await?;
        if *known == Some(versions) {
            return Ok(());
        }
        for limiter in self.limiters.all() {
            for (workload, name) in limiter.limited().enumerate() {
                let place = PolicyPlace {
                    upstream: limiter.name(),
                    workload: name,
                };
                let newest = self.store.policy(place).await?;
                self.take_up(limiter, workload, newest.as_ref()).await;
            }
        }
        *known = Some(versions);
        Ok(())
    }

    /// Puts a version in force, unless it is already, or a later one.
    pub(super) async fn take_up(
        &self,
        limiter: &Limiter,
        workload: WorkloadIndex,
        stored: Option<&StoredPolicy>,
    ) {
        let Some(stored) = stored else { return };
        if limiter.policy_version(workload) >= Some(stored.version) {
            return;
        }
        let (name, version) = (limiter.limited().nth(workload), stored.version);
        let policy: Policy = match serde_json::from_str(&stored.document) {
            Ok(policy) => policy,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(
                    upstream = limiter.name(),
                    workload = name,
                    version,
                    error,
                    "the limits in the database are illegal: those in force stay"
                );
                return;
            }
        };
        let in_force = {
            let limiter = limiter.clone();
            // It counts every user anew.
            tokio::task::spawn_blocking(move || limiter.put_in_force(workload, version, &policy))
        };
        if in_force.await.is_ok_and(|changed| changed) {
            tracing::info!(
                upstream = limiter.name(),
                workload = name,
                version,
                "other limits are in force"
            );
        }
    }
}
