//! The link by which a site's admin, who has no account, sees to the lists of that site.
//!
//! Its key says which site, whose address and until when, signed by the server's own secret, so
//! that nothing has to be kept of it: whoever's mail holds it is the holder of that address. What
//! it cannot say is whether the address still is an admin's of the site: that is looked up each
//! time.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use crate::{config::WebAddress, gateway::KeySecret};

/// For how long a link is good, in milliseconds: a week, so that one of a Friday's mail still is
/// after the weekend and a holiday.
pub const LASTS_MS: i64 = 7 * 86_400_000;

/// Under which the server's secret is derived from the one that it keeps.
const PURPOSE: &str = "site-links";

/// The longest key that is looked at, in characters: names of sites have at most 256 bytes,
/// addresses 254.
const KEY_CHARS_MAX: usize = 1_024;

/// The length of a signature, in bytes.
const MAC_BYTES: usize = 32;

/// What stays as it is in an address: RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What a link says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLink {
    /// The site's key.
    pub site: String,
    /// Whose mail holds it.
    pub address: String,
    /// Until when it is good, Unix milliseconds.
    pub expires_at_ms: i64,
}

/// Makes links, and knows its own. Clones share it.
#[derive(Clone)]
pub struct SiteLinks {
    mac: Arc<Hmac<Sha256>>,
    page: Arc<str>,
}

/// Why a link lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLetIn {
    /// It was not made here, or was changed.
    #[error("this link was not made here, or was cut: open it as it stands in the mail")]
    Unknown,
    /// It is too old.
    #[error("this link was good for a week, and that is over; the next mail brings another")]
    Expired,
}

impl SiteLinks {
    /// Those of this secret, to the page at this address of the dashboard's.
    #[must_use]
    pub fn new(secret: &KeySecret, dashboard: &WebAddress) -> Self {
        let mut key = [0; 64];
        key[..MAC_BYTES].copy_from_slice(&secret.derived(PURPOSE));
        Self {
            mac: Arc::new(Hmac::new((&key).into())),
            page: dashboard.below("site").to_string().into(),
        }
    }

    /// The address of the page of a list, for the holder of this link.
    #[must_use]
    pub fn address(&self, link: &SiteLink, list: &str) -> String {
        let list = utf8_percent_encode(list, RESERVED);
        format!("{}?key={}&list={list}", self.page, self.key(link))
    }

    /// What stands in the address of a link.
    #[must_use]
    pub fn key(&self, link: &SiteLink) -> String {
        let said = said(link);
        let mac = self.signed(&said).finalize().into_bytes();
        let [said, mac] = [&said[..], &mac].map(|part| URL_SAFE_NO_PAD.encode(part));
        format!("{said}.{mac}")
    }

    /// What the link with this key says, at `now_ms`.
    ///
    /// # Errors
    /// See [`NotLetIn`].
    pub fn read(&self, key: &str, now_ms: i64) -> Result<SiteLink, NotLetIn> {
        if key.len() > KEY_CHARS_MAX {
            return Err(NotLetIn::Unknown);
        }
        let (said, mac) = key.split_once('.').ok_or(NotLetIn::Unknown)?;
        let decoded = |part| URL_SAFE_NO_PAD.decode(part).map_err(|_| NotLetIn::Unknown);
        let (said, mac) = (decoded(said)?, decoded(mac)?);
        // In the same time, wherever it differs.
        let right = self.signed(&said).verify_slice(&mac);
        right.map_err(|_| NotLetIn::Unknown)?;
        let link = link(&said).ok_or(NotLetIn::Unknown)?;
        if now_ms >= link.expires_at_ms {
            return Err(NotLetIn::Expired);
        }
        Ok(link)
    }

    fn signed(&self, said: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::clone(&self.mac);
        mac.update(said);
        mac
    }
}

