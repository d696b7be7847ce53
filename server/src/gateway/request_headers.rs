//! What of a call's headers is meant for Spillway, and what goes on to the upstream.

use std::collections::HashSet;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{
        CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
        TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
    uri::Authority,
};
use spillway::Lane;

use super::cookies::drop_session;

/// What the names of Spillway's own headers begin with.
pub(super) const OWN_PREFIX: &str = "spillway-";

/// What a call asks of Spillway itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `Spillway-User`: for whom it is.
    pub user: Option<String>,
    /// `Spillway-App`: on whose behalf.
    pub app: Option<String>,
    /// `Spillway-Lane`: who waits for it; a person where nothing is said.
    pub lane: Option<Lane>,
    /// `Spillway-Weight`: what it costs in rate layers, at least 1.
    pub weight: Option<u32>,
    /// `Spillway-Wait-Ms`: how long it may be held, wall time.
    pub wait_ms: Option<u64>,
}

/// Why a call is refused for its headers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// One of Spillway's own headers twice.
    #[error("{0} is given more than once")]
    Duplicate(HeaderName),
    /// One of Spillway's own headers named in `Connection`.
    #[error("Connection may not name {0}")]
    Hidden(HeaderName),
    /// A value that means nothing.
    #[error("{0} {1}")]
    Malformed(&'static str, &'static str),
    /// A page was opened at the gateway.
    #[error("the gateway serves programs; it is no page to open")]
    Navigation,
    /// A page of a site that is not listed.
    #[error("pages of that site may not call the gateway; see server.cors_origins")]
    Origin,
    /// A protocol that is no call and answer.
    #[error("web sockets and tunnels are not supported")]
    Upgrade,
    /// `Expect` with anything but `100-continue`.
    #[error("the only expectation that can be met is 100-continue")]
    Expectation,
}

/// Reads what is meant for Spillway.
///
/// # Errors
/// See [`HeaderError`]; nothing has been sent then.
pub fn read(method: &Method, headers: &HeaderMap) -> Result<Asked, HeaderError> {
    refuse_ambiguity(headers)?;
    refuse_what_is_no_call(method, headers)?;
    Ok(Asked {
        user: text(headers, "spillway-user")?,
        app: text(headers, "spillway-app")?,
        lane: lane(headers)?,
        weight: number(
            headers,
            "spillway-weight",
            1,
            "must be a whole number from 1 to 4294967295",
        )?,
        wait_ms: number(
            headers,
            "spillway-wait-ms",
            0,
            "must be a whole number of milliseconds",
        )?,
    })
}

/// Leaves of `headers` what the upstream may see, and names it as the host.
pub fn forward(headers: &mut HeaderMap, upstream: &Authority) {
    // With both, the length is a lie (RFC 9112, 6.3) that some server may believe.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    drop_hop_by_hop_and_own(headers);
    // The connection's own matter: the body's first read answers `100 Continue`.
    headers.remove(EXPECT);
    drop_session(headers);
    if let Ok(host) = HeaderValue::from_str(upstream.as_str()) {
        headers.insert(HOST, host);
    }
}

/// Whether a header is Spillway's own.
fn is_own(name: &HeaderName) -> bool {
    name.as_str().starts_with(OWN_PREFIX)
}

/// Removes what is nobody's business behind the gateway, in either direction: what concerns
/// one connection only, all that `Connection` says does, and Spillway's own headers.
pub(super) fn drop_hop_by_hop_and_own(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
    let own: Vec<_> = headers
        .keys()
        .filter(|name| is_own(name))
        .cloned()
        .collect();
    for name in own {
        headers.remove(name);
    }
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    for name in named_in_connection(headers) {
        headers.remove(name);
    }
    for name in hop_by_hop() {
        headers.remove(name);
    }
}

fn hop_by_hop() -> [HeaderName; 11] {
    [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        HeaderName::from_static("proxy-authentication-info"),
        HeaderName::from_static("proxy-connection"),
        HeaderName::from_static("http2-settings"),
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ]
}

/// Whether a header concerns one connection only, or is Spillway's own.
pub(super) fn is_hop_by_hop_or_own(name: &HeaderName) -> bool {
    is_own(name) || hop_by_hop().contains(name)
}

/// Whether a header of one part of a batch goes on to the upstream. It has neither a
/// connection nor a host of its own, and no session is in it.
pub(super) fn passes(name: &HeaderName) -> bool {
    !is_hop_by_hop_or_own(name) && ![HOST, EXPECT, COOKIE].contains(name)
}

fn named_in_connection(headers: &HeaderMap) -> HashSet<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    names
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

fn refuse_ambiguity(headers: &HeaderMap) -> Result<(), HeaderError> {
    let twice = |name: &&HeaderName| is_own(name) && headers.get_all(*name).iter().nth(1).is_some();
    if let Some(name) = headers.keys().find(twice) {
        return Err(HeaderError::Duplicate(name.clone()));
    }
    match named_in_connection(headers).into_iter().find(is_own) {
        Some(name) => Err(HeaderError::Hidden(name)),
        None => Ok(()),
    }
}

fn refuse_what_is_no_call(method: &Method, headers: &HeaderMap) -> Result<(), HeaderError> {
    let says = |name: &str, what: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| {
            value
                .as_bytes()
                .trim_ascii()
                .eq_ignore_ascii_case(what.as_bytes())
        })
    };
    if says("upgrade", "websocket") || *method == Method::CONNECT {
        return Err(HeaderError::Upgrade);
    }
    if headers.contains_key(EXPECT) && !says("expect", "100-continue") {
        return Err(HeaderError::Expectation);
    }
    Ok(())
}

