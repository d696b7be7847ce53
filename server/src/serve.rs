//! `spillway serve`: everything put together, in the order in which it can fail.
//!
//! First what may be wrong with the configuration, then files, database and counters, and
//! only then the ports: whoever can connect is served. The end runs backwards: no new
//! work, endless streams cut, calls in flight finished within [`GRACE`], counters written.

mod error;
mod key_secret;
mod listeners;
mod set_up;
mod state_dir;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use spillway_app::{
    Backend,
    live::{State, UserState},
};
use tokio::task::JoinHandle;

use crate::{
    access::{
        Access, People, Provider, SiteLinks, Tokens, TrustedProxies,
        set_up::{SetUp, SetUpKey},
    },
    alerts::{Alerts, Told},
    api::{self, Api},
    audit::{Act, By, Trail, action},
    clock::Pace,
    config::{self, Config, PolicySource, WebAddress},
    dashboard::{self, Entrance, Sites, Workloads},
    floods::{self, Floods, Linked},
    front::Front,
    gateway::GatewayState,
    history::History,
    house::House as Itself,
    http::{self, AllowedHosts, Guard, Health, RELOAD_EVERY, Shutdown, Tls},
    limiter::{self, Limiters, Recovery},
    live::Publisher,
    metrics::{Counters, Metrics},
    outbox::{Carriers, Outbox, Sending},
    policy::Policies,
    store::{self, Store},
    traces::Traces,
};
pub use error::Error;
use listeners::Listeners;
use state_dir::StateDir;

/// How long calls in flight may take to end. Those that do not end keep their permits
/// until these expire, across the restart.
const GRACE: Duration = Duration::from_secs(10);

/// How the server is run, apart from what is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Without sign-in and tokens; only on loopback.
    pub open: bool,
    /// With `open`: whoever has not signed in may only look and call. For a demo.
    pub guests: bool,
    /// What to do where the counters are lost.
    pub recovery: Recovery,
    /// How many times faster than the wall clock the engine's clock runs: 1, but in a demo.
    pub time_scale: u32,
    /// When the engine's clock begins at the earliest; see [`crate::clock::Pace`].
    pub not_before: spillway::Instant,
}

/// The server takes calls.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where browsers reach the dashboard.
    pub dashboard: WebAddress,
    /// Where clients reach the gateway.
    pub gateway: WebAddress,
    /// What makes the first admin; `None`: there is or was an account, or none is needed.
    pub set_up: Option<SetUpKey>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            open: false,
            guests: false,
            recovery: Recovery::AssumeFull,
            time_scale: 1,
            not_before: spillway::Instant(0),
        }
    }
}