/// The end, the length of the site's key, that, and the address: as bytes that no other link has.
fn said(link: &SiteLink) -> Vec<u8> {
    let length = u16::try_from(link.site.len()).unwrap_or(u16::MAX);
    let mut said = link.expires_at_ms.to_be_bytes().to_vec();
    said.extend(length.to_be_bytes());
    said.extend(link.site.as_bytes());
    said.extend(link.address.as_bytes());
    said
}

fn link(said: &[u8]) -> Option<SiteLink> {
    let (expires_at_ms, rest) = said.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (site, address) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    Some(SiteLink {
        site: text(site)?,
        address: text(address)?,
        expires_at_ms: i64::from_be_bytes(*expires_at_ms),
    })
}

impl fmt::Debug for SiteLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteLinks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(secret: u8) -> SiteLinks {
        let dashboard = "https://spillway.example/ops".parse().unwrap();
        SiteLinks::new(&KeySecret::from([secret; 32]), &dashboard)
    }

    fn ann() -> SiteLink {
        SiteLink {
            site: "s1".to_owned(),
            address: "ann@example.org".to_owned(),
            expires_at_ms: 1_000,
        }
    }

    #[test]
    fn a_link_says_what_it_was_made_of_until_it_expires() {
        let links = links(1);
        let key = links.key(&ann());
        assert_eq!(links.read(&key, 999), Ok(ann()));
        assert_eq!(links.read(&key, 1_000), Err(NotLetIn::Expired));
        assert_eq!(
            links.address(&ann(), "a list & more"),
            format!("https://spillway.example/ops/site?key={key}&list=a%20list%20%26%20more")
        );
        assert_eq!(format!("{links:?}"), "SiteLinks");
    }

    #[test]
    fn a_link_that_was_changed_in_any_bit_lets_nobody_in() {
        let links = links(1);
        let key = links.key(&ann());
        let (said, mac) = key.split_once('.').unwrap();
        for (part, other) in [(said, mac), (mac, said)] {
            let bytes = URL_SAFE_NO_PAD.decode(part).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let changed = URL_SAFE_NO_PAD.encode(changed);
                let forged = match part == said {
                    true => format!("{changed}.{other}"),
                    false => format!("{other}.{changed}"),
                };
                assert_eq!(links.read(&forged, 0), Err(NotLetIn::Unknown), "{bit}");
            }
        }
    }

    #[test]
    fn what_was_made_elsewhere_or_for_another_lets_nobody_in() {
        let links_here = links(1);
        assert_eq!(
            links_here.read(&links(2).key(&ann()), 0),
            Err(NotLetIn::Unknown)
        );
        // The same bytes, cut elsewhere.
        let (one, other) = (
            SiteLink {
                site: "s1".into(),
                address: "2@example.org".into(),
                ..ann()
            },
            SiteLink {
                site: "s12".into(),
                address: "@example.org".into(),
                ..ann()
            },
        );
        assert_ne!(links_here.key(&one), links_here.key(&other));
        let key = links_here.key(&ann());
        let (said, mac) = key.split_once('.').unwrap();
        let long = "A".repeat(KEY_CHARS_MAX + 1);
        for forged in ["", ".", said, mac, &key[1..], &key[..key.len() - 1], &long] {
            assert_eq!(
                links_here.read(forged, 0),
                Err(NotLetIn::Unknown),
                "{forged}"
            );
        }
        for part in [
            format!("{said}."),
            format!(".{mac}"),
            format!("{key}.{mac}"),
        ] {
            assert_eq!(links_here.read(&part, 0), Err(NotLetIn::Unknown), "{part}");
        }
    }

    #[test]
    fn the_longest_names_fit() {
        let link = SiteLink {
            site: "s".repeat(256),
            address: "a".repeat(254),
            expires_at_ms: i64::MAX,
        };
        let key = links(1).key(&link);
        assert!(key.len() <= KEY_CHARS_MAX, "{}", key.len());
        assert_eq!(links(1).read(&key, 0), Ok(link));
    }
}
