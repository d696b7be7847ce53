//! The Host allow-list.
//!
//! A page of any site can point its own name at this machine and have a visitor's browser
//! talk to Spillway as if it were that site (DNS rebinding). The browser cannot help but
//! name the site in `Host`, so whoever names a host that is not ours is refused: 421.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header, uri::Authority};

use super::Problem;
use crate::config::WebAddress;

/// The hosts that requests may name, in all their spellings, lower-case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts(BTreeSet<String>);

impl AllowedHosts {
    /// The hosts of `addresses`: with their port, and without where it is the scheme's own.
    pub fn of<'a>(addresses: impl IntoIterator<Item = &'a WebAddress>) -> Self {
        let spellings = addresses.into_iter().flat_map(|address| {
            let host = address.authority().host().to_ascii_lowercase();
            let with_port = format!("{host}:{}", address.port());
            let default = address.port() == if address.is_secure() { 443 } else { 80 };
            [Some(with_port), default.then_some(host)]
        });
        Self(spellings.flatten().collect())
    }

    /// `hosts` as configured; one without a port is meant with either scheme's own.
    pub fn named(hosts: &[Authority]) -> Self {
        let spellings = hosts.iter().flat_map(|host| {
            let host = host.as_str().to_ascii_lowercase();
            match host
                .parse::<Authority>()
                .ok()
                .and_then(|host| host.port_u16())
            {
                Some(_) => vec![host],
                None => vec![format!("{host}:80"), format!("{host}:443"), host],
            }
        });
        Self(spellings.collect())
    }

    /// Whether requests may name `host`.
    pub fn contains(&self, host: &str) -> bool {
        self.0.contains(&host.to_ascii_lowercase())
    }
}

/// Lets a request pass that names an allowed host, everywhere that it names one.
pub(super) async fn check(
    State(hosts): State<Arc<AllowedHosts>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(host) = the_only_host(request.headers()) else {
        let title = "A request must name exactly one host";
        return Problem::new(StatusCode::BAD_REQUEST, "host_missing", title).into_response();
    };
    // In the absolute form the address line wins over the header: both must be ours.
    let line = request.uri().authority().map(Authority::as_str);
    if hosts.contains(host) && line.is_none_or(|host| hosts.contains(host)) {
        next.run(request).await
    } else {
        let title = "This server does not answer for that host";
        Problem::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", title)
            .detail("Use one of the addresses it was configured with; see server.allowed_hosts.")
            .into_response()
    }
}

/// The header's value; text that is not visible ASCII is no host of ours.
fn the_only_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?;
    if hosts.next().is_some() {
        return None;
    }
    Some(host.to_str().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> AllowedHosts {
        AllowedHosts::of([&address.parse().unwrap()])
    }

    #[test]
    fn a_port_of_its_own_must_be_named() {
        let hosts = of("http://127.0.0.1:3000");
        assert!(hosts.contains("127.0.0.1:3000"));
        for other in [
            "127.0.0.1",
            "127.0.0.1:3001",
            "localhost:3000",
            "evil.example:3000",
            "",
        ] {
            assert!(!hosts.contains(other), "{other}");
        }
    }

    #[test]
    fn the_schemes_port_may_be_named() {
        let hosts = of("https://Spillway.example.org");
        assert!(hosts.contains("spillway.example.org"));
        assert!(hosts.contains("SPILLWAY.example.org:443"));
        assert!(!hosts.contains("spillway.example.org:80"));
    }

    #[test]
    fn configured_hosts_count_with_either_schemes_port() {
        let hosts =
            AllowedHosts::named(&["a.example".parse().unwrap(), "[::1]:8443".parse().unwrap()]);
        assert!(
            ["a.example", "a.example:80", "a.example:443", "[::1]:8443"]
                .iter()
                .all(|h| hosts.contains(h))
        );
        assert!(!hosts.contains("[::1]"));
    }
}
