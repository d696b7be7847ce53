//! The end of the process, announced to everything that would outlast it.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Says that the end has begun. Clones share one announcement.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    /// An end that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that begins with SIGTERM or SIGINT.
    ///
    /// # Errors
    /// The signals cannot be listened for.
    pub fn on_signals() -> std::io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let shutdown = Self::new();
        let begins = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("SIGTERM: shutting down"),
                _ = interrupt.recv() => tracing::info!("SIGINT: shutting down"),
            }
            begins.begin();
        });
        Ok(shutdown)
    }

    /// Announces the end: no new work; endless answers end now.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has been announced.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is announced.
    pub async fn begun(&self) {
        // The sender is `self`: it cannot be gone.
        let _ = self.0.subscribe().wait_for(|begun| *begun).await;
    }
}