fn text(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, HeaderError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| HeaderError::Malformed(name, "must be UTF-8"))?
        .trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(HeaderError::Malformed(
            name,
            "must be neither empty nor hold control characters",
        ));
    }
    Ok(Some(text.to_owned()))
}

fn lane(headers: &HeaderMap) -> Result<Option<Lane>, HeaderError> {
    let name = "spillway-lane";
    match headers.get(name).map(HeaderValue::as_bytes) {
        None => Ok(None),
        Some(b"foreground") => Ok(Some(Lane::Foreground)),
        Some(b"background") => Ok(Some(Lane::Background)),
        Some(_) => Err(HeaderError::Malformed(
            name,
            "must be foreground or background",
        )),
    }
}

/// Digits only: `u64`'s own parser would take a sign.
fn number<N: TryFrom<u64>>(
    headers: &HeaderMap,
    name: &'static str,
    min: u64,
    problem: &'static str,
) -> Result<Option<N>, HeaderError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let digits = value
        .to_str()
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits
        .and_then(|digits| digits.parse().ok())
        .filter(|&number| number >= min);
    match number.and_then(|number| N::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(HeaderError::Malformed(name, problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn asked(pairs: &[(&str, &str)]) -> Result<Asked, HeaderError> {
        read(&Method::GET, &headers(pairs))
    }

    fn forwarded(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut headers = headers(pairs);
        forward(&mut headers, &Authority::from_static("up.example:8443"));
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect()
    }

    #[test]
    fn what_is_asked_is_read() {
        let all = asked(&[
            ("Spillway-User", " Ann "),
            ("Spillway-App", "é"),
            ("Spillway-Lane", "background"),
            ("Spillway-Weight", "5"),
            ("Spillway-Wait-Ms", "0"),
        ]);
        let expected = Asked {
            user: Some("Ann".into()),
            app: Some("é".into()),
            lane: Some(Lane::Background),
            weight: Some(5),
            wait_ms: Some(0),
        };
        assert_eq!(all, Ok(expected));
        assert_eq!(asked(&[]), Ok(Asked::default()));
    }

    #[test]
    fn malformed_values_are_refused() {
        for (name, value) in [
            ("spillway-weight", "0"),
            ("spillway-weight", "-1"),
            ("spillway-weight", "+1"),
            ("spillway-weight", "1.5"),
            ("spillway-weight", ""),
            ("spillway-weight", "4294967296"),
            ("spillway-wait-ms", "soon"),
            ("spillway-wait-ms", "-1"),
            ("spillway-wait-ms", ""),
            ("spillway-wait-ms", "99999999999999999999"),
            ("spillway-lane", "Foreground"),
            ("spillway-lane", ""),
            ("spillway-user", ""),
            ("spillway-app", " "),
        ] {
            let refused = asked(&[(name, value)]).unwrap_err();
            assert!(
                matches!(refused, HeaderError::Malformed(n, _) if n == name),
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn ambiguity_is_refused() {
        assert!(matches!(
            asked(&[("spillway-user", "a"), ("Spillway-User", "b")]),
            Err(HeaderError::Duplicate(_))
        ));
        assert!(matches!(
            asked(&[("spillway-unknown", "a"), ("spillway-unknown", "a")]),
            Err(HeaderError::Duplicate(_))
        ));
        for value in [
            "Spillway-User",
            "close, SPILLWAY-TOKEN",
            "x ,spillway-lane,",
        ] {
            assert!(matches!(
                asked(&[("connection", value)]),
                Err(HeaderError::Hidden(_))
            ));
        }
    }

    #[test]
    fn what_is_no_call_is_refused() {
        assert_eq!(
            asked(&[("upgrade", "WebSocket")]),
            Err(HeaderError::Upgrade)
        );
        assert!(read(&Method::OPTIONS, &HeaderMap::new()).is_ok());
        assert_eq!(
            read(&Method::CONNECT, &HeaderMap::new()),
            Err(HeaderError::Upgrade)
        );
        assert_eq!(
            asked(&[("expect", "a-miracle")]),
            Err(HeaderError::Expectation)
        );
        assert!(
            asked(&[
                ("sec-fetch-mode", "cors"),
                ("expect", "100-Continue"),
                ("upgrade", "h2c")
            ])
            .is_ok()
        );
    }

    #[test]
    fn only_what_is_the_upstream_s_goes_on() {
        let passed = forwarded(&[
            ("host", "gateway:3001"),
            ("spillway-token", "s"),
            ("spillway-anything", "s"),
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "close"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("content-length", "3"),
            ("authorization", "Bearer t"),
            ("x-custom", "1"),
            ("x-custom", "2"),
        ]);
        let expected = [
            ("host", "up.example:8443"),
            ("authorization", "Bearer t"),
            ("x-custom", "1"),
            ("x-custom", "2"),
        ];
        let mut passed: Vec<_> = passed
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        passed.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(passed, expected);
    }

    #[test]
    fn a_length_alone_is_kept() {
        assert!(
            forwarded(&[("content-length", "3")]).contains(&("content-length".into(), "3".into()))
        );
    }
}
