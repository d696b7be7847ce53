//! Which addresses are everybody's: webhooks are sent to no others, unless that is configured, so
//! that no name can be pointed at what only this network knows.

use std::{net::IpAddr, sync::LazyLock};

use ipnet::IpNet;

/// What is not reachable by everybody, or means something else: IANA's registries of special
/// addresses (RFC 6890 and its updates), multicast, and the ways to write IPv4 within IPv6.
const SPECIAL: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

static NETWORKS: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    SPECIAL
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect()
});

/// Whether an address is everybody's.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    // An IPv4 address stays what it is, however it is written.
    let address = address.to_canonical();
    !NETWORKS.iter().any(|network| network.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_networks_are_read() {
        assert_eq!(NETWORKS.len(), SPECIAL.len());
    }

    #[test]
    fn what_only_this_network_knows_is_told_from_the_rest() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("172.32.0.1", true),
            ("2606:4700::1111", true),
            ("::ffff:8.8.8.8", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.31.255.255", false),
            ("169.254.169.254", false),
            ("100.100.100.200", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:10.0.0.1", false),
            ("::7f00:1", false),
            ("64:ff9b::a00:1", false),
            ("2002:a00:1::", false),
            ("fd00::1", false),
            ("fe80::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
