//! The Host allow-list.
//!
//! A page of any site can point its own name at this machine and have a visitor's browser
//! talk to Spillway as if it were that site (DNS rebinding). The browser cannot help but
//! name the site in `Host`, so whoever names a host that is not ours is refused: 421.

use std::collections::BTreeSet;

use http::{HeaderValue, Request, StatusCode, Version, header, uri::Authority};

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
        self.0.contains(host) || self.0.contains(&host.to_ascii_lowercase())
    }
}

/// What is wrong with the hosts that a request names; where nothing is, it names its host in
/// the header afterwards.
pub(super) fn problem<B>(hosts: &AllowedHosts, request: &mut Request<B>) -> Option<Problem> {
    match named(request) {
        Named::Nothing => {
            let title = "A request must name exactly one host";
            Some(Problem::new(StatusCode::BAD_REQUEST, "host_missing", title))
        }
        Named::Two => {
            let title = "A request may not name two hosts";
            Some(Problem::new(
                StatusCode::BAD_REQUEST,
                "host_ambiguous",
                title,
            ))
        }
        Named::One(host) if hosts.contains(host) => None,
        // In the absolute form the address line wins over the header: both must be ours.
        Named::Hosts(header, line) if [header, line].iter().all(|host| hosts.contains(host)) => {
            if !request.headers().contains_key(header::HOST)
                && let Ok(host) = HeaderValue::from_str(line)
            {
                request.headers_mut().insert(header::HOST, host);
            }
            None
        }
        Named::One(_) | Named::Hosts(..) => {
            let title = "This server does not answer for that host";
            let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", title);
            let detail =
                "Use one of the addresses it was configured with; see server.allowed_hosts.";
            Some(problem.detail(detail))
        }
    }
}

/// What hosts a request names.
enum Named<'a> {
    Nothing,
    /// Different ones where only one can be meant.
    Two,
    /// In the header alone.
    One(&'a str),
    /// In the header and in the address; the same where only the latter names one.
    Hosts(&'a str, &'a str),
}

/// HTTP/1.1 names its host in the header, and perhaps in the address, too. HTTP/2 names it in
/// the address; a header beside it must say the same (RFC 9113, 8.3.1).
fn named<B>(request: &Request<B>) -> Named<'_> {
    let line = request.uri().authority().map(Authority::as_str);
    let mut headers = request.headers().get_all(header::HOST).iter();
    // Text that is not visible ASCII is no host of ours.
    let header = headers.next().map(|host| host.to_str().unwrap_or(""));
    if headers.next().is_some() {
        return Named::Two;
    }
    let is_http2 = request.version() == Version::HTTP_2;
    match (header, line) {
        (Some(header), Some(line)) if is_http2 && !header.eq_ignore_ascii_case(line) => Named::Two,
        (Some(header), Some(line)) => Named::Hosts(header, line),
        (Some(header), None) => Named::One(header),
        (None, Some(line)) if is_http2 => Named::Hosts(line, line),
        (None, _) => Named::Nothing,
    }
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
