//! A certificate and its key, as two files hold them.

use std::{
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{InconsistentKeys, ServerConfig, crypto::ring};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};

use crate::config::TlsFiles;

/// The most that is read of a file, in bytes: a chain of a dozen certificates has some 20 KB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The protocols that are offered, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The keys of the configuration that name the files.
const CERT: &str = "server.tls_cert";
const KEY: &str = "server.tls_key";

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
pub(super) struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Contents {
    /// One of them is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").finish_non_exhaustive()
    }
}

impl Contents {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Self {
            cert: read(CERT, &files.cert)?,
            key: read(KEY, &files.key)?,
        })
    }

    pub(super) fn config(&self, files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
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
