//! Serving on a listener.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::simulator::Simulator;

/// How long answers in progress may take once it is told to stop.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Serves until `shutdown` resolves, then lets running answers end for at most five seconds.
///
/// # Errors
/// When the listener cannot be used any longer.
pub async fn serve(
    listener: TcpListener,
    simulator: Simulator,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
    });
    let (stopping, stopped) = oneshot::channel();
    let server = axum::serve(listener, simulator.router()).with_graceful_shutdown(async move {
        shutdown.await;
        // Nobody listens any more once the server has ended by itself.
        let _ = stopping.send(());
    });
    let overdue = async {
        match stopped.await {
            Ok(()) => tokio::time::sleep(DRAIN_MAX).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        ended = server.into_future() => ended,
        () = overdue => Ok(()),
    }
}
