//! What of a call's headers goes on to the upstream.
//!
//! Everything, but for what concerns one connection, what is Spillway's own, and what only says
//! how the call got here: proxies add such headers, and servers believe them, but here they are
//! whatever a client wrote. An upstream would be told an address, a host or a path that nobody
//! has checked, or one of an inner network that is none of its business.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, FORWARDED, HOST, TRANSFER_ENCODING, VIA},
    uri::Authority,
};

use super::{super::cookies::drop_session, is_own};
use crate::access::marks_a_proxy;

/// Headers by which proxies, load balancers and content networks say for whom, for which host or
/// for which path they call, beside `Forwarded` and `X-Forwarded-*`.
const OF_THE_WAY: [&str; 13] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

/// Leaves of `headers` what the upstream may see, and names it as the host.
pub fn forward(headers: &mut HeaderMap, upstream: &Authority) {
    // With both, the length is a lie (RFC 9112, 6.3) that some server may believe.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    // `Expect` is the connection's own matter: the body's first read answers `100 Continue`.
    drop_hop_by_hop_and_own(headers, |name| is_of_the_way(name) || *name == EXPECT);
    drop_session(headers);
    if let Ok(host) = HeaderValue::from_str(upstream.as_str()) {
        headers.insert(HOST, host);
    }
}

/// Removes what is nobody's business behind the gateway, in either direction: what concerns
/// one connection only, all that `Connection` says does, Spillway's own headers, and `others`.
/// One look at each header there is: a removal by name costs as much for one that is not there.
pub(in super::super) fn drop_hop_by_hop_and_own(
    headers: &mut HeaderMap,
    others: impl Fn(&HeaderName) -> bool,
) {
    let mut names = named_in_connection(headers);
    let goes = |name: &&HeaderName| is_hop_by_hop_or_own(name) || others(name);
    names.extend(headers.keys().filter(goes).cloned());
    for name in names {
        headers.remove(name);
    }
}

/// Whether a header only says how a call got here.
fn is_of_the_way(name: &HeaderName) -> bool {
    let text = name.as_str();
    [FORWARDED, VIA].contains(name) || marks_a_proxy(text) || OF_THE_WAY.contains(&text)
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "http2-settings"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authentication-info"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Whether a header concerns one connection only, or is Spillway's own.
pub(in super::super) fn is_hop_by_hop_or_own(name: &HeaderName) -> bool {
    is_own(name) || is_hop_by_hop(name)
}

/// Whether a header of one part of a batch goes on to the upstream. It has neither a
/// connection nor a host or a way of its own, and no session is in it.
pub(in super::super) fn passes(name: &HeaderName) -> bool {
    !is_hop_by_hop_or_own(name) && !is_of_the_way(name) && ![HOST, EXPECT, COOKIE].contains(name)
}

/// What `Connection` says concerns this connection alone; not what most of them say, and always
/// does.
pub(super) fn named_in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    names
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.eq_ignore_ascii_case(b"keep-alive"))
        .filter_map(|name| HeaderName::from_bytes(name).ok())
        .collect()
}
