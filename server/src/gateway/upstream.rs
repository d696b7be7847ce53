//! One upstream as the gateway sees it.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{HeaderMap, Method};
use spillway::{Scope, policy::Dimension};
use tokio::time::Instant;

use super::{
    batch,
    bearer::KeySecret,
    bearers::{self, Bearers, NotNow, Turn},
    connections::{Connections, RootsError},
    dialect::Dialect,
    identity::{Identity, IdentityError, Reader},
    links::Links,
    refusal::Refusal,
    request_headers::Asked,
};
use crate::{
    access::{Account, Caller, Network},
    config::{self, Claims, WebAddress},
    limiter::{Ask, BlockedBy, Busy, Call, Limiter, WorkloadIndex},
};

/// How many connections are kept for calls whose number at once nobody limits.
const KEPT_UNLIMITED: usize = 64;

/// The most connections that are kept without a call.
const KEPT_MAX: usize = 1_024;

/// What a caller is told whose bearer waits for another that claims the same: as long as an
/// answer commonly takes.
const TURN_COMES_IN: Duration = Duration::from_secs(1);

/// Where calls go, who limits them, and how their callers are told.
pub(super) struct Upstream {
    /// What it is called.
    pub(super) name: Arc<str>,
    /// Scheme, authority and the path's beginning of every call.
    pub(super) base: WebAddress,
    /// Whom calls are charged to.
    identities: Reader,
    /// How long a call may be held.
    pub(super) hold_max: Duration,
    /// Who lets calls through.
    pub(super) limiter: Limiter,
    /// How calls get there.
    pub(super) connections: Arc<Connections>,
    /// Which bearers it has accepted.
    bearers: Bearers,
    /// Whose callers need no token, the narrowest network first.
    pub(super) clients: Vec<Arc<Network>>,
    /// Everything that has limits, and its clients' dialect.
    limited: Vec<(config::Workload, Dialect)>,
    /// What each of it is called.
    limited_names: Vec<Arc<str>>,
    /// Whether batches are taken apart.
    split_batches: bool,
    /// Whether links are rewritten.
    rewrite_links: bool,
    /// How, once it is known where clients reach the gateway.
    links: OnceLock<Links>,
}

impl Upstream {
    pub(super) fn new(
        config: config::Upstream,
        limiter: Limiter,
        secret: KeySecret,
    ) -> Result<Self, RootsError> {
        let told = |workload: &config::Workload| match workload.claims {
            Claims::Global => (workload.clone(), Dialect::of_vendor(&config.workloads)),
            _ => (workload.clone(), Dialect::of(workload)),
        };
        let clients = config.clients.iter().map(|of| {
            let (of, account) = (Arc::clone(of), Account::new(limiter.per_token()));
            Arc::new(Network::new(of, account))
        });
        let names = config
            .limited()
            .map(|workload| workload.name.as_str().into());
        Ok(Self {
            name: config.name.as_str().into(),
            limited_names: names.collect(),
            connections: Arc::new(Connections::to(&config.base_url, kept(&config))?),
            limited: config.limited().map(told).collect(),
            bearers: Bearers::new(limiter.wall(bearers::REFUSED_MS)),
            clients: clients.collect(),
            base: config.base_url,
            identities: Reader {
                app: config.app,
                user_from: config.user_from,
                secret,
            },
            hold_max: config.hold_max,
            split_batches: config.split_batches,
            rewrite_links: config.rewrite_links,
            links: OnceLock::new(),
            limiter,
        })
    }

    /// Clients reach the gateway at `gateway`, and this upstream below it as `name`.
    pub(super) fn link(&self, name: &str, gateway: &WebAddress) {
        if self.rewrite_links {
            self.links
                .get_or_init(|| Links::new(&self.base, gateway, name));
        }
    }

    /// How links are rewritten; `None`: not at all.
    pub(super) fn links(&self) -> Option<&Links> {
        self.links.get()
    }

