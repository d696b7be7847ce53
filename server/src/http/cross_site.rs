//! Other sites' pages may change nothing.
//!
//! A browser sends what a page of any site asks it to: a form, or a script's `POST` of plain
//! text, needs no permission, only its answer cannot be read. Where the server is open that
//! would be enough to act, and where people sign in the browser would add their cookie. Browsers
//! say for whom they ask, in headers that no page can set. Programs that are no browser send
//! neither header, and nobody can make them ask.
//!
//! | `Sec-Fetch-Site` | `Origin` | a request that changes something |
//! |---|---|---|
//! | `same-origin`, `none` | | is let through |
//! | anything else, or several | | 403 |
//! | not sent | none | is let through: a program |
//! | not sent | the host that is asked | is let through |
//! | not sent | another, `null`, or several | 403 |
//!
//! Which hosts may be asked is checked before ([`super::hosts`]).

use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{GetAll, HOST, ORIGIN},
    uri::{Authority, Uri},
};

use super::Problem;

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Why a request is refused: it changes something, and another site's page has made it.
pub(crate) fn refusal<B>(request: &Request<B>) -> Option<Problem> {
    if is_safe(request.method()) || is_own(request.headers()) {
        return None;
    }
    let title = "Pages of other sites may not change anything here";
    let problem = Problem::new(StatusCode::FORBIDDEN, "origin_not_allowed", title);
    Some(problem.detail(
        "Origin or Sec-Fetch-Site says that another site's page asks. Programs send neither.",
    ))
}

/// Whether a request of this method changes nothing (RFC 9110, 9.2.1).
fn is_safe(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

fn is_own(headers: &HeaderMap) -> bool {
    let site = headers.get_all(SEC_FETCH_SITE);
    if site.iter().next().is_some() {
        return only(site).is_some_and(|site| site == "same-origin" || site == "none");
    }
    let origin = headers.get_all(ORIGIN);
    if origin.iter().next().is_none() {
        return true;
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    match (only(origin), host) {
        (Some(origin), Some(host)) => is_of(origin, host),
        _ => false,
    }
}

fn only(values: GetAll<'_, HeaderValue>) -> Option<&str> {
    let mut values = values.iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only.to_str().ok(),
        _ => None,
    }
}

/// Whether `origin` is a page of `host`: with its scheme's port, or without. Which scheme it is
/// cannot be told from the request where a proxy speaks TLS.
fn is_of(origin: &str, host: &str) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else {
        return false;
    };
    let port = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return false,
    };
    let full = |authority: &Authority| {
        let host = authority.host().to_ascii_lowercase();
        (host, authority.port_u16().unwrap_or(port))
    };
    match (origin.authority(), host.parse::<Authority>()) {
        (Some(origin), Ok(host)) => full(origin) == full(&host),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(pairs: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "spillway.example:8443".parse().unwrap());
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        is_own(&headers)
    }

    #[test]
    fn programs_and_the_pages_of_this_host_may_change_something() {
        for headers in [
            &[][..],
            &[("origin", "https://spillway.example:8443")],
            &[("origin", "http://Spillway.Example:8443")],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[
                ("sec-fetch-site", "same-origin"),
                ("origin", "https://spillway.example:8443"),
            ],
        ] {
            assert!(own(headers), "{headers:?}");
        }
        assert!(is_of("https://a.example", "a.example:443"));
        assert!(is_of("http://a.example", "A.example"));
        assert!(is_of("http://[::1]:3000", "[::1]:3000"));
    }

    #[test]
    fn other_sites_pages_may_not() {
        for headers in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "https://spillway.example")],
            &[("origin", "https://spillway.example:8443.evil.example")],
            &[("origin", "https://spillway.example:8443@evil.example")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("origin", "file://")],
            &[("origin", "chrome-extension://spillway.example:8443")],
            &[
                ("origin", "https://spillway.example:8443"),
                ("origin", "https://evil.example"),
            ],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "")],
            &[
                ("sec-fetch-site", "cross-site"),
                ("origin", "https://spillway.example:8443"),
            ],
            &[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!own(headers), "{headers:?}");
        }
        assert!(!is_of("https://a.example", "a.example:80"));
        assert!(!is_of("http://a.example:3001", "a.example:3000"));
    }
}
