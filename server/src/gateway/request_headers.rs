//! What of a call's headers is meant for Spillway; [`onward`] says what goes on to the upstream.

mod onward;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, EXPECT},
};
use spillway::Lane;

pub use onward::forward;
use onward::named_in_connection;
pub(super) use onward::{drop_hop_by_hop_and_own, is_hop_by_hop_or_own, passes};

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
    /// One of Spillway's own headers, or the credential, named in `Connection`.
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

/// Whether a header is Spillway's own.
fn is_own(name: &HeaderName) -> bool {
    name.as_str().starts_with(OWN_PREFIX)
}

fn refuse_ambiguity(headers: &HeaderMap) -> Result<(), HeaderError> {
    let twice = |name: &&HeaderName| is_own(name) && headers.get_all(*name).iter().nth(1).is_some();
    if let Some(name) = headers.keys().find(twice) {
        return Err(HeaderError::Duplicate(name.clone()));
    }
    // Dropped on the way, a credential would be accepted for an answer that never saw it.
    let must_not_hide = |name: &HeaderName| is_own(name) || *name == AUTHORIZATION;
    match named_in_connection(headers).into_iter().find(must_not_hide) {
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
mod tests;
