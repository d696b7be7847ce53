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
    let cut = finish(graceful, connections, grace).await;
    if cut > 0 {
        tracing::warn!(
            connections = cut,
            "cut connections whose calls did not finish in time"
        );
    }
}

/// Ends idle connections at once and the others after their calls; says how many had to be
/// cut.
async fn finish(
    graceful: GracefulShutdown,
    mut connections: JoinSet<()>,
    grace: Duration,
) -> usize {
    let ended = async {
        graceful.shutdown().await;
        // A connection is over a moment before its task is.
        while connections.join_next().await.is_some() {}
    };
    let _ = timeout(grace, ended).await;
    connections.abort_all();
    let mut cut = 0;
    while let Some(ended) = connections.join_next().await {
        cut += usize::from(ended.is_err_and(|error| error.is_cancelled()));
    }
    cut
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::Notify,
        task::JoinHandle,
    };

    use super::*;

    /// A server whose answer is begun when `begun` says so and ends when `finish` does.
    struct Slow {
        address: SocketAddr,
        begun: Arc<Notify>,
        finish: Arc<Notify>,
        shutdown: Shutdown,
        serving: JoinHandle<()>,
    }

    impl Slow {
        async fn start(grace: Duration) -> Self {
            let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let shutdown = Shutdown::new();
            let (begins, finishes) = (Arc::clone(&begun), Arc::clone(&finish));
            let answer = get(async move || {
                begins.notify_one();
                finishes.notified().await;
                "done"
            });
            let router = Router::new().route("/", answer);
            let serving = tokio::spawn(serve(listener, router, shutdown.clone(), grace));
            Self {
                address,
                begun,
                finish,
                shutdown,
                serving,
            }
        }

        async fn call(&self) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream
                .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
                .await
                .unwrap();
            self.begun.notified().await;
            stream
        }
    }

    async fn read(mut stream: TcpStream) -> String {
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn what_is_in_flight_is_finished_and_nothing_new_is_taken() {
        let slow = Slow::start(Duration::from_secs(30)).await;
        let stream = slow.call().await;
        slow.shutdown.begin();
        while TcpStream::connect(slow.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        slow.finish.notify_one();
        assert!(read(stream).await.ends_with("done"));
        slow.serving.await.unwrap();
    }

    /// A connection that ends as soon as it is asked to; its client stays.
    fn idle(
        graceful: &GracefulShutdown,
    ) -> (tokio::io::DuplexStream, impl Future<Output = ()> + use<>) {
        let (client, server) = tokio::io::duplex(64);
        let service = hyper::service::service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(String::new()))
        });
        let idle = http1::Builder::new().serve_connection(TokioIo::new(server), service);
        let idle = graceful.watch(idle);
        (client, async move {
            let _ = idle.await;
        })
    }

    #[tokio::test]
    async fn connections_that_ended_are_not_called_cut() {
        let mut connections = JoinSet::new();
        for _ in 0..3 {
            connections.spawn(async {});
        }
        let graceful = GracefulShutdown::new();
        let (_client, idle) = idle(&graceful);
        connections.spawn(idle);
        connections.spawn(std::future::pending());
        let cut = finish(graceful, connections, Duration::from_millis(10)).await;
        assert_eq!(cut, 1);
    }

    /// On a busy machine a task may be a while behind its connection.
    #[tokio::test]
    async fn a_task_that_ends_after_its_connection_is_not_called_cut() {
        let mut connections = JoinSet::new();
        let graceful = GracefulShutdown::new();
        let (_client, idle) = idle(&graceful);
        connections.spawn(async move {
            idle.await;
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        });
        let cut = finish(graceful, connections, Duration::from_secs(30)).await;
        assert_eq!(cut, 0);
    }

    #[tokio::test]
    async fn what_does_not_finish_in_time_is_cut() {
        let slow = Slow::start(Duration::from_millis(10)).await;
        let stream = slow.call().await;
        slow.shutdown.begin();
        slow.serving.await.unwrap();
        assert_eq!(read(stream).await, "");
    }
}
