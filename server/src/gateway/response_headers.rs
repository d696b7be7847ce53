//! What of an upstream's headers the caller gets.
//!
//! The gateway shares its host with the dashboard and its origin with every upstream:
//! nothing that an upstream sends may set state there or run as a page.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS},
};

use super::{
    browser::is_about_sites,
    request_headers::{drop_hop_by_hop_and_own, is_hop_by_hop_or_own},
};

/// Leaves of an upstream's headers what is meant for the caller, and disarms the rest.
pub fn backward(headers: &mut HeaderMap) {
    drop_hop_by_hop_and_own(headers, |name| has_effect(name) || is_about_sites(name));
    disarm(headers);
}

/// Whether the caller gets a header of one part of a batch's answer.
pub(super) fn passes(name: &HeaderName) -> bool {
    !is_hop_by_hop_or_own(name) && !has_effect(name)
}

/// Whether a header changes what a client does later, or elsewhere on the host.
fn has_effect(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "accept-ch"
            | "alt-svc"
            | "clear-site-data"
            | "nel"
            | "public-key-pins"
            | "refresh"
            | "report-to"
            | "reporting-endpoints"
            | "service-worker-allowed"
            | "set-cookie"
            | "set-cookie2"
            | "strict-transport-security"
    )
}

/// No guessing of types, and no scripts, forms or origin for whoever opens it as a page.
/// A policy of the upstream's own holds beside it.
pub fn disarm(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.append(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_scripts_are_dropped_and_the_rest_passes() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("clear-site-data", "*"),
            ("strict-transport-security", "max-age=1"),
            ("alt-svc", "h3"),
            ("service-worker-allowed", "/"),
            ("nel", "{}"),
            ("report-to", "{}"),
            ("reporting-endpoints", "a=\"https://a.example\""),
            ("public-key-pins", "max-age=1"),
            ("accept-ch", "DPR"),
            ("refresh", "0; url=https://a.example"),
            ("access-control-allow-origin", "*"),
            ("access-control-allow-credentials", "true"),
            ("access-control-expose-headers", "x"),
            ("spillway-blocked-by", "user"),
            ("connection", "close, x-hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("content-security-policy", "default-src 'none'"),
            ("x-content-type-options", "x"),
            ("retry-after", "3"),
            ("content-length", "7"),
            ("location", "https://other.example/"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        backward(&mut headers);
        let mut left: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        left.sort_unstable();
        assert_eq!(
            left,
            [
                ("content-length", "7"),
                ("content-security-policy", "default-src 'none'"),
                ("content-security-policy", "sandbox"),
                ("location", "https://other.example/"),
                ("retry-after", "3"),
                ("x-content-type-options", "nosniff"),
            ]
        );
    }
}
