//! Whose address a call comes from, where proxies stand in between.
//!
//! A peer that is no proxy of ours is its own client. It may be somebody else's proxy: one
//! that says so is taken at its word, and then the address behind it is not known, for
//! whoever reaches that proxy would be taken for it (a reverse proxy on this machine would
//! publish everything that loopback may do). A proxy of ours adds the address it was called
//! from to the right of `X-Forwarded-For`; what stands further left was sent by its client,
//! and may be a lie. `Forwarded` is not read: a proxy that does not write it passes it on.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies whose word counts. Clones are cheap enough: there are a few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// Why the client's address is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// A proxy that is not ours passed the call on.
    #[error("the call came through a proxy that is not in server.trusted_proxies")]
    StrangeProxy,
    /// A proxy of ours does not say for whom.
    #[error("the proxy in front did not say in X-Forwarded-For who called it")]
    Unsaid,
}

impl TrustedProxies {
    /// Those in `networks`.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// The address that the call of `peer` comes from.
    ///
    /// # Errors
    /// See [`NoAddress`].
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Result<IpAddr, NoAddress> {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            let forwarded = headers.keys().any(|name| marks_a_proxy(name.as_str()));
            return if forwarded {
                Err(NoAddress::StrangeProxy)
            } else {
                Ok(peer)
            };
        }
        let values = headers.get_all(X_FORWARDED_FOR).iter().rev();
        let entries = values.flat_map(|value| value.as_bytes().rsplit(|&byte| byte == b','));
        for entry in entries {
            match address(entry) {
                Some(address) if self.contains(address) => {}
                Some(address) => return Ok(address),
                // Whatever stands left of a word that is none of a proxy's is no better.
                None => return Err(NoAddress::Unsaid),
            }
        }
        Err(NoAddress::Unsaid)
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Whether a header of this name, in lower case, is one that proxies add.
#[must_use]
pub fn marks_a_proxy(name: &str) -> bool {
    name == "forwarded" || name.starts_with("x-forwarded-")
}

/// An address, perhaps with a port, as proxies write it.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let address: Option<IpAddr> = bare.unwrap_or(text).parse().ok();
    let with_port = || text.parse().ok().map(|socket: SocketAddr| socket.ip());
    address
        .or_else(with_port)
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded_for: &[&str]) -> Result<String, NoAddress> {
        let proxies = ["10.0.0.0/8", "192.168.1.1/32", "fd00::/8"];
        let proxies = TrustedProxies::new(proxies.map(|it| it.parse().unwrap()).into());
        let mut headers = HeaderMap::new();
        for value in forwarded_for {
            headers.append(X_FORWARDED_FOR, value.parse().unwrap());
        }
        let client = proxies.client(peer.parse().unwrap(), &headers);
        client.map(|address| address.to_string())
    }

    #[test]
    fn who_is_no_proxy_is_its_own_client_and_may_not_say_otherwise() {
        assert_eq!(client("192.0.2.1", &[]).as_deref(), Ok("192.0.2.1"));
        assert_eq!(client("::ffff:192.0.2.1", &[]).as_deref(), Ok("192.0.2.1"));
        assert_eq!(
            client("192.0.2.1", &["10.0.0.1"]),
            Err(NoAddress::StrangeProxy)
        );
        let mut headers = HeaderMap::new();
        headers.append("forwarded", "for=10.0.0.1".parse().unwrap());
        let strange = TrustedProxies::default().client("127.0.0.1".parse().unwrap(), &headers);
        assert_eq!(strange, Err(NoAddress::StrangeProxy));
    }

    #[test]
    fn the_right_most_address_that_is_no_proxy_s_counts() {
        for (forwarded_for, expected) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            (&["192.0.2.7, 192.168.1.1, 10.9.9.9"], "192.0.2.7"),
            (&["198.51.100.1", "192.0.2.7", "10.1.1.1"], "192.0.2.7"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
        ] {
            for peer in ["10.0.0.1", "::ffff:10.0.0.1", "fd00::1"] {
                let found = client(peer, forwarded_for);
                assert_eq!(found.as_deref(), Ok(expected), "{forwarded_for:?}");
            }
        }
    }

    #[test]
    fn a_proxy_that_does_not_say_for_whom_speaks_for_nobody() {
        for forwarded_for in [
            &[][..],
            &[""],
            &["unknown"],
            &["192.0.2.7, unknown"],
            &["192.0.2.7,"],
            &["10.0.0.2"],
            &["10.0.0.2, 10.0.0.3"],
        ] {
            assert_eq!(
                client("10.0.0.1", forwarded_for),
                Err(NoAddress::Unsaid),
                "{forwarded_for:?}"
            );
        }
    }
}
