//! A listener: bound early, served with bounds, ended with grace.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Answer, Shutdown, Tls,
    calls::Calls,
    connection::{self, Patience, Terms},
    places::{Place, Places},
};

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

/// A port that is taken, and how it is spoken to.
#[derive(Debug)]
pub struct Listener {
    /// What the log calls it.
    pub name: &'static str,
    /// The port.
    pub socket: TcpListener,
    /// What it speaks TLS with; `None`: it does not.
    pub tls: Option<Tls>,
}

/// Has `inside` answer calls until `shutdown` begins; then takes nothing new and gives what is in
/// flight `grace` to finish.
pub async fn serve<A: Answer>(listener: Listener, inside: A, shutdown: Shutdown, grace: Duration) {
    let places = Places::new();
    let terms = Terms {
        calls: Calls::new(listener.name, inside),
        tls: listener.tls,
        shutdown: shutdown.clone(),
        patience: Patience::default(),
    };
    let mut connections = JoinSet::new();
    let mut end = pin!(shutdown.begun());
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = accept(&listener.socket, &places) => accepted,
        };
        while connections.try_join_next().is_some() {}
        if let Some((stream, place)) = accepted {
            let connection = connection::serve(stream, terms.clone());
            connections.spawn(async move {
                connection.await;
                drop(place);
            });
        }
    }
    drop(listener.socket);
    let cut = finish(connections, grace).await;
    if cut > 0 {
        tracing::warn!(
            connections = cut,
            "cut connections whose calls did not finish in time"
        );
    }
}

/// Waits for connections, which end by themselves: idle ones at once, the others after
/// their calls. Says how many had to be cut.
async fn finish(mut connections: JoinSet<()>, grace: Duration) -> usize {
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(grace, ended).await;
    connections.abort_all();
    let mut cut = 0;
    while let Some(ended) = connections.join_next().await {
        cut += usize::from(ended.is_err_and(|error| error.is_cancelled()));
    }
    cut
}

async fn accept(listener: &TcpListener, places: &Arc<Places>) -> Option<(TcpStream, Place)> {
    let room = places.room().await?;
    match listener.accept().await {
        Ok((stream, client)) => {
            // Events are small and must not wait for more of them.
            let _ = stream.set_nodelay(true);
            let place = places.take(room, client.ip());
            if place.is_none() {
                tracing::debug!(%client, "a client has too many connections");
            }
            Some((stream, place?))
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
    use axum::{Router, routing::get};
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
            let listener = Listener {
                name: "test",
                socket: listener,
                tls: None,
            };
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

    #[tokio::test]
    async fn connections_that_ended_are_not_called_cut() {
        let mut connections = JoinSet::new();
        for _ in 0..3 {
            connections.spawn(async {});
        }
        connections.spawn(std::future::pending());
        let cut = finish(connections, Duration::from_millis(10)).await;
        assert_eq!(cut, 1);
    }

    #[tokio::test]
    async fn an_idle_connection_ends_at_once() {
        let slow = Slow::start(Duration::from_secs(30)).await;
        let stream = slow.call().await;
        slow.finish.notify_one();
        let mut begun = [0; 8];
        let mut stream = stream;
        stream.read_exact(&mut begun).await.unwrap();
        slow.shutdown.begin();
        let ended = timeout(Duration::from_secs(10), slow.serving).await;
        ended.expect("nothing is in flight").unwrap();
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
