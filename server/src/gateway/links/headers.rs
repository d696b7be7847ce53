//! Links in headers and queries.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::{
    Links,
    address::{Mapping, is_monitor},
    coding,
};

/// What must be escaped in a query's value (WHATWG URL, the query set, and what would end
/// the value or be read as a blank).
const QUERY_VALUE: AsciiSet = CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\'')
    .add(b'&')
    .add(b'+')
    .add(b'%');

/// Rewrites the links of an answer's headers. A path alone is meant on the upstream's host,
/// and would be read on the gateway's.
pub(super) fn answer(headers: &mut HeaderMap, mapping: &Mapping) {
    let links = headers.iter_mut().filter(|(name, _)| {
        matches!(
            name.as_str(),
            "location" | "content-location" | "operation-location"
        )
    });
    for (_, value) in links {
        let mapped = value
            .to_str()
            .ok()
            .filter(|url| !is_monitor(url.as_bytes()))
            .and_then(|url| mapping.map(url).or_else(|| mapping.map_path(url)));
        if let Some(mapped) = mapped.and_then(|url| HeaderValue::from_str(&url).ok()) {
            *value = mapped;
        }
    }
}

impl Links {
    /// Leaves of a call's headers what asks for answers that can be read.
    pub fn narrow_codings(&self, headers: &mut HeaderMap) {
        coding::narrow(headers);
    }

    /// A call's query as the upstream gets it: parameters that are wholly an address of the
    /// gateway's say the upstream's, all others stay as they came.
    #[must_use]
    pub fn query<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let mut changed = false;
        let parameters = query.split('&').map(|parameter| {
            let mapped = self.parameter(parameter);
            changed |= mapped.is_some();
            mapped.map_or(Cow::Borrowed(parameter), Cow::Owned)
        });
        let parameters: Vec<_> = parameters.collect();
        if changed {
            Cow::Owned(parameters.join("&"))
        } else {
            Cow::Borrowed(query)
        }
    }

    fn parameter(&self, parameter: &str) -> Option<String> {
        let (name, value) = parameter.split_once('=')?;
        // Nothing that short is an address; most values are.
        let value = (value.len() > "http://".len()).then(|| percent_decode_str(value))?;
        let mapped = self.to_upstream.map(&value.decode_utf8().ok()?)?;
        Some(format!(
            "{name}={}",
            utf8_percent_encode(&mapped, &QUERY_VALUE)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn links() -> Links {
        let base = "https://up.example/api".parse().unwrap();
        Links::new(&base, &"http://gate.example".parse().unwrap(), "up")
    }

    fn answered(name: &'static str, value: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        answer(&mut headers, &links().to_gateway);
        headers[name].to_str().unwrap().to_owned()
    }

    #[test]
    fn locations_come_back_pointing_here() {
        for name in ["location", "content-location", "operation-location"] {
            let here = "http://gate.example/up/x?y#z";
            assert_eq!(answered(name, "https://up.example/api/x?y#z"), here);
            assert_eq!(answered(name, "/api/x?y#z"), here);
            let elsewhere = "https://up.example/login";
            assert_eq!(answered(name, "/login"), elsewhere, "not on the gateway");
            for left in [
                "https://other.example/api",
                "x/y",
                "//up.example/api",
                elsewhere,
                "",
                "https://up.example/api/x/monitor/42",
            ] {
                assert_eq!(answered(name, left), left);
            }
        }
        assert_eq!(
            answered("link", "https://up.example/api/x"),
            "https://up.example/api/x"
        );
    }

    #[test]
    fn a_query_goes_up_as_it_came_but_for_the_gateway_s_addresses() {
        let links = links();
        for same in [
            "",
            "a",
            "$skiptoken=http%3A%2F%2Fother%2Fup&x=%zz&&=",
            "a=see http://gate.example/up/x",
            "$filter=contains(x,'http://gate.example/upper')",
        ] {
            assert!(matches!(links.query(same), Cow::Borrowed(query) if query == same));
        }
        assert_eq!(
            links.query("a=%41&@id=http%3a%2f%2fgate.example/up/x('1')%3Fa%3Db%26c%25&b="),
            "a=%41&@id=https://up.example/api/x(%271%27)?a=b%26c%25&b="
        );
    }

    /// Pieces of addresses, and anything else.
    fn location() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            "https://up.example",
            "/api",
            "http://gate.example/up",
            "HTTPS://UP.EXAMPLE",
            ":443",
            ":",
            "/",
            "//",
            "\\",
            "?",
            "#",
            "@",
            "x",
            "monitor",
            "tempauth=1",
            "&",
        ]);
        let piece = prop_oneof![
            4 => known.prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_location_changes_in_its_beginning_alone(value in location()) {
            let Ok(sent) = HeaderValue::from_bytes(&value) else { return Ok(()) };
            let mut headers = HeaderMap::new();
            headers.insert("location", sent);
            answer(&mut headers, &links().to_gateway);
            let told = headers["location"].as_bytes();
            let heads: [&[u8]; 2] = [b"http://gate.example/up", b"https://up.example"];
            let mut tails = heads.iter().filter_map(|head| told.strip_prefix(*head));
            prop_assert!(told == value || tails.any(|tail| value.ends_with(tail)));
        }
    }
}
