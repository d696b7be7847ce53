//! Connections to one upstream: HTTP/1.1, opened when needed, kept for a moment.
//!
//! A permit is one request on the wire, so the pool is our own and small enough to see
//! that it follows no redirect and repeats nothing: hyper hands a request back only if not
//! a byte of it was written, and only then may it go to another connection.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::body::Body;
use http::{Request, Response, Uri};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use tower_service::Service as _;

use crate::config::WebAddress;

/// How long reaching the upstream may take, TLS included. Nothing is written before.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How long a connection is kept without a call: below the shortest keep-alive in common
/// use (5 s), so that calls are rarely written to a connection that is just being closed.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// How many connections are kept without a call.
const IDLE_COUNT_MAX: usize = 64;

/// How much of an upstream's bytes is held at once: an answer's head must fit.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// How long a connection may take to be ready again after an answer's end: it is at once,
/// unless the upstream answered before it had read the whole call, which its client may
/// still be sending.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// No root certificates: no `https` upstream can be trusted.
#[derive(Debug, thiserror::Error)]
#[error("no trusted root certificates (is the package ca-certificates installed?)")]
pub struct RootsError(#[source] std::io::Error);

/// Why an upstream was not reached. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// Refused, unknown, or not trusted.
    #[error("cannot connect")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Not within [`CONNECT_MAX`].
    #[error("connecting took too long")]
    Timeout,
}

/// The connections of one upstream.
pub(super) struct Connections {
    connector: Connector,
    address: Uri,
    idle: Mutex<Vec<Idle>>,
}

enum Connector {
    Plain(HttpConnector),
    Secure(HttpsConnector<HttpConnector>),
}

struct Idle {
    connection: Connection,
    since: Instant,
}

/// One connection, closed when dropped.
pub(super) struct Connection {
    sender: http1::SendRequest<Body>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connections {
    /// None open yet.
    pub(super) fn to(base: &WebAddress) -> Result<Self, RootsError> {
        let address = Uri::builder()
            .scheme(base.scheme())
            .authority(base.authority().clone())
            .path_and_query("/")
            .build()
            .unwrap_or_default();
        Ok(Self {
            connector: Connector::new(base.is_secure())?,
            address,
            idle: Mutex::default(),
        })
    }

    /// One that is open and free, if there is one.
    pub(super) fn idle(&self) -> Option<Connection> {
        let mut idle = self.lock();
        idle.retain(|idle| idle.since.elapsed() < IDLE_MAX && idle.connection.sender.is_ready());
        idle.pop().map(|idle| idle.connection)
    }

    /// A new one.
    pub(super) async fn open(&self) -> Result<Connection, ConnectError> {
        timeout(CONNECT_MAX, self.connect())
            .await
            .map_err(|_| ConnectError::Timeout)?
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let address = self.address.clone();
        match &self.connector {
            Connector::Plain(tcp) => {
                let stream = tcp.clone().call(address).await;
                Connection::over(stream.map_err(|error| ConnectError::Failed(error.into()))?).await
            }
            Connector::Secure(tls) => {
                let stream = tls.clone().call(address).await;
                Connection::over(stream.map_err(ConnectError::Failed)?).await
            }
        }
    }

    /// Keeps `connection` for another call, if it is fit for one.
    pub(super) async fn keep(&self, mut connection: Connection) {
        let settled = timeout(SETTLE_MAX, connection.sender.ready()).await;
        if !matches!(settled, Ok(Ok(()))) {
            return;
        }
        let mut idle = self.lock();
        idle.retain(|idle| idle.since.elapsed() < IDLE_MAX);
        if idle.len() < IDLE_COUNT_MAX {
            idle.push(Idle {
                connection,
                since: Instant::now(),
            });
        }
    }

    /// A list of connections is whole at any point of a panic.
    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connector {
    fn new(secure: bool) -> Result<Self, RootsError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        if !secure {
            return Ok(Self::Plain(tcp));
        }
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .map_err(RootsError)?;
        Ok(Self::Secure(
            tls.https_only().enable_http1().wrap_connector(tcp),
        ))
    }
}

impl Connection {
    async fn over<S>(stream: S) -> Result<Self, ConnectError>
    where
        S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    {
        let opened = http1::Builder::new()
            .max_buf_size(BUFFER_BYTES)
            .handshake(stream)
            .await;
        let (sender, driver) = opened.map_err(|error| ConnectError::Failed(error.into()))?;
        // How a connection ends is told to the call that is on it.
        let driver = tokio::spawn(async move { drop(driver.await) });
        Ok(Self { sender, driver })
    }

    /// Writes `request` and waits for the answer's head. The error holds the request if
    /// not a byte of it was written.
    pub(super) async fn send(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        self.sender.try_send_request(request).await
    }
}
