//! What of a call's headers is meant for Spillway; [`onward`] says what goes on to the upstream.

mod onward;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, EXPECT, UPGRADE},
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
    let mut asked = Asked::default();
    // One look at each header that there is: to look for one by its name costs as much.
    for (name, value) in headers.iter().filter(|(name, _)| is_own(name)) {
        match name.as_str() {
            "spillway-user" => asked.user = Some(text("spillway-user", value)?),
            "spillway-app" => asked.app = Some(text("spillway-app", value)?),
            "spillway-lane" => asked.lane = Some(lane(value)?),
            "spillway-weight" => asked.weight = Some(weight(value)?),
            "spillway-wait-ms" => asked.wait_ms = Some(wait_ms(value)?),
            _ => {}
        }
    }
    Ok(asked)
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
    let says = |name: HeaderName, what: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| {
            value
                .as_bytes()
                .trim_ascii()
                .eq_ignore_ascii_case(what.as_bytes())
        })
    };
    if says(UPGRADE, "websocket") || *method == Method::CONNECT {
        return Err(HeaderError::Upgrade);
    }
    if headers.contains_key(EXPECT) && !says(EXPECT, "100-continue") {
        return Err(HeaderError::Expectation);
    }
    Ok(())
}

fn text(name: &'static str, value: &HeaderValue) -> Result<String, HeaderError> {
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| HeaderError::Malformed(name, "must be UTF-8"))?
        .trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(HeaderError::Malformed(
            name,
            "must be neither empty nor hold control characters",
        ));
    }
    Ok(text.to_owned())
}

fn lane(value: &HeaderValue) -> Result<Lane, HeaderError> {
    match value.as_bytes() {
        b"foreground" => Ok(Lane::Foreground),
        b"background" => Ok(Lane::Background),
        _ => Err(HeaderError::Malformed(
            "spillway-lane",
            "must be foreground or background",
        )),
    }
}

fn weight(value: &HeaderValue) -> Result<u32, HeaderError> {
    let weight = number(value).and_then(|number| u32::try_from(number).ok());
    weight
        .filter(|&weight| weight >= 1)
        .ok_or(HeaderError::Malformed(
            "spillway-weight",
            "must be a whole number from 1 to 4294967295",
        ))
}

fn wait_ms(value: &HeaderValue) -> Result<u64, HeaderError> {
    number(value).ok_or(HeaderError::Malformed(
        "spillway-wait-ms",
        "must be a whole number of milliseconds",
    ))
}

/// Digits only: `u64`'s own parser would take a sign.
fn number(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
