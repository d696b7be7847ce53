//! `tls_cert` and `tls_key`: both listeners speak TLS, or neither.

use std::path::PathBuf;

use super::{Error, WebAddress};

/// Where the certificate and its key are, both PEM. Read when the server starts and again
/// whenever they change, see [`crate::http::Tls`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, then those that lead from it to a root that clients trust.
    pub cert: PathBuf,
    /// Its private key, not encrypted.
    pub key: PathBuf,
}

/// Both or none.
pub(super) fn files(
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<Option<TlsFiles>, Error> {
    let missing = |missing: &str, given: &str| {
        Err(Error::invalid(
            missing,
            format!("is needed where {given} is given"),
        ))
    };
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
        (None, None) => Ok(None),
        (Some(_), None) => missing("server.tls_key", "server.tls_cert"),
        (None, Some(_)) => missing("server.tls_cert", "server.tls_key"),
    }
}

/// Who speaks TLS is reached by `https`. Without TLS either scheme may be right: a proxy in
/// front may speak it instead.
pub(super) fn check_url(
    tls: Option<&TlsFiles>,
    key: &str,
    url: Option<&WebAddress>,
) -> Result<(), Error> {
    match url {
        Some(url) if tls.is_some() && !url.is_secure() => Err(Error::invalid(
            key,
            "must begin with https:// where server.tls_cert is given",
        )),
        _ => Ok(()),
    }
}
