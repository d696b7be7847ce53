//! A listener: bound early, served with bounds, ended with grace.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::Shutdown;

/// The connections a listener serves at once; more wait in the system's own queue. Well
/// above what 1,000 viewers and their clients need, well below a raised `nofile`.
const CONNECTIONS_MAX: usize = 8_192;

/// How long a client may take to send a request's head, so that slow ones free their place.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// How long to wait when a connection cannot be accepted (no file descriptors left).
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct BindError {
    address: SocketAddr,
    #[source]
    source: std::io::Error,
}

impl BindError {
    /// `address` cannot be listened on, because of `source`.
    pub fn new(address: SocketAddr, source: std::io::Error) -> Self {
        Self { address, source }
    }
}

/// Takes `address`; port 0 takes any free one.
///
/// # Errors
/// It is taken, not this machine's, or not permitted.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| BindError::new(address, source))
}

/// Serves `router` until `shutdown` begins; then takes nothing new and gives what is in
/// flight `grace` to finish.
pub async fn serve(listener: TcpListener, router: Router, shutdown: Shutdown, grace: Duration) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut end = pin!(shutdown.begun());
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = accept(&listener, &places) => accepted,
        };
        while connections.try_join_next().is_some() {}
        let Some((stream, place)) = accepted else {
            continue;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(
                TokioIo::new(stream),
                TowerToHyperService::new(router.clone()),
            );
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            // Whatever ends a connection early is the client's; nothing is left to do.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    if timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "cut connections that did not finish in time"
        );
    }
    connections.shutdown().await;
}

type Place = tokio::sync::OwnedSemaphorePermit;

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<(TcpStream, Place)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Events are small and must not wait for more of them.
            let _ = stream.set_nodelay(true);
            Some((stream, place))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            sleep(ACCEPT_RETRY).await;
            None
        }
    }
}
