//! Connections to one upstream: HTTP/1.1, opened when needed, kept for a moment.
//!
//! A permit is one request on the wire, so the pool is our own and small enough to see
//! that it follows no redirect and repeats nothing: hyper hands a request back only if not
//! a byte of it was written, and only then may it go to another connection.
//!
//! Reading and writing is done by the call that is on a connection ([`Driver`]), since to hand
//! each call to another task and back costs as much as to send it. Only what is longer than one
//! read of the connection becomes a task's work.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Waker},
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
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service as _;

use crate::config::WebAddress;

/// How long reaching the upstream may take, TLS included. Nothing is written before.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How long a connection is kept without a call: below the shortest keep-alive in common
/// use (5 s), so that calls are rarely written to a connection that is just being closed.
const IDLE_MAX: Duration = Duration::from_secs(4);

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
    idle: Mutex<Pool>,
    idle_count_max: usize,
}

/// What is open and free, the freshest last.
#[derive(Default)]
struct Pool {
    idle: Vec<Idle>,
    /// Whether a task looks for those that were free for too long.
    swept: bool,
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
    driver: Driver,
}

/// Who reads and writes.
enum Driver {
    /// Whoever sends, while it waits for the answer's head; afterwards nothing is left to do.
    Sender(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// A task, once a call was longer than that.
    Task(#[expect(dead_code, reason = "held to end with its connection")] AbortOnDropHandle<()>),
    /// Nobody: it is closed.
    Nobody,
}

impl Driver {
    fn poll(&mut self, context: &mut Context<'_>) {
        if let Self::Sender(work) = self
            && work.as_mut().poll(context).is_ready()
        {
            *self = Self::Nobody;
        }
    }

    /// From here on a task reads and writes.
    fn detach(&mut self) {
        *self = match std::mem::replace(self, Self::Nobody) {
            Self::Sender(work) => Self::Task(AbortOnDropHandle::new(tokio::spawn(work))),
            other => other,
        };
    }
}

impl Connections {
    /// None open yet; so many are kept without a call.
    pub(super) fn to(base: &WebAddress, idle_count_max: usize) -> Result<Self, RootsError> {
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
            idle_count_max,
        })
    }

    /// One that is open and free, if there is one: the one that was free for the shortest
    /// time, so that more are not kept than are used.
    pub(super) fn idle(&self) -> Option<Connection> {
        let mut pool = self.lock();
        while let Some(mut idle) = pool.idle.pop() {
            if idle.is_fit() {
                return Some(idle.connection);
            }
        }
        None
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

    /// Keeps `connection` for another call, if it is fit for one, now or in a moment.
    pub(super) fn keep(self: &Arc<Self>, mut connection: Connection) {
        if connection.sender.is_ready() {
            return self.put(connection);
        }
        let connections = Arc::clone(self);
        tokio::spawn(async move {
            let settled = timeout(SETTLE_MAX, connection.ready()).await;
            if matches!(settled, Ok(Ok(()))) {
                connections.put(connection);
            }
        });
    }

    fn put(self: &Arc<Self>, connection: Connection) {
        let mut pool = self.lock();
        if pool.idle.len() >= self.idle_count_max {
            return;
        }
        pool.idle.push(Idle {
            connection,
            since: Instant::now(),
        });
        if !pool.swept {
            pool.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what was free for too long, or was closed meanwhile. Whether anything is left.
    fn sweep(&self) -> bool {
        let mut pool = self.lock();
        pool.idle.retain_mut(Idle::is_fit);
        pool.swept = !pool.idle.is_empty();
        pool.swept
    }

    /// A list of connections is whole at any point of a panic.
    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after connections as long as some are free: without calls nobody else would.
async fn sweep(connections: Weak<Connections>) {
    loop {
        sleep(IDLE_MAX / 2).await;
        let left = connections.upgrade().is_some_and(|it| it.sweep());
        if !left {
            return;
        }
    }
}

impl Idle {
    /// Whether another call may be sent on it.
    fn is_fit(&mut self) -> bool {
        self.since.elapsed() < IDLE_MAX && self.connection.is_open()
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
        let driver = Driver::Sender(Box::pin(async move { drop(driver.await) }));
        Ok(Self { sender, driver })
    }

    /// Waits until nothing is left of the call before.
    async fn ready(&mut self) -> hyper::Result<()> {
        let Self { sender, driver } = self;
        let ready = poll_fn(|context| {
            driver.poll(context);
            sender.poll_ready(context)
        });
        ready.await
    }

    /// Whether it is free, as far as is known here: nobody else looks whether it was closed.
    fn is_open(&mut self) -> bool {
        self.driver.poll(&mut Context::from_waker(Waker::noop()));
        self.sender.is_ready()
    }

    /// Writes `request` and waits for the answer's head. The error holds the request if
    /// not a byte of it was written.
    pub(super) async fn send(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        let Self { sender, driver } = self;
        let mut answer = pin!(sender.try_send_request(request));
        let answer = poll_fn(|context| {
            driver.poll(context);
            answer.as_mut().poll(context)
        });
        let answer = answer.await;
        // More of the call or of its answer is to come.
        if !self.sender.is_ready() {
            self.driver.detach();
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt as _, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn what_nobody_uses_is_closed_and_no_more_is_kept_than_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(Connections::to(&base.parse().unwrap(), 1).unwrap());
        let mut accepted = Vec::new();
        for _ in 0..2 {
            let connection = connections.open().await.unwrap();
            accepted.push(listener.accept().await.unwrap().0);
            connections.keep(connection);
        }
        assert_eq!(
            accepted[1].read(&mut [0]).await.unwrap(),
            0,
            "beyond the bound"
        );
        assert_eq!(connections.lock().idle.len(), 1);
        let ended = timeout(IDLE_MAX * 2, accepted[0].read(&mut [0])).await;
        assert_eq!(ended.expect("closed by itself").unwrap(), 0);
        assert!(connections.idle().is_none());
    }
}