/// Runs the server until `shutdown` begins; tells `ready` once, when it takes calls.
///
/// # Errors
/// See [`Error`]; all but [`Error::Close`] mean that it never took a call.
pub async fn run(
    config: Config,
    options: Options,
    shutdown: Shutdown,
    ready: impl FnOnce(Ready),
) -> Result<(), Error> {
    options.check(&config)?;
    let tls = config.server.tls.clone().map(Tls::load).transpose()?;
    let carriers = Carriers::new(&config)?;
    let _state_dir = StateDir::take(&config.server.state_dir)?;
    let secret = key_secret::load(&config.server.state_dir)?;
    let store = Store::open(&config.server.database_url).await?;
    let flooded = floods::latest(&store, &config.server.state_dir).await?;
    let pace = Pace {
        scale: options.time_scale,
        not_before: options.not_before.max(flooded),
    };
    let limiters = Limiters::open(&config, &store, options.recovery, pace)
        .await
        .map_err(Error::Limiters)?;
    let (access, set_up) = options
        .access(&config.server, &store)
        .await
        .map_err(Error::Access)?;
    let proxies = TrustedProxies::new(config.server.trusted_proxies.clone());
    let origins = config.server.cors_origins.clone();
    let counters = Counters::new()?;
    let traces = traces(&config)?;
    let gateway = GatewayState::new(
        pairs(&config, &limiters),
        &secret,
        origins,
        access.clone(),
        proxies,
        counters.traffic.clone(),
        traces.clone(),
    )?;
    let mut listeners = Listeners::bind(&config.server, tls).await?;
    listeners.ready.set_up = set_up;
    let started = store.record(&options.started(jiff::Timestamp::now())).await;
    started.map_err(Error::Audit)?;
    let limiters = Arc::new(limiters);
    let state_dir = &config.server.state_dir;
    let outbox = Outbox::default();
    let floods = Floods::open(
        store.clone(),
        Arc::clone(&limiters),
        state_dir,
        outbox.clone(),
    )
    .await?;
    let dashboard = &listeners.ready.dashboard;
    let site_links = SiteLinks::new(&secret, dashboard);
    let carriers = carriers.map_mail(|mail| Arc::new(Linked::new(mail, site_links.clone())));
    let file_rules = config.server.policy_source == PolicySource::File;
    let policies = Policies::new(store.clone(), Arc::clone(&limiters), file_rules);
    let told = Told::of(&config, &listeners.ready.dashboard);
    let alerts = Alerts::restored(
        store.clone(),
        Arc::clone(&limiters),
        outbox.clone(),
        counters.outbox.clone(),
        &config.alerts,
        told,
    )
    .await
    .map_err(Error::Alerts)?;
    let sites = Sites {
        floods: floods.clone(),
        links: site_links,
        is_trustworthy: dashboard.is_secure() || dashboard.is_loopback(),
    };
    let provider = provider(&config, &access, &listeners.ready)?;
    let house = House {
        config,
        provider,
        sites,
        access,
        policies,
        floods,
        store,
        limiters,
        gateway,
        counters,
        traces,
        carriers,
        outbox,
        shutdown,
    };
    house.run(listeners, alerts, ready).await
}

impl Options {
    fn check(self, config: &Config) -> Result<(), Error> {
        self.check_pace(config)?;
        if !self.open {
            return Ok(());
        }
        let server = &config.server;
        for (key, address) in [
            ("server.listen", server.listen),
            ("server.gateway_listen", server.gateway_listen),
        ] {
            if !address.ip().is_loopback() {
                return Err(Error::NotLoopback { key, address });
            }
        }
        Ok(())
    }

    /// What the audit log says of a start: how it is run changes who gets in, and what counts.
    fn started(self, now: jiff::Timestamp) -> Act {
        let at_ms = now.as_millisecond();
        let how = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "open": self.open,
            "assume_empty": self.recovery == Recovery::AssumeEmpty,
            "time_scale": self.time_scale,
        });
        Act::new(at_ms, &By::command_line(), action::SERVER_START, "server").became(how)
    }

    fn check_pace(self, config: &Config) -> Result<(), Error> {
        let elsewhere = |upstream: &&config::Upstream| !upstream.base_url.is_loopback();
        match config.upstreams.iter().find(elsewhere) {
            Some(upstream) if self.time_scale > 1 => Err(Error::TooFast {
                upstream: upstream.name.clone(),
                host: upstream.base_url.authority().host().to_owned(),
            }),
            _ => Ok(()),
        }
    }

    async fn access(
        self,
        server: &config::Server,
        store: &Store,
    ) -> Result<(Access, Option<SetUpKey>), store::Error> {
        let people = |set_up| People::load(store.clone(), server.per_token, set_up);
        if self.open {
            let access = match self.guests {
                true => Access::Demo(people(None).await?),
                false => Access::Open,
            };
            return Ok((access, None));
        }
        let new = !store.had_accounts().await?;
        let (set_up, key) = new.then(|| SetUp::begin(Timestamp::now())).unzip();
        let tokens = Tokens::load(store.clone(), server.per_token).await?;
        Ok((Access::Closed(tokens, people(set_up).await?), key))
    }
}

/// Who vouches for people, where anybody signs in.
fn provider(config: &Config, access: &Access, ready: &Ready) -> Result<Option<Provider>, Error> {
    let oidc = config.oidc.clone().filter(|_| access.people().is_some());
    let provider = oidc.map(|oidc| Provider::new(oidc, &ready.dashboard.to_string()));
    provider.transpose().map_err(Error::Provider)
}

