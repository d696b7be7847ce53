//! A certificate authority for one run on one machine.
//!
//! Clients that insist on `https` have to be told to trust it, and whoever trusts an
//! authority trusts all that it signs. So its key is never written down, it may sign for
//! loopback alone, and it ends after a quarter of a year.

use std::{
    fs::File,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CidrSubnet, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints,
};

use crate::config::TlsFiles;

/// How long its certificates hold, from a day before they are made: clocks differ.
const DAYS: i64 = 90;

/// The authority.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    now: Timestamp,
}

/// A certificate and its key, both PEM.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate.
    pub cert: String,
    /// Its private key.
    pub key: String,
}

/// What was written for a server and its clients.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// What clients are told to trust.
    pub(super) ca: PathBuf,
    /// What the server is told to serve.
    pub(super) server: TlsFiles,
}

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None could be made.
    #[error("no certificate can be made")]
    Made(#[from] rcgen::Error),
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Written {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Authority {
    /// A new one, made at `now`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(now: Timestamp) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        named(&mut params, "Spillway demo CA, this machine only");
        lasting(&mut params, now);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let loopback = |address: IpAddr, bits| {
            GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(address, bits))
        };
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![
                GeneralSubtree::DnsName("localhost".into()),
                loopback(Ipv4Addr::LOCALHOST.into(), 8),
                loopback(Ipv6Addr::LOCALHOST.into(), 128),
            ],
            excluded_subtrees: Vec::new(),
        });
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer, now })
    }

    /// What clients are told to trust, PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server's certificate for `names`: `localhost`, names under it, loopback addresses.
    ///
    /// # Errors
    /// A name is none.
    pub fn certify(&self, names: &[String]) -> Result<Certificate, Error> {
        let mut params = CertificateParams::new(names)?;
        named(&mut params, "Spillway");
        lasting(&mut params, self.now);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        Ok(Certificate {
            cert: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Makes an authority and a certificate for `addresses` and `localhost`, and writes them
/// into `folder`.
pub(super) fn write(
    folder: &Path,
    addresses: impl IntoIterator<Item = IpAddr>,
    now: Timestamp,
) -> Result<Files, Error> {
    let mut names = vec!["localhost".to_owned()];
    for address in addresses {
        let address = address.to_string();
        if !names.contains(&address) {
            names.push(address);
        }
    }
    let authority = Authority::new(now)?;
    let server = authority.certify(&names)?;
    let files = Files {
        ca: folder.join("ca.pem"),
        server: TlsFiles {
            cert: folder.join("server.pem"),
            key: folder.join("server.key"),
        },
    };
    put(&files.ca, &authority.pem(), 0o644)?;
    put(&files.server.cert, &server.cert, 0o644)?;
    put(&files.server.key, &server.key, 0o600)?;
    Ok(files)
}

fn named(params: &mut CertificateParams, name: &str) {
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, name);
}

fn lasting(params: &mut CertificateParams, now: Timestamp) {
    let day = |days: i64| {
        let date = date(now, days);
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(date.year().into(), month, day)
    };
    params.not_before = day(-1);
    params.not_after = day(DAYS);
}

fn date(now: Timestamp, days: i64) -> Date {
    let at = now.saturating_add(SignedDuration::from_hours(24 * days));
    TimeZone::UTC.to_datetime(at.unwrap_or(now)).date()
}

/// Replaces the file, so that one with a wider mode does not keep it.
fn put(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let written = || {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())
    };
    written().map_err(|source| Error::Written {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, sync::Arc};

    use rustls::{
        RootCertStore,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
        crypto::ring,
    };
    use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject as _};

    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T00:30:00Z".parse().unwrap()
    }

    /// Whether a client that trusts `authority` takes its certificate for `name`, so many
    /// days after it was made.
    fn trusts(authority: &Authority, name: &str, days: i64) -> bool {
        let pem = |text: &str| CertificateDer::from_pem_slice(text.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(pem(&authority.pem())).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
        let certificate = authority.certify(&[name.to_owned()]).unwrap();
        let at = now() + SignedDuration::from_hours(24 * days);
        let at = std::time::Duration::from_secs(at.as_second().unsigned_abs());
        verifier
            .verify_server_cert(
                &pem(&certificate.cert),
                &[],
                &name.to_owned().try_into().unwrap(),
                &[],
                UnixTime::since_unix_epoch(at),
            )
            .is_ok()
    }

    #[test]
    fn it_is_trusted_for_this_machine_alone_and_for_a_while() {
        let authority = Authority::new(now()).unwrap();
        for name in [
            "localhost",
            "graph.localhost",
            "127.0.0.1",
            "127.8.0.1",
            "::1",
        ] {
            assert!(trusts(&authority, name, 0), "{name}");
        }
        for name in ["graph.microsoft.com", "192.0.2.1", "::2"] {
            assert!(!trusts(&authority, name, 0), "{name}");
        }
        assert!(trusts(&authority, "localhost", DAYS - 1));
        assert!(!trusts(&authority, "localhost", DAYS + 1));
    }

    #[test]
    fn the_key_is_its_owner_s_alone_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("server.key");
        std::fs::write(&key, "old").unwrap();
        std::fs::set_permissions(&key, Permissions::from_mode(0o666)).unwrap();
        let files = write(folder.path(), [IpAddr::from([127, 0, 0, 1])], now()).unwrap();
        let mode = std::fs::metadata(&files.server.key).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        crate::http::Tls::load(files.server).unwrap();
        assert!(
            std::fs::read_to_string(&files.ca)
                .unwrap()
                .contains("BEGIN")
        );
    }
}
