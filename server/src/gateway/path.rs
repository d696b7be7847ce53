//! Where a call goes: the configured base address with the call's raw path behind it.
//!
//! Scheme and authority come from the configuration alone; the address is put together
//! from parts, never joined or resolved, so nothing in a path can name another host. A
//! path that some server may read differently than it is written (`//host`, `@host`,
//! backslashes, dot segments, control characters, however they are encoded) is refused,
//! since then it might also be charged to another workload than the upstream serves it as.

use bytes::Bytes;
use http::{Uri, uri::PathAndQuery};
use percent_encoding::percent_decode_str;

use crate::config::WebAddress;

/// A call's address at its upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where the call is sent: scheme and authority are the base's.
    pub uri: Uri,
    /// The path behind the base as an upstream reads it, percent-decoded once, to tell
    /// workloads and users apart. Never sent.
    pub path: String,
}

impl Target {
    /// The address without scheme and authority, as a request line names it.
    #[must_use]
    pub fn origin_form(&self) -> Uri {
        self.uri
            .path_and_query()
            .cloned()
            .map(Uri::from)
            .unwrap_or_default()
    }
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `/graph//host`, or with the second slash encoded.
    #[error("the path may not begin with an empty segment")]
    EmptyFirstSegment,
    /// `/graph/@host`.
    #[error("the path may not begin with `@`")]
    Authority,
    /// A backslash, which some servers read as a slash.
    #[error("the path may not hold a backslash")]
    Backslash,
    /// `.` or `..`, which some servers resolve.
    #[error("the path may not hold a `.` or `..` segment")]
    DotSegment,
    /// A byte below 0x20, or 0x7f.
    #[error("the path may not hold a control character")]
    Control,
    /// A `%` without two hexadecimal digits.
    #[error("the path holds a `%` without two hexadecimal digits")]
    Escape,
    /// What an HTTP address cannot hold.
    #[error("the path is not one of an HTTP address")]
    Malformed,
}

/// Takes `/{upstream}{rest}` apart; the rest is empty or begins with a slash.
#[must_use]
pub fn split(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_at(path.find('/').unwrap_or(path.len()))
}

/// Puts `rest` and the query, both as they came, behind the base address.
///
/// # Errors
/// A [`PathError`] for every path that could be read in two ways.
pub fn target(base: &WebAddress, rest: &str, query: Option<&str>) -> Result<Target, PathError> {
    let path = inspect(rest)?;
    let query_bytes = query.map_or(0, |query| query.len() + 1);
    let mut raw = String::with_capacity(base.path().len() + rest.len() + query_bytes + 1);
    raw.push_str(base.path());
    raw.push_str(rest);
    if raw.is_empty() {
        raw.push('/');
    }
    if let Some(query) = query {
        raw.push('?');
        raw.push_str(query);
    }
    let uri = Uri::builder()
        .scheme(base.scheme())
        .authority(base.authority().clone())
        .path_and_query(
            PathAndQuery::from_maybe_shared(Bytes::from(raw)).map_err(|_| PathError::Malformed)?,
        )
        .build()
        .map_err(|_| PathError::Malformed)?;
    Ok(Target { uri, path })
}

/// The path decoded once, if it can be read in one way only.
pub(super) fn inspect(rest: &str) -> Result<String, PathError> {
    if !escapes_are_whole(rest) {
        return Err(PathError::Escape);
    }
    let decoded = percent_decode_str(rest).decode_utf8_lossy().into_owned();
    if decoded.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(PathError::Control);
    }
    if decoded.contains('\\') {
        return Err(PathError::Backslash);
    }
    if decoded.starts_with("//") {
        return Err(PathError::EmptyFirstSegment);
    }
    if decoded.starts_with("/@") {
        return Err(PathError::Authority);
    }
    if decoded.split('/').any(is_dot_segment) {
        return Err(PathError::DotSegment);
    }
    Ok(decoded)
}

/// Whether a segment is `.` or `..`, also with the parameters that some servers cut off.
fn is_dot_segment(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    matches!(name, "." | "..")
}

