//! TLS for the listeners: a certificate that can be renewed while the server runs.
//!
//! Whoever renews certificates replaces two files, one after the other, and tells nobody.
//! So both are read every few seconds, and what they hold is compared, not their times,
//! which a mounted secret does not change. A pair that does not belong together, or is no
//! certificate at all, changes nothing: the old one goes on being served, the log says why,
//! and the next look may find the pair whole.

use std::{
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{InconsistentKeys, ServerConfig, crypto::ring};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};
use tokio::{
    net::TcpStream,
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Shutdown;
use crate::config::TlsFiles;

/// How often the files are read again.
pub const RELOAD_EVERY: Duration = Duration::from_secs(5);

/// The most that is read of a file, in bytes: a chain of a dozen certificates has some 20 KB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The protocols that are offered, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The keys of the configuration that name the files.
const CERT: &str = "server.tls_cert";
const KEY: &str = "server.tls_key";

/// A certificate and what it is served with. Clones share it.
#[derive(Clone, Debug)]
pub struct Tls {
    files: TlsFiles,
    /// What the files held at start.
    loaded: Arc<Contents>,
    current: Arc<ArcSwap<ServerConfig>>,
}

/// Why a certificate cannot be served. Names the configuration's key and the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there, or may not be read.
    #[error("{key}: {} cannot be read", path.display())]
    Unreadable {
        /// The configuration's key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{key}: {} {problem}", path.display())]
    Content {
        /// The configuration's key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What it holds, or does not.
        problem: &'static str,
    },
    /// A file is damaged.
    #[error("{key}: {} is not PEM", path.display())]
    Pem {
        /// The configuration's key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Where reading ended.
        #[source]
        source: pem::Error,
    },
    /// The key is another certificate's.
    #[error("{KEY}: {} does not belong to the certificate in {}", files.key.display(), files.cert.display())]
    Mismatch {
        /// Both files.
        files: TlsFiles,
    },
    /// No server could use the pair.
    #[error("{CERT}: {} cannot be served", path.display())]
    Unusable {
        /// The certificate's file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

/// What both files held at one time.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Contents {
    /// One of them is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").finish_non_exhaustive()
    }
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

impl Contents {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self {
            cert: read(CERT, &files.cert)?,
            key: read(KEY, &files.key)?,
        })
    }

    fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = chain(&self.cert, &files.cert)?;
        let key = private_key(&self.key, &files.key)?;
        let unusable = |source| match source {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::Mismatch {
                files: files.clone(),
            },
            source => TlsError::Unusable {
                path: files.cert.clone(),
                source,
            },
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(unusable)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Arc::new(config))
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let unreadable = |source| TlsError::Unreadable {
        key,
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(content(
            key,
            path,
            "is larger than 1 MiB: no certificate is",
        ));
    }
    Ok(bytes)
}

fn content(key: &'static str, path: &Path, problem: &'static str) -> TlsError {
    TlsError::Content {
        key,
        path: path.to_owned(),
        problem,
    }
}

fn chain(bytes: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(bytes)
        .collect::<Result<_, _>>()
        .map_err(|source| damaged(CERT, path, source))?;
    if chain.is_empty() {
        return Err(content(CERT, path, "holds no certificate (PEM is needed)"));
    }
    Ok(chain)
}

fn private_key(bytes: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|source| match source {
        pem::Error::NoItemsFound if is_encrypted(bytes) => content(
            KEY,
            path,
            "is encrypted; write it without a passphrase, readable for Spillway alone",
        ),
        pem::Error::NoItemsFound => content(KEY, path, "holds no private key (PEM is needed)"),
        source => damaged(KEY, path, source),
    })
}

fn is_encrypted(bytes: &[u8]) -> bool {
    let mark = b"ENCRYPTED PRIVATE KEY";
    bytes.windows(mark.len()).any(|window| window == mark)
}

fn damaged(key: &'static str, path: &Path, source: pem::Error) -> TlsError {
    TlsError::Pem {
        key,
        path: path.to_owned(),
        source,
    }
}
