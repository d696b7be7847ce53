//! One upstream as the gateway sees it.

use std::{sync::Arc, time::Duration};

use super::{
    bearer::KeySecret,
    connections::{Connections, RootsError},
    dialect::Dialect,
    identity::Reader,
};
use crate::{
    config::{self, WebAddress},
    limiter::{Limiter, WorkloadIndex},
};

/// Where calls go, who limits them, and how their callers are told.
pub(super) struct Upstream {
    /// Scheme, authority and the path's beginning of every call.
    pub(super) base: WebAddress,
    /// Whom calls are charged to.
    pub(super) identities: Reader,
    /// How long a call may be held.
    pub(super) hold_max: Duration,
    /// Who lets calls through.
    pub(super) limiter: Limiter,
    /// How calls get there.
    pub(super) connections: Arc<Connections>,
    workloads: Vec<(String, Dialect)>,
}

impl Upstream {
    pub(super) fn new(
        config: config::Upstream,
        limiter: Limiter,
        secret: KeySecret,
    ) -> Result<Self, RootsError> {
        let told = |workload: &config::Workload| (workload.name.clone(), Dialect::of(workload));
        Ok(Self {
            connections: Arc::new(Connections::to(&config.base_url)?),
            workloads: config.workloads.iter().map(told).collect(),
            base: config.base_url,
            identities: Reader {
                app: config.app,
                user_from: config.user_from,
                secret,
            },
            hold_max: config.hold_max,
            limiter,
        })
    }

    /// A workload's name and its clients' dialect.
    pub(super) fn workload(&self, index: WorkloadIndex) -> (&str, Dialect) {
        self.workloads
            .get(index)
            .map_or(("", Dialect::Generic), |(name, dialect)| (name, *dialect))
    }

    /// Whether a call to `path` is a batch of calls of an upstream that has them.
    pub(super) fn is_batch(&self, path: &str) -> bool {
        let graph = self.workloads.iter().any(|(_, dialect)| dialect.is_graph());
        graph
            && path
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case("$batch"))
    }
}