fn escapes_are_whole(path: &str) -> bool {
    path.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base(address: &str) -> WebAddress {
        address.parse().unwrap()
    }

    #[test]
    fn the_raw_path_is_appended() {
        for (address, rest, query, expected) in [
            ("https://a.example/", "", None, "https://a.example/"),
            ("https://a.example/", "/", None, "https://a.example/"),
            ("https://a.example/api", "", None, "https://a.example/api"),
            (
                "https://a.example/api/",
                "/",
                None,
                "https://a.example/api/",
            ),
            (
                "https://a.example:8/api",
                "/x",
                Some("y=%2f&z"),
                "https://a.example:8/api/x?y=%2f&z",
            ),
            ("https://a.example", "", Some(""), "https://a.example/?"),
            (
                "https://a.example",
                "/users('a@b.example')/onenote",
                None,
                "https://a.example/users('a@b.example')/onenote",
            ),
            (
                "https://a.example",
                "/v1.0/me/drive/root:/a%20b.txt:/content",
                None,
                "https://a.example/v1.0/me/drive/root:/a%20b.txt:/content",
            ),
            (
                "https://a.example",
                "/v1.0/x/$value",
                Some("a=../..//@"),
                "https://a.example/v1.0/x/$value?a=../..//@",
            ),
            (
                "https://a.example",
                "/a%2Fb//c;d=.;e/...",
                None,
                "https://a.example/a%2Fb//c;d=.;e/...",
            ),
        ] {
            let target = target(&base(address), rest, query).unwrap();
            assert_eq!(target.uri.to_string(), expected);
        }
    }

    #[test]
    fn the_decoded_path_is_what_the_upstream_serves() {
        let target = target(&base("http://a/api"), "/me/one%6eote%2Fx", None).unwrap();
        assert_eq!(target.path, "/me/onenote/x");
        assert_eq!(target.origin_form(), "/api/me/one%6eote%2Fx");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        use PathError::*;
        for (rest, why) in [
            ("//evil.example/x", EmptyFirstSegment),
            ("/%2fevil.example", EmptyFirstSegment),
            ("/%2Fevil.example", EmptyFirstSegment),
            ("/@evil.example", Authority),
            ("/%40evil.example", Authority),
            ("/\\evil.example", Backslash),
            ("/a\\..\\b", Backslash),
            ("/a%5cb", Backslash),
            ("/a%5Cb", Backslash),
            ("/.", DotSegment),
            ("/..", DotSegment),
            ("/a/../b", DotSegment),
            ("/a/./b", DotSegment),
            ("/a/%2e%2e/b", DotSegment),
            ("/a/%2E./b", DotSegment),
            ("/a/.%2e", DotSegment),
            ("/a/..%2fb", DotSegment),
            ("/a%2F..", DotSegment),
            ("/a/..;x=1/b", DotSegment),
            ("/a/%2e%2E%3bx/b", DotSegment),
            ("/a%00b", Control),
            ("/a%0d%0aHost:evil", Control),
            ("/a%7f", Control),
            ("/a%", Escape),
            ("/a%2", Escape),
            ("/a%zz", Escape),
            ("/%u002e%u002e/", Escape),
            ("/a b", Malformed),
        ] {
            assert_eq!(target(&base("http://a/"), rest, None), Err(why), "{rest}");
        }
    }

    #[test]
    fn the_first_segment_names_the_upstream() {
        assert_eq!(split("/graph/v1.0/me"), ("graph", "/v1.0/me"));
        assert_eq!(split("/graph"), ("graph", ""));
        assert_eq!(split("/graph/"), ("graph", "/"));
        assert_eq!(split("/graph@evil/x"), ("graph@evil", "/x"));
        assert_eq!(split("//evil/x"), ("", "/evil/x"));
        assert_eq!(split("/"), ("", ""));
    }

    /// Pieces that parsers of addresses disagree about.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::sample::select(vec![
                "/",
                "//",
                "@",
                ":",
                ":80",
                "\\",
                "%2f",
                "%5C",
                "..",
                ".",
                "%2e",
                "%2E%2e",
                ";",
                "#",
                "?",
                "evil.example",
                "http:",
                "https://evil.example",
                "users('a@b')",
                "$value",
                "%",
                "%00",
                "\t",
                "\r\n",
                "é",
                "[::1]",
                "%25",
                "%252e",
                "&",
                "|",
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,4}",
        ]
    }

    proptest! {
        #[test]
        fn no_path_changes_where_a_call_goes(
            pieces in proptest::collection::vec(piece(), 0..8),
            query in proptest::option::of("[!-~]{0,12}"),
            address in proptest::sample::select(vec!["https://up.example/", "http://up.example:8080/api/v1"]),
        ) {
            let base = base(address);
            let rest = format!("/{}", pieces.concat());
            let rest = rest.split(['?', '#']).next().unwrap();
            if let Ok(target) = target(&base, rest, query.as_deref()) {
                prop_assert_eq!(target.uri.scheme_str(), Some(base.scheme()));
                prop_assert_eq!(target.uri.authority(), Some(base.authority()));
                let path = target.uri.path();
                let expected = format!("{}{}", base.path(), rest);
                prop_assert_eq!(path, expected.as_str());
                // A parser that resolves, as browsers' do, finds nothing to resolve.
                let resolved = url::Url::parse(&target.uri.to_string()).unwrap();
                prop_assert_eq!(resolved.host_str(), Some(base.authority().host()));
                prop_assert_eq!(resolved.path().matches('/').count(), path.matches('/').count());
                prop_assert!(resolved.path().starts_with(base.path()));
            }
        }
    }
}