    /// A call's query as the upstream gets it.
    pub(super) fn query<'q>(&self, query: &'q str) -> Cow<'q, str> {
        self.links()
            .map_or(Cow::Borrowed(query), |links| links.query(query))
    }

    /// The dialect of clients whose call belongs to no workload, or not to one yet.
    pub(super) fn dialect(&self) -> Dialect {
        let mut told = self.limited.iter().map(|(_, dialect)| *dialect);
        match told.find(|dialect| *dialect != Dialect::Generic) {
            Some(Dialect::OneNote) => Dialect::Graph,
            told => told.unwrap_or(Dialect::Generic),
        }
    }

    /// A workload's name and its clients' dialect.
    pub(super) fn workload(&self, index: WorkloadIndex) -> (&str, Dialect) {
        self.limited
            .get(index)
            .map_or(("", Dialect::Generic), |(workload, dialect)| {
                (workload.name.as_str(), *dialect)
            })
    }

    /// A workload's name, to keep.
    pub(super) fn workload_name(&self, index: WorkloadIndex) -> Arc<str> {
        let name = self.limited_names.get(index);
        name.map_or_else(|| "".into(), Arc::clone)
    }

    /// Whom a call of this workload is charged to. What limits all calls together limits apps,
    /// so that nobody needs to be named who makes a call of no workload.
    pub(super) fn identity(
        &self,
        index: WorkloadIndex,
        caller: &Caller,
        asked: &Asked,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<Identity, IdentityError> {
        let workload = self.limited.get(index);
        let global = workload.is_some_and(|(it, _)| matches!(it.claims, Claims::Global));
        match self.identities.identity(caller, asked, headers, path) {
            Err(IdentityError::Nobody(_)) if global => {
                self.identities.of_app(caller, asked, headers)
            }
            identity => identity,
        }
    }

    /// Waits, at most `until`, for the turn of a call with its bearer; `None`: it has none.
    pub(super) async fn turn(
        &self,
        headers: &HeaderMap,
        ask: &Ask,
        until: Instant,
    ) -> Result<Option<Arc<Turn>>, Refusal> {
        let Some(key) = self.identities.credential(headers)? else {
            return Ok(None);
        };
        let Call {
            app, tenant, user, ..
        } = &ask.call;
        let claimed = (app.clone(), tenant.clone(), user.clone());
        let turn = self.bearers.turn(key, claimed, until).await;
        turn.map(|turn| Some(Arc::new(turn)))
            .map_err(|not| self.not_now(not, ask.call.workload))
    }

    /// Sends all away who wait for their bearer's turn; the limiter does so with its own.
    pub(super) fn close(&self) {
        self.bearers.close();
    }

    /// Whether the bearer was refused while its call waited for its permit.
    pub(super) fn still_good(
        &self,
        turn: Option<&Arc<Turn>>,
        workload: WorkloadIndex,
    ) -> Result<(), Refusal> {
        match turn {
            Some(turn) if turn.is_refused() => Err(self.not_now(NotNow::Refused, workload)),
            _ => Ok(()),
        }
    }

    fn not_now(&self, not: NotNow, workload: WorkloadIndex) -> Refusal {
        let dialect = self.workload(workload).1;
        match not {
            NotNow::Refused => Refusal::Bearer(dialect),
            NotNow::Closing => Refusal::Closing,
            NotNow::Busy => Refusal::Busy(
                Busy {
                    wait: TURN_COMES_IN,
                    exact: false,
                    blocked_by: BlockedBy::Queue,
                },
                dialect,
            ),
        }
    }

    /// What a call costs by its workload's rules, at least 1.
    pub(super) fn weight(
        &self,
        index: WorkloadIndex,
        method: &Method,
        path: &str,
        query: &str,
    ) -> u32 {
        self.limited.get(index).map_or(1, |(workload, _)| {
            workload.weight(method.as_str(), path, query)
        })
    }

    /// Whether a call to `path` is a batch, to be taken apart, whatever its method says: some
    /// servers fold the case of `post`, and none may carry parts past their limits.
    pub(super) fn is_batch(&self, path: &str) -> bool {
        self.split_batches && batch::is_batch(path)
    }
}

/// How many connections are kept without a call: as many as calls may run at once. Of an
/// app, since of users there may be any number; no connection is open for longer than a call
/// used it, so that this is never reached by few users.
fn kept(config: &config::Upstream) -> usize {
    let at_once = |workload: &config::Workload| {
        let layers = workload.policy.layers_at(Scope::App);
        let limits = layers.filter(|layer| layer.dimension() == Dimension::Concurrency);
        let limit = limits.map(|layer| layer.limit()).min();
        limit.map_or(KEPT_UNLIMITED, |limit| {
            usize::try_from(limit).unwrap_or(KEPT_MAX)
        })
    };
    let limited: usize = config.workloads.iter().map(at_once).sum();
    (limited + KEPT_UNLIMITED).min(KEPT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_connections_are_kept_as_calls_may_run_at_once() {
        for (presets, own, expected) in [
            ("'onenote'", "", 20 + 64),
            ("'onenote', 'sharepoint'", "", 20 + 64 + 64),
            ("", "4000000", KEPT_MAX),
        ] {
            let own = if own.is_empty() {
                String::new()
            } else {
                format!(
                    "[[upstreams.a.workloads]]\nname = 'x'\npaths = ['/']\n\
                     layers = [{{ scope = 'app', dimension = 'concurrency', limit = {own} }}]\n"
                )
            };
            let text =
                format!("[upstreams.a]\nbase_url = 'http://a/'\npresets = [{presets}]\n{own}");
            let config = config::Config::parse(&text).unwrap();
            assert_eq!(kept(&config.upstreams[0]), expected, "{presets}");
        }
    }
}