/// Where spans go, if anywhere.
fn traces(config: &Config) -> Result<Traces, Error> {
    let endpoint = config.telemetry.otlp_endpoint.as_ref();
    let traces = endpoint.map(Traces::to).transpose();
    traces.map(Option::unwrap_or_default).map_err(Error::Traces)
}

fn pairs(config: &Config, limiters: &Limiters) -> Vec<(config::Upstream, limiter::Limiter)> {
    config
        .upstreams
        .iter()
        .cloned()
        .zip(limiters.all().iter().cloned())
        .collect()
}

/// What runs, and what has to be ended.
struct House {
    config: Config,
    provider: Option<Provider>,
    sites: Sites,
    access: Access,
    policies: Policies,
    floods: Floods,
    store: Store,
    limiters: Arc<Limiters>,
    gateway: GatewayState,
    counters: Counters,
    traces: Traces,
    carriers: Carriers,
    outbox: Outbox,
    shutdown: Shutdown,
}

/// What the pages show.
struct Shown {
    limiters: Arc<Limiters>,
    publisher: Arc<Publisher>,
    gateway_url: String,
}

impl Backend for Shown {
    fn state(&self) -> State {
        self.publisher.state()
    }

    fn recent(&self) -> State {
        self.publisher.recent()
    }

    fn user(&self, upstream: &str, workload: &str, query: &str) -> Option<UserState> {
        let key = api::user_key(upstream.to_owned(), workload.to_owned(), query).ok()?;
        self.limiters.user(&key).ok()
    }

    fn gateway_url(&self) -> String {
        self.gateway_url.clone()
    }
}

impl House {
    async fn run(
        self,
        listeners: Listeners,
        alerts: Alerts,
        ready: impl FnOnce(Ready),
    ) -> Result<(), Error> {
        let itself = self.itself();
        // Known before the first page is shown.
        itself.look(Timestamp::now().as_millisecond()).await;
        let publisher = Publisher::new(Arc::clone(&self.limiters)).with_house(itself.clone());
        let publisher = Arc::new(publisher);
        let guard = Guard {
            hosts: self.hosts(&listeners.ready),
            open: self.access.is_open(),
        };
        let dashboard = self.dashboard(&publisher, &listeners.ready);
        let dashboard = http::guarded(dashboard, guard.clone());
        self.gateway.reached_at(&listeners.ready.gateway);
        let gateway = http::guarded(self.gateway.clone(), guard);
        if let Some(tls) = listeners.tls {
            tokio::spawn(tls.keep_current(RELOAD_EVERY, self.shutdown.clone()));
        }
        tracing::info!(dashboard = %listeners.ready.dashboard, gateway = %listeners.ready.gateway, "ready");
        ready(listeners.ready);
        let publishing = tokio::spawn(publisher.run());
        let policies = tokio::spawn(self.policies.clone().keep());
        let itself = tokio::spawn(itself.run());
        let history = tokio::spawn(self.history().run(self.shutdown.clone()));
        let alerts = tokio::spawn(alerts.run());
        let sending = self
            .sending()
            .run(self.outbox.clone(), self.shutdown.clone());
        let sending = tokio::spawn(sending);
        let floods = tokio::spawn(self.floods.clone().keep(self.shutdown.clone()));
        let keeping = self.keep_access();
        let (stopped_at, (), ()) = tokio::join!(
            self.stop(),
            http::serve(listeners.dashboard, dashboard, self.shutdown.clone(), GRACE),
            http::serve(listeners.gateway, gateway, self.shutdown.clone(), GRACE),
        );
        publishing.abort();
        policies.abort();
        itself.abort();
        // It ends by itself when it has written what was seen.
        if tokio::time::timeout(GRACE, history).await.is_err() {
            tracing::warn!("the last of the history is not written");
        }
        alerts.abort();
        floods.abort();
        keeping.iter().for_each(JoinHandle::abort);
        // It ends by itself, soon.
        let _ = sending.await;
        self.end(GRACE.saturating_sub(stopped_at.elapsed())).await
    }

    fn sending(&self) -> Sending {
        Sending::new(
            self.store.clone(),
            self.carriers.clone(),
            self.counters.outbox.clone(),
            self.limiters.clock().scale(),
        )
    }

