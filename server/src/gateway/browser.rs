//! What pages may do at the gateway.
//!
//! A page of any site can have its visitor's browser call an address on the visitor's own
//! machine or network. It cannot read the answer, but the call is made and charged. Browsers
//! say for whom they ask, in headers that no script can set: so a call made for a page is
//! let through for the sites in `cors_origins` alone, whoever its caller is otherwise, and
//! before anything else is looked at. Programs that are no browser send none of them.
//!
//! | `Origin` | `Sec-Fetch-…` | |
//! |---|---|---|
//! | none | none | a program |
//! | none | `Site: same-origin` or `none` | a person's own doing |
//! | none | any other `Site` | an image, a script, a form of some site: refused |
//! | listed | | a site's script: let through, its preflights answered here |
//! | any other, `null` too | | refused |
//! | | `Mode: navigate`, `Dest: iframe`… | a page to be shown: refused |

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD,
        DATE, ORIGIN, VARY,
    },
};

use super::{request_headers::HeaderError, response_headers::disarm};
use crate::{config::Origins, http::REQUEST_ID};

/// How long a browser may believe a preflight, in seconds: as long as the longest that any
/// engine accepts without shortening it (WebKit, 10 minutes).
const PREFLIGHT_S: HeaderValue = HeaderValue::from_static("600");

const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");

/// What is shown as a page, or in one.
const SHOWN: [&str; 5] = ["document", "embed", "frame", "iframe", "object"];

/// For whom a call is made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// No page is behind it.
    Program,
    /// A script of this listed site.
    Site(HeaderValue),
    /// A browser, before it makes a call for this listed site.
    Preflight(HeaderValue),
}

/// Says for whom a call is made.
///
/// # Errors
/// For a page that may not.
pub(super) fn asker<B>(request: &Request<B>, listed: &Origins) -> Result<Asker, HeaderError> {
    let headers = request.headers();
    let fetch = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    let shown =
        fetch(FETCH_DEST).is_some_and(|dest| SHOWN.iter().any(|shown| shown.as_bytes() == dest));
    if shown || fetch(FETCH_MODE) == Some(b"navigate") {
        return Err(HeaderError::Navigation);
    }
    let preflight =
        *request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) if listed.contains(origin) && preflight => {
            Ok(Asker::Preflight(origin.clone()))
        }
        (Some(origin), None) if listed.contains(origin) => Ok(Asker::Site(origin.clone())),
        (None, _) if !preflight => match fetch(FETCH_SITE) {
            None | Some(b"same-origin" | b"none") => Ok(Asker::Program),
            Some(_) => Err(HeaderError::Origin),
        },
        _ => Err(HeaderError::Origin),
    }
}

/// Answers a preflight: the call itself may have any method and any headers, since only it
/// is checked.
pub(super) fn preflight(asked: &HeaderMap, origin: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    for (allowed, wanted) in [
        (ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_REQUEST_METHOD),
        (ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS),
    ] {
        if let Some(wanted) = asked.get(wanted) {
            headers.insert(allowed, wanted.clone());
        }
    }
    if asked.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_S);
    let vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";
    headers.insert(VARY, HeaderValue::from_static(vary));
    disarm(headers);
    response
}

/// Lets a listed site's script read an answer, all its headers too.
pub(super) fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    // Added to the answer on its way out, where they are missing.
    let later = [REQUEST_ID, DATE];
    let later = later.iter().filter(|name| !headers.contains_key(*name));
    let names: Vec<_> = headers
        .keys()
        .chain(later)
        .map(HeaderName::as_str)
        .collect();
    if let Ok(names) = HeaderValue::try_from(names.join(", ")) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
}

/// Says that an answer depends on who asks, where it does.
pub(super) fn vary(headers: &mut HeaderMap, listed: &Origins) {
    if !listed.is_empty() {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
}

/// Whether a header says who may read an answer. What an upstream says of it is dropped: at the
/// gateway's address that is the gateway's to say.
pub(super) fn is_about_sites(name: &HeaderName) -> bool {
    [
        ACCESS_CONTROL_ALLOW_CREDENTIALS,
        ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS,
        ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE,
        ALLOW_PRIVATE_NETWORK,
    ]
    .contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn listed() -> Origins {
        let text = "[server]\ncors_origins = ['https://app.example']\n\
             [upstreams.a]\nbase_url = 'http://a/'\npresets = ['onenote']";
        Config::parse(text).unwrap().server.cors_origins
    }

    fn of(method: Method, headers: &[(&str, &str)]) -> Result<Asker, HeaderError> {
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        asker(&request.body(()).unwrap(), &listed())
    }

    #[test]
    fn a_page_calls_for_a_listed_site_or_not_at_all() {
        let app = || HeaderValue::from_static("https://app.example");
        for (headers, expected) in [
            (&[][..], Ok(Asker::Program)),
            // As Node's fetch, which is no browser.
            (&[("sec-fetch-mode", "cors")], Ok(Asker::Program)),
            (&[("sec-fetch-site", "none")], Ok(Asker::Program)),
            (&[("sec-fetch-site", "same-origin")], Ok(Asker::Program)),
            (
                &[
                    ("origin", "https://app.example"),
                    ("sec-fetch-site", "cross-site"),
                ],
                Ok(Asker::Site(app())),
            ),
            (
                &[("sec-fetch-site", "cross-site")],
                Err(HeaderError::Origin),
            ),
            (&[("sec-fetch-site", "same-site")], Err(HeaderError::Origin)),
            (
                &[("origin", "https://evil.example")],
                Err(HeaderError::Origin),
            ),
            (
                &[("origin", "http://app.example")],
                Err(HeaderError::Origin),
            ),
            (
                &[("origin", "https://app.example:444")],
                Err(HeaderError::Origin),
            ),
            (
                &[("origin", "https://app.example.evil")],
                Err(HeaderError::Origin),
            ),
            (&[("origin", "null")], Err(HeaderError::Origin)),
            (
                &[
                    ("origin", "https://app.example"),
                    ("origin", "https://evil.example"),
                ],
                Err(HeaderError::Origin),
            ),
            (
                &[("sec-fetch-mode", "navigate")],
                Err(HeaderError::Navigation),
            ),
            (
                &[
                    ("sec-fetch-mode", "navigate"),
                    ("origin", "https://app.example"),
                ],
                Err(HeaderError::Navigation),
            ),
            (
                &[("sec-fetch-dest", "iframe")],
                Err(HeaderError::Navigation),
            ),
            (
                &[("sec-fetch-dest", "object")],
                Err(HeaderError::Navigation),
            ),
            (
                &[
                    ("sec-fetch-dest", "image"),
                    ("sec-fetch-site", "cross-site"),
                ],
                Err(HeaderError::Origin),
            ),
        ] {
            assert_eq!(of(Method::GET, headers), expected, "{headers:?}");
        }
        let preflight = ("access-control-request-method", "PATCH");
        assert_eq!(
            of(
                Method::OPTIONS,
                &[("origin", "https://app.example"), preflight]
            ),
            Ok(Asker::Preflight(app()))
        );
        assert_eq!(
            of(
                Method::OPTIONS,
                &[("origin", "https://evil.example"), preflight]
            ),
            Err(HeaderError::Origin)
        );
        assert_eq!(of(Method::OPTIONS, &[preflight]), Err(HeaderError::Origin));
        assert_eq!(of(Method::OPTIONS, &[]), Ok(Asker::Program));
    }
}
