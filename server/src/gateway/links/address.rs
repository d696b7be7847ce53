//! One address said as another: those that begin with the upstream's base as ones that
//! begin with the gateway's, and back.

use crate::config::WebAddress;

/// Query parameters that let anyone in who has the link. Through the gateway it would need
/// more than itself, and so lose what it is for.
const CREDENTIALS: [&[u8]; 2] = [b"tempauth=", b"publicauth="];

/// Says addresses under one base as addresses under another.
#[derive(Clone, Debug)]
pub struct Mapping {
    from: WebAddress,
    to: String,
}

impl Mapping {
    /// Of what begins with `from`, that part becomes `to`.
    pub(super) fn new(from: WebAddress, to: &WebAddress) -> Self {
        Self {
            from,
            to: to.to_string(),
        }
    }

    /// What the matched part becomes.
    pub(super) fn to(&self) -> &str {
        &self.to
    }

    /// How many bytes of `url` are to be replaced by [`Self::to`]. `None`: it is another
    /// address, or one that must not be touched.
    ///
    /// Scheme and host match in any case and the scheme's own port may be given or not;
    /// the path matches whole segments.
    pub(super) fn matched(&self, url: &[u8]) -> Option<usize> {
        let rest = self.after_authority(url)?;
        let rest = rest.strip_prefix(self.from.path().as_bytes())?;
        let ends = matches!(rest.first(), None | Some(b'/' | b'?' | b'#'));
        (ends && !admits_anyone(rest)).then_some(url.len() - rest.len())
    }

    /// The path, query and fragment of an address with the same scheme and authority.
    fn after_authority<'u>(&self, url: &'u [u8]) -> Option<&'u [u8]> {
        let rest = strip_prefix_in_any_case(url, self.from.scheme().as_bytes())?;
        let rest = rest.strip_prefix(b"://")?;
        let rest = strip_prefix_in_any_case(rest, self.from.authority().host().as_bytes())?;
        let (port, rest) = split_port(rest);
        let own = if self.from.is_secure() { 443 } else { 80 };
        let port = match port {
            [] => own,
            digits => std::str::from_utf8(digits).ok()?.parse().ok()?,
        };
        (port == self.from.port()).then_some(rest)
    }

    /// The same address under the other base.
    #[must_use]
    pub fn map(&self, url: &str) -> Option<String> {
        let rest = url.get(self.matched(url.as_bytes())?..)?;
        Some(format!("{}{rest}", self.to))
    }

    /// What `path`, absolute on the server that is mapped from, means for who got it from
    /// the other one. Outside of the base the gateway has no name for it.
    pub(super) fn map_path(&self, path: &str) -> Option<String> {
        let origin = format!("{}://{}", self.from.scheme(), self.from.authority());
        let network = path.starts_with("//") || path.starts_with("/\\");
        (path.starts_with('/') && !network).then(|| {
            let url = format!("{origin}{path}");
            self.map(&url).unwrap_or(url)
        })
    }
}

/// Whether a path has a segment `monitor`: where an operation is watched, by whoever knows
/// the address.
pub(super) fn is_monitor(url: &[u8]) -> bool {
    let path = url.split(|byte| matches!(byte, b'?' | b'#')).next();
    let mut segments = path.unwrap_or_default().split(|byte| *byte == b'/');
    segments.any(|segment| segment.eq_ignore_ascii_case(b"monitor"))
}

fn admits_anyone(rest: &[u8]) -> bool {
    let mut parameters = rest.split(|byte| matches!(byte, b'?' | b'&')).skip(1);
    parameters.any(|parameter| {
        CREDENTIALS
            .iter()
            .any(|name| strip_prefix_in_any_case(parameter, name).is_some())
    })
}

fn strip_prefix_in_any_case<'t>(text: &'t [u8], prefix: &[u8]) -> Option<&'t [u8]> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The digits behind a colon, empty where there are none, and what follows.
fn split_port(rest: &[u8]) -> (&[u8], &[u8]) {
    let Some(rest) = rest.strip_prefix(b":") else {
        return (&[], rest);
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest.split_at(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(from: &str, to: &str) -> Mapping {
        Mapping::new(from.parse().unwrap(), &to.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_the_base_is_known() {
        let graph = mapping("https://graph.example/", "http://gate.example:3001/graph");
        for (url, mapped) in [
            ("https://graph.example", "http://gate.example:3001/graph"),
            ("https://graph.example/", "http://gate.example:3001/graph/"),
            (
                "HTTPS://Graph.EXAMPLE:443/v1.0/me?a=b#c",
                "http://gate.example:3001/graph/v1.0/me?a=b#c",
            ),
            (
                "https://graph.example:/x",
                "http://gate.example:3001/graph/x",
            ),
            (
                "https://graph.example?x",
                "http://gate.example:3001/graph?x",
            ),
            (
                "https://graph.example//x",
                "http://gate.example:3001/graph//x",
            ),
        ] {
            assert_eq!(graph.map(url).as_deref(), Some(mapped), "{url}");
        }
        let odd = mapping("http://[::1]:8080/api/", "https://gate.example/up");
        assert_eq!(
            odd.map("http://[::1]:8080/api/x").unwrap(),
            "https://gate.example/up/x"
        );
        for url in [
            "http://[::1]/api/x",
            "http://[::1]:8080/apix",
            "http://[::1]:8080/API/x",
            "http://[::1]:8080/",
        ] {
            assert_eq!(odd.map(url), None, "{url}");
        }
    }

    #[test]
    fn other_addresses_are_not_taken_for_it() {
        let graph = mapping("https://graph.example/", "http://gate.example/graph");
        for url in [
            "",
            "https",
            "/v1.0/me",
            "http://graph.example/",
            "https://graph.example.evil/",
            "https://graph.example@evil/",
            "https://graph.example:443@evil/",
            "https://graph.example:8443/",
            "https://graph.example:99999999999/",
            "https://graph.example\\@evil/",
            "https://me@graph.example/",
            "https://agraph.example/",
            "see https://graph.example/",
            // Whoever has them is let in; the gateway would ask for more.
            "https://graph.example/x?tempauth=secret",
            "https://graph.example/x?a=b&publicAuth=true",
        ] {
            assert_eq!(graph.map(url), None, "{url}");
        }
    }

    #[test]
    fn what_was_mapped_maps_back() {
        let (graph, gate) = ("https://graph.example/beta", "http://127.0.0.1:3001/graph");
        let (there, back) = (mapping(graph, gate), mapping(gate, graph));
        for rest in [
            "",
            "/",
            "/v1.0/x?$skiptoken=https://graph.example/beta/x",
            "?a",
            "#b",
        ] {
            let url = format!("{graph}{rest}");
            assert_eq!(back.map(&there.map(&url).unwrap()), Some(url));
        }
    }

    #[test]
    fn paths_are_read_as_the_server_s_own() {
        let graph = mapping("https://graph.example/beta", "http://gate.example/graph");
        assert_eq!(
            graph.map_path("/beta/x?y").unwrap(),
            "http://gate.example/graph/x?y"
        );
        assert_eq!(
            graph.map_path("/other").unwrap(),
            "https://graph.example/other"
        );
        for relative in ["x", "../x", "?x", "//evil.example/", "/\\evil.example/"] {
            assert_eq!(graph.map_path(relative), None);
        }
    }

    #[test]
    fn monitors_are_recognised_by_their_segment() {
        assert!(is_monitor(b"https://a/v1.0/Monitor/42?x"));
        assert!(!is_monitor(b"https://a/v1.0/monitors/42?/monitor"));
    }
}