    /// Notices who is let in no more.
    fn keep_access(&self) -> Vec<JoinHandle<()>> {
        let tokens = match &self.access {
            Access::Closed(tokens, _) => Some(tokio::spawn(tokens.clone().keep())),
            Access::Open | Access::Demo(_) => None,
        };
        let people = self.access.people().cloned();
        let people = people.map(|people| tokio::spawn(people.keep()));
        tokens.into_iter().chain(people).collect()
    }

    fn hosts(&self, ready: &Ready) -> AllowedHosts {
        match &self.config.server.allowed_hosts {
            Some(hosts) => AllowedHosts::named(hosts),
            None => AllowedHosts::of([&ready.dashboard, &ready.gateway]),
        }
    }

    fn dashboard(&self, publisher: &Arc<Publisher>, ready: &Ready) -> Front {
        let shown = Shown {
            limiters: Arc::clone(&self.limiters),
            publisher: Arc::clone(publisher),
            gateway_url: ready.gateway.to_string(),
        };
        let parts = api::Parts {
            limiters: Arc::clone(&self.limiters),
            publisher: Arc::clone(publisher),
            metrics: Metrics::new(Arc::clone(&self.limiters), self.counters.clone()),
            policies: self.policies.clone(),
            history: self.history(),
            floods: self.floods.clone(),
        };
        let api = Api::new(parts, self.trail(), self.shutdown.clone())
            .letting_in(self.access.clone(), ready.dashboard.to_string());
        let entrance = Entrance {
            access: self.access.clone(),
            trail: self.trail(),
            policies: self.policies.clone(),
            api: api.clone(),
            provider: self.provider.clone(),
            sites: self.sites.clone(),
            public_url: ready.dashboard.to_string(),
            networks: self.gateway.networks(),
            upstreams: self
                .config
                .upstreams
                .iter()
                .map(|it| it.name.clone())
                .collect(),
            told: Told::of(&self.config, &ready.dashboard).recipients,
        };
        let workloads = Workloads::new(Arc::clone(&self.limiters), self.history());
        let site_dir = &self.config.server.site_dir;
        let pages = dashboard::routes(Arc::new(shown), entrance, workloads, site_dir);
        let often = api.often();
        let router = api.routes(self.health()).merge(pages);
        let secure = ready.dashboard.is_secure();
        Front::new(
            self.access.clone(),
            self.traces.clone(),
            often,
            router,
            secure,
        )
    }

    fn itself(&self) -> Itself {
        Itself::new(
            self.store.clone(),
            Arc::clone(&self.limiters),
            self.history(),
            self.floods.clone(),
        )
    }

    fn history(&self) -> History {
        History::new(self.store.clone(), Arc::clone(&self.limiters))
    }

    fn trail(&self) -> Trail {
        let proxies = self.config.server.trusted_proxies.clone();
        Trail {
            store: self.store.clone(),
            proxies: TrustedProxies::new(proxies),
        }
    }

    fn health(&self) -> Health {
        let limiters = Arc::clone(&self.limiters);
        let ready = move || limiters.ready().map_err(|error| error.to_string());
        Health {
            store: self.store.clone(),
            limiters: Arc::new(ready),
            shutdown: self.shutdown.clone(),
        }
    }

    /// Waits for the end to begin, and sends away whoever waits.
    async fn stop(&self) -> Instant {
        self.shutdown.begun().await;
        self.gateway.refuse_all();
        self.limiters.refuse_all();
        Instant::now()
    }

    /// Calls whose clients have left may still run upstream: they get what is left of the grace.
    async fn end(self, grace: Duration) -> Result<(), Error> {
        if !self.gateway.finish(grace).await {
            let calls = self.gateway.in_flight();
            tracing::warn!(
                calls,
                "calls still run upstream; their permits stay taken until they expire"
            );
        }
        self.floods.close().await;
        let closed = self.limiters.close().await.map_err(Error::Close);
        self.store.close().await;
        self.traces.end().await;
        tracing::info!("ended");
        closed
    }
}
