//! The gateway: `ANY /{upstream}/{path}` on its own port.
//!
//! A call is read ([`request_headers`], [`identity`]), let in ([`entry`]), waits for its permit ([`hold`],
//! [`crate::limiter`]), and is then made what its upstream gets ([`admitted`]) and carried ([`exchange`]). What is not
//! let through is answered in one place ([`refusal`]). Bodies stream both ways; none is read
//! before its call is admitted ([`held_body`] tells why one is read a little ahead after a hold),
//! but that of a batch, whose parts are admitted one by one ([`batch`]).

mod admitted;
mod answer;
mod batch;
mod bearer;
mod bearers;
mod browser;
mod carried;
mod connections;
mod cookies;
mod dialect;
mod entry;
mod exchange;
mod failure;
mod heard;
mod hearing;
mod held_body;
mod hold;
mod identity;
pub mod links;
mod misplaced;
mod passage;
mod path;
mod read_ahead;
mod readmission;
mod record;
mod refusal;
mod relay;
mod replay;
mod request_headers;
mod response_headers;
mod retry;
mod retry_after;
mod slot;
mod upstream;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::Request;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::task::TaskTracker;

pub use bearer::KeySecret;
pub use connections::RootsError;

use crate::{
    access::{Access, Network, TrustedProxies},
    config::{self, Origins, WebAddress},
    http::{Answer, Arrived, Entry, Shutdown},
    limiter::Limiter,
    metrics::Traffic,
    traces::Traces,
};
use batch::Batches;
use browser::Asker;
use retry_after::RetryAfter;
use upstream::Upstream;

/// How many calls without limits may be under way at once. Those with limits are bounded
/// by their permits.
const UNLIMITED_MAX: usize = 1_000;

/// Everything the gateway knows. Clones share it.
#[derive(Clone)]
pub struct GatewayState(Arc<Gateway>);

struct Gateway {
    upstreams: BTreeMap<String, Upstream>,
    origins: Origins,
    access: Access,
    proxies: TrustedProxies,
    unlimited: Arc<Semaphore>,
    batches: Batches,
    exchanges: TaskTracker,
    /// The end of new calls, and of everything that waits without a permit.
    closing: Shutdown,
    retry_after: RetryAfter,
    /// Where answers are counted.
    traffic: Traffic,
    /// Where calls are traced.
    traces: Traces,
}

impl GatewayState {
    /// A gateway to `upstreams`, each behind its limiter, for those that `access` lets in or
    /// that call from the upstream's networks, perhaps through `proxies`. `secret` keys the
    /// hashes of opaque credentials; scripts of `origins` may call.
    ///
    /// # Errors
    /// An upstream is `https` and the system trusts no certificates.
    pub fn new(
        upstreams: impl IntoIterator<Item = (config::Upstream, Limiter)>,
        secret: &KeySecret,
        origins: Origins,
        access: Access,
        proxies: TrustedProxies,
        traffic: Traffic,
        traces: Traces,
    ) -> Result<Self, RootsError> {
        let named = |(config, limiter): (config::Upstream, Limiter)| {
            Ok((
                config.name.clone(),
                Upstream::new(config, limiter, secret.clone())?,
            ))
        };
        Ok(Self(Arc::new(Gateway {
            upstreams: upstreams.into_iter().map(named).collect::<Result<_, _>>()?,
            origins,
            access,
            proxies,
            unlimited: Arc::new(Semaphore::new(UNLIMITED_MAX)),
            batches: Batches::default(),
            exchanges: TaskTracker::new(),
            closing: Shutdown::new(),
            retry_after: RetryAfter::default(),
            traffic,
            traces,
        })))
    }

    /// Clients reach it at `address`, which links are to say.
    pub fn reached_at(&self, address: &WebAddress) {
        for (name, upstream) in &self.0.upstreams {
            upstream.link(name, address);
        }
    }

    /// The networks whose callers need no token, each with the name of its upstream.
    #[must_use]
    pub fn networks(&self) -> Vec<(String, Arc<Network>)> {
        let named = |(name, upstream): (&String, &Upstream)| {
            let name = name.clone();
            let clients = upstream.clients.iter();
            clients
                .map(|client| (name.clone(), Arc::clone(client)))
                .collect::<Vec<_>>()
        };
        self.0.upstreams.iter().flat_map(named).collect()
    }

    /// How many calls are upstream now, those whose callers have left included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.exchanges.len()
    }

    /// Takes no new calls, and sends away those that wait for anything but their permit: who
    /// waits for that is the limiter's. What is upstream goes on.
    pub fn refuse_all(&self) {
        self.0.closing.begin();
        self.0.upstreams.values().for_each(Upstream::close);
    }

    /// Takes no new calls and gives those upstream `grace` to end. False if some did not:
    /// their permits stay taken until they expire.
    pub async fn finish(&self, grace: Duration) -> bool {
        self.refuse_all();
        self.0.exchanges.close();
        timeout(grace, self.0.exchanges.wait()).await.is_ok()
    }
}

impl Answer for GatewayState {
    /// Whatever an upstream may take; the rest are tunnels and echoes.
    const METHODS: Option<&'static str> = Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");

    /// Every path is a call.
    async fn answer(&self, request: Request<Body>, arrived: Arrived) -> Response {
        let gateway = &self.0;
        let mut response = match browser::asker(&request, &gateway.origins) {
            Ok(Asker::Program) => relay::call(gateway, request, arrived).await,
            Ok(Asker::Site(origin)) => {
                let mut response = relay::call(gateway, request, arrived).await;
                browser::allow(response.headers_mut(), origin);
                response
            }
            Ok(Asker::Preflight(origin)) => {
                let response = browser::preflight(request.headers(), origin);
                Entry::of(arrived).answered(response.status());
                return response;
            }
            Err(error) => relay::refuse(gateway, request, arrived, &error.into()),
        };
        browser::vary(response.headers_mut(), &gateway.origins);
        response
    }
}
