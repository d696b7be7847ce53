//! A well-behaved client of one user: it asks again when it is told to, not before, and
//! backs off when something is wrong.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use spillway::Lane;
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

use super::dice::Dice;
use crate::{
    config::WebAddress,
    demo::{Error as DemoError, settings::UPSTREAM},
};

#[cfg(test)]
pub(crate) mod direct;

/// How long an answer may take, wall time: longer than the gateway holds a call and the
/// slowest upstream answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// The largest answer that is read.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How often a call that fails is sent before it is given up; waits asked for by a 429 do
/// not count.
const ATTEMPTS_MAX: u32 = 5;

/// The wait after the first failure, wall time, doubling with each further one.
const BACKOFF: Duration = Duration::from_millis(500);

/// How long to wait where a 429 does not say, wall time: OneNote's own do not.
const RETRY_AFTER_DEFAULT_S: u64 = 30;

/// The most that is added to a wait, in seconds, so that callers who were refused together
/// do not come back together.
const JITTER_S_MAX: f64 = 0.25;

/// Connections kept open between calls.
const IDLE_MAX: usize = 64;

/// The gateway as its clients know it: an address. Connections are shared by all users.
#[derive(Debug)]
pub struct Gateway {
    base: String,
    http: legacy::Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    /// What answers in its place, where there is no network.
    #[cfg(test)]
    direct: Option<direct::Direct>,
}

/// One user's client. Clones are the same user's.
#[derive(Clone, Debug)]
pub(super) struct Client {
    gateway: Arc<Gateway>,
    authorization: Option<HeaderValue>,
    lane: &'static str,
    dice: Arc<Mutex<Dice>>,
}

/// Why a call failed for good.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the path is none")]
    Path(#[from] http::Error),
    #[error("no connection, or it broke")]
    Connection(#[from] legacy::Error),
    #[error("the answer broke off or is too large")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no answer for {} s", PATIENCE.as_secs())]
    Silence,
    #[error("answered with {0}")]
    Status(StatusCode),
    #[error("the answer is not what was asked for")]
    Content(#[from] serde_json::Error),
}

/// An answer, read to its end.
type Heard = (StatusCode, HeaderMap, Bytes);

/// What a single request came to.
enum Answer {
    Found(Bytes),
    Throttled(Duration),
}

impl Gateway {
    /// Over TLS it is known by the authority in the file `ca`, and by no other.
    ///
    /// # Errors
    /// No such authority can be trusted.
    pub fn new(ca: Option<&Path>) -> Result<Self, DemoError> {
        let connector = Self::connector(ca)?;
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        let base = String::new();
        Ok(Self {
            base,
            http,
            #[cfg(test)]
            direct: None,
        })
    }

    /// What connects, trusting that authority alone.
    ///
    /// # Errors
    /// No such authority can be trusted.
    pub(in crate::demo) fn connector(
        ca: Option<&Path>,
    ) -> Result<HttpsConnector<HttpConnector>, DemoError> {
        let trust = trust(ca).map_err(DemoError::Trust)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_tls_config(trust);
        Ok(tls.https_or_http().enable_http1().wrap_connector(tcp))
    }

    /// The same at an address.
    #[must_use]
    pub fn at(mut self, address: &WebAddress) -> Self {
        self.base = format!("{address}/{UPSTREAM}");
        self
    }
}

impl Gateway {
    /// Sends a request and reads its answer to the end.
    async fn send(&self, request: Request<Empty<Bytes>>) -> Result<Heard, Error> {
        #[cfg(test)]
        if let Some(direct) = &self.direct {
            return Ok(direct.answer(request).await);
        }
        let (parts, body) = self.http.request(request).await?.into_parts();
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
        Ok((
            parts.status,
            parts.headers,
            body.map_err(Error::Body)?.to_bytes(),
        ))
    }
}

fn trust(ca: Option<&Path>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if let Some(ca) = ca {
        let ca = CertificateDer::from_pem_file(ca)
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        roots.add(ca)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Client {
    /// The client of the user whom `bearer` names, calling in `lane`.
    pub(super) fn new(gateway: Arc<Gateway>, bearer: &str, lane: Lane, dice: Dice) -> Self {
        let lane = match lane {
            Lane::Foreground => "foreground",
            Lane::Background => "background",
        };
        let authorization = HeaderValue::from_str(&format!("Bearer {bearer}"))
            .ok()
            .map(sensitive);
        Self {
            gateway,
            authorization,
            lane,
            dice: Arc::new(Mutex::new(dice)),
        }
    }

    /// The body at `path`, which begins with a slash, however long that takes.
    ///
    /// # Errors
    /// The last failure, when there were too many.
    pub(super) async fn get(&self, path: &str) -> Result<Bytes, Error> {
        let mut failures = 0;
        loop {
            match self.get_once(path).await {
                Ok(Answer::Found(body)) => return Ok(body),
                Ok(Answer::Throttled(wait)) => sleep(wait + self.jitter().await).await,
                Err(error) => {
                    failures += 1;
                    if failures == ATTEMPTS_MAX {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "a user of the demo gave up a call"
                        );
                        return Err(error);
                    }
                    sleep(BACKOFF * 2_u32.pow(failures - 1) + self.jitter().await).await;
                }
            }
        }
    }

    async fn get_once(&self, path: &str) -> Result<Answer, Error> {
        let mut request =
            Request::get(format!("{}{path}", self.gateway.base)).header("spillway-lane", self.lane);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::new())?;
        let heard = timeout(PATIENCE, self.gateway.send(request)).await;
        read(heard.unwrap_or(Err(Error::Silence))?)
    }

    async fn jitter(&self) -> Duration {
        self.dice.lock().await.seconds(0.0..=JITTER_S_MAX)
    }
}

fn read((status, headers, body): Heard) -> Result<Answer, Error> {
    match status {
        StatusCode::OK => Ok(Answer::Found(body)),
        StatusCode::TOO_MANY_REQUESTS => {
            let told = headers
                .get(header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok());
            Ok(Answer::Throttled(Duration::from_secs(
                told.unwrap_or(RETRY_AFTER_DEFAULT_S),
            )))
        }
        status => Err(Error::Status(status)),
    }
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}
