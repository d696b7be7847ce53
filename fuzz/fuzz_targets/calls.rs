//! No call's path, query or credential, whatever its bytes, ends the process, reaches another
//! host than the configured one, or belongs to two presets of one vendor.

#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use libfuzzer_sys::fuzz_target;
use spillway::preset::{Preset, Vendor};

use bearer::{Bearer, KeySecret};
use config::WebAddress;
use paths::PathPattern;

// The server's parsers, from their files: the whole server would take minutes to build.
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/config/address.rs"]
mod address;
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/gateway/bearer.rs"]
mod bearer;
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/gateway/path.rs"]
mod path;
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/config/paths.rs"]
mod paths;

/// Where they look for each other.
mod config {
    pub use crate::address::WebAddress;
}

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    method: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    pattern: &'a str,
    authorization: Vec<&'a [u8]>,
}

static BASE: LazyLock<WebAddress> = LazyLock::new(|| {
    let base = "https://graph.microsoft.com/base".parse();
    base.expect("an address")
});

fuzz_target!(|input: Input<'_>| {
    goes_where_it_should(&input);
    belongs_to_one(&input);
    is_whose(&input.authorization);
});

fn goes_where_it_should(input: &Input<'_>) {
    let (upstream, rest) = path::split(input.path);
    assert!(!upstream.contains('/') && (rest.is_empty() || rest.starts_with('/')));
    let Ok(target) = path::target(&BASE, rest, input.query) else {
        return;
    };
    assert_eq!(target.uri.authority(), Some(BASE.authority()));
    assert_eq!(target.uri.scheme_str(), Some("https"));
    let raw = target.uri.path();
    // A fragment is never sent: hyper cuts it off, as any client does.
    assert!(raw.starts_with("/base"), "{raw}");
    let decoded = target.path.split('/');
    assert!(
        !decoded
            .clone()
            .any(|segment| segment == "." || segment == "..")
    );
    let _ = target.origin_form();
}

fn belongs_to_one(input: &Input<'_>) {
    let query = input.query.unwrap_or_default();
    let of_graph = Preset::ALL
        .into_iter()
        .filter(|preset| preset.vendor() == Vendor::Graph);
    let claiming = of_graph.filter(|preset| preset.claims(input.method, input.path));
    assert!(claiming.count() <= 1);
    for preset in Preset::ALL {
        assert!((1..=5).contains(&preset.weight(input.method, input.path, query)));
    }
    if let Ok(pattern) = input.pattern.parse::<PathPattern>() {
        let _ = pattern.claims(input.path);
        // A pattern without stars claims the path that it is written as.
        assert!(input.pattern.contains('*') || pattern.claims(input.pattern));
    }
}

fn is_whose(values: &[&[u8]]) {
    let mut headers = HeaderMap::new();
    for value in values.iter().take(3) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(AUTHORIZATION, value);
        }
    }
    match bearer::bearer(&headers) {
        Ok(Some(Bearer::Claims(claims))) => assert!(!claims.user.is_empty()),
        Ok(Some(Bearer::Opaque(credential))) => {
            let key = KeySecret::from([7; 32]).key("user", credential);
            assert!(!credential.is_empty() && key.len() == "hmac:".len() + 22);
        }
        Ok(None) => assert!(headers.len() <= 1),
        Err(_) => assert!(headers.len() > 1),
    }
}
