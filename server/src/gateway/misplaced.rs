//! Tokens of Spillway's own where the upstream would get them.
//!
//! Whoever mistakes one header for another hands the key to Spillway to somebody else, whose log
//! may keep it. So a call that carries a token anywhere but in `Spillway-Token` is refused and
//! told where it belongs: in any other header, in `Basic` credentials, in the path or the query.
//! Bodies are not read.

use std::fmt;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header::AUTHORIZATION};

use super::request_headers::OWN_PREFIX;
pub(super) use crate::access::secret::is_within;
use crate::access::secret::{PREFIX, holds};

/// Credentials of `Basic`, padded or not.
const BASIC: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Where a token was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this header.
    Header(HeaderName),
    /// In the path.
    Path,
    /// In the query.
    Query,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "the header {name}"),
            Self::Path => f.write_str("the path"),
            Self::Query => f.write_str("the query"),
        }
    }
}

/// Where the upstream would get a token from a call with this address and these headers.
pub(super) fn find(uri: &Uri, headers: &HeaderMap) -> Option<Place> {
    let header = headers.iter().find(|(name, value)| is_in(name, value));
    if let Some((name, _)) = header {
        return Some(Place::Header(name.clone()));
    }
    if is_within(uri.path()) {
        return Some(Place::Path);
    }
    uri.query().is_some_and(is_within).then_some(Place::Query)
}

/// Whether a header that is not Spillway's own holds a token.
pub(super) fn is_in(name: &HeaderName, value: &HeaderValue) -> bool {
    if name.as_str().starts_with(OWN_PREFIX) {
        return false;
    }
    let value = value.as_bytes();
    holds(value) || (*name == AUTHORIZATION && (is_cut(value) || is_in_basic(value)))
}

/// Whether a credential looks like a token, even if it is none: it was meant to be one.
fn is_cut(value: &[u8]) -> bool {
    let mut words = value.split(|byte| byte.is_ascii_whitespace() || *byte == b',');
    words.any(|word| word.starts_with(PREFIX.as_bytes()))
}

/// Whether it is a name or the password of `Basic` credentials (RFC 7617).
fn is_in_basic(value: &[u8]) -> bool {
    let mut words = value.split(u8::is_ascii_whitespace);
    let basic = words
        .next()
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic"));
    basic && words.any(|word| BASIC.decode(word).is_ok_and(|plain| holds(&plain)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::TokenSecret;

    fn place(target: &str, headers: &[(&str, String)]) -> Option<Place> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        find(&target.parse().unwrap(), &map)
    }

    #[test]
    fn a_token_is_found_wherever_the_upstream_would_get_it() {
        let token = TokenSecret::random().reveal();
        let basic = |plain: String| format!("Basic {}", BASIC.encode(plain));
        for (name, value) in [
            ("authorization", format!("Bearer {token}")),
            ("authorization", token.clone()),
            ("authorization", format!("token {}", &token[..20])),
            ("authorization", basic(format!("{token}:x"))),
            ("authorization", basic(format!("ann:{token}"))),
            (
                "authorization",
                basic(token.clone()).trim_end_matches('=').to_owned(),
            ),
            (
                "authorization",
                basic(token.clone()).replace("Basic", "bASIC "),
            ),
            ("x-api-key", token.clone()),
            ("cookie", format!("a=b; t={token}; c=d")),
            ("referer", format!("https://a.example/?t={token}&x")),
        ] {
            let found = place("/graph/me", &[(name, value.clone())]);
            assert_eq!(found, Some(Place::Header(name.parse().unwrap())), "{value}");
        }
        let escaped = token.replace('_', "%5F");
        for (target, expected) in [
            (format!("/graph/{token}"), Place::Path),
            (format!("/graph/me?t={token}"), Place::Query),
            (format!("/graph/me?a=b&{escaped}"), Place::Query),
        ] {
            assert_eq!(place(&target, &[]), Some(expected), "{target}");
        }
    }

    #[test]
    fn what_is_no_token_or_in_its_place_passes() {
        let token = TokenSecret::random().reveal();
        for (name, value) in [
            ("spillway-token", token.clone()),
            (
                "authorization",
                "Bearer eyJhbGciOiJub25lIn0.e30.".to_owned(),
            ),
            ("authorization", "Basic !!!".to_owned()),
            ("authorization", "Basic c3B3Xw==".to_owned()),
            (
                "x-note",
                format!("the prefix is spw_, as in {}", &token[..46]),
            ),
        ] {
            assert_eq!(
                place("/graph/me?q=spw_%", &[(name, value.clone())]),
                None,
                "{value}"
            );
        }
    }
}
