//! TLS for the listeners: a certificate that can be renewed while the server runs.
//!
//! Whoever renews certificates replaces two files, one after the other, and tells nobody.
//! So both are read every few seconds, and what they hold is compared, not their times,
//! which a mounted secret does not change. A pair that does not belong together, or is no
//! certificate at all, changes nothing: the old one goes on being served, the log says why,
//! and the next look may find the pair whole.

mod contents;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use tokio::{
    net::TcpStream,
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Shutdown;
use crate::config::TlsFiles;
use contents::Contents;
pub use contents::TlsError;

/// How often the files are read again.
pub const RELOAD_EVERY: Duration = Duration::from_secs(5);

/// A certificate and what it is served with. Clones share it.
#[derive(Clone, Debug)]
pub struct Tls {
    files: TlsFiles,
    /// What the files held at start.
    loaded: Arc<Contents>,
    current: Arc<ArcSwap<ServerConfig>>,
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// A file cannot be read or holds something else, or the two do not belong together.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = Contents::read(&files)?;
        Ok(Self {
            current: Arc::new(ArcSwap::from(loaded.config(&files)?)),
            loaded: Arc::new(loaded),
            files,
        })
    }

    /// Does a client's handshake. May take for ever: the client decides.
    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.current.load_full())
            .accept(stream)
            .await
    }

    /// Reads the files again `every` so often, and at SIGHUP, until `shutdown` begins.
    /// Connections made later get the new certificate; those that are open keep theirs.
    /// SIGHUP, which would end the process, means this from the call on.
    pub fn keep_current(self, every: Duration, shutdown: Shutdown) -> impl Future<Output = ()> {
        let mut hang_up = signal(SignalKind::hangup()).ok();
        async move {
            let mut looks = interval(every);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut watch = Watch::after(&self.loaded);
            loop {
                tokio::select! {
                    () = shutdown.begun() => return,
                    _ = looks.tick() => {}
                    () = hung_up(&mut hang_up) => tracing::info!("SIGHUP: reading the certificate again"),
                }
                let files = self.files.clone();
                let read = tokio::task::spawn_blocking(move || Contents::read(&files)).await;
                if let Ok(read) = read {
                    watch.look(&self, read);
                }
            }
        }
    }
}

/// Waits for the next SIGHUP; for ever where the system does not tell of it.
async fn hung_up(hang_up: &mut Option<tokio::signal::unix::Signal>) {
    let told = match hang_up {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if told.is_none() {
        std::future::pending::<()>().await;
    }
}

/// What the last look at the files came to.
struct Watch {
    seen: Contents,
    problem: Option<String>,
}

impl Watch {
    fn after(loaded: &Contents) -> Self {
        Self {
            seen: loaded.clone(),
            problem: None,
        }
    }

    /// Serves what is new. Each problem is told once, not at every look.
    fn look(&mut self, tls: &Tls, read: Result<Contents, TlsError>) {
        let contents = match read {
            Ok(contents) => contents,
            Err(error) => return self.complain(&error),
        };
        if self.seen == contents {
            return;
        }
        match contents.config(&tls.files) {
            Ok(config) => {
                tls.current.store(config);
                self.problem = None;
                tracing::info!("a new certificate is served");
            }
            Err(error) => self.complain(&error),
        }
        self.seen = contents;
    }

    fn complain(&mut self, error: &TlsError) {
        let problem = error.to_string();
        if self.problem.as_ref() != Some(&problem) {
            let error = error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the certificate cannot be renewed; the old one is still served"
            );
            self.problem = Some(problem);
        }
    }
}
