//! Sites: whom to tell of their lists, and when their days end.

use std::net::IpAddr;

use http::Uri;
use jiff::tz::TimeZone;

use super::{Floods, Stored};
use crate::audit::By;

/// The most people who are told.
const ADMINS_MAX: usize = 20;

/// The longest address of mail, in bytes (RFC 5321, 4.5.3.1.3).
const ADDRESS_BYTES_MAX: usize = 254;

/// The longest title or address of a page, in bytes.
const TEXT_BYTES_MAX: usize = 1_024;

/// The longest region, in bytes.
const REGION_BYTES_MAX: usize = 64;

/// What a platform tells of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its key.
    pub site: String,
    /// What people call it.
    pub title: String,
    /// Where people find it; empty: nowhere.
    pub url: String,
    /// Who gets its mail.
    pub admins: Vec<String>,
    /// Whose midnight ends its days, a name of the IANA database.
    pub time_zone: String,
    /// Where it runs; empty: unknown.
    pub region: String,
}

/// What is wrong with a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSite {
    /// A text that is too long or has control characters.
    #[error("{0} must be at most {1} bytes without control characters")]
    Text(&'static str, usize),
    /// No address of a page.
    #[error("url must be empty, or an address that begins with https:// or http://")]
    Url,
    /// Too many people.
    #[error("admins: at most {ADMINS_MAX} addresses")]
    Admins,
    /// No address of mail.
    #[error("admins[{0}] must be an address of mail, like ann@example.org")]
    Admin(usize),
    /// No such zone.
    #[error("time_zone must be a name of the IANA database, like UTC or Europe/Berlin")]
    Zone,
}

impl Site {
    /// Its zone.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<TimeZone, BadSite> {
        plain("title", &self.title, TEXT_BYTES_MAX)?;
        plain("region", &self.region, REGION_BYTES_MAX)?;
        plain("url", &self.url, TEXT_BYTES_MAX)?;
        if !self.url.is_empty() && !is_page(&self.url) {
            return Err(BadSite::Url);
        }
        if self.admins.len() > ADMINS_MAX {
            return Err(BadSite::Admins);
        }
        let not = |admin: &String| !is_address(admin);
        if let Some(place) = self.admins.iter().position(not) {
            return Err(BadSite::Admin(place));
        }
        TimeZone::get(&self.time_zone).map_err(|_| BadSite::Zone)
    }
}

fn plain(what: &'static str, text: &str, bytes_max: usize) -> Result<(), BadSite> {
    if text.len() > bytes_max || text.chars().any(char::is_control) {
        return Err(BadSite::Text(what, bytes_max));
    }
    Ok(())
}

fn is_page(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && !url.contains('@')
    })
}

/// What people call an address, without comments, quotes or literals: whether mail reaches it is
/// found out by sending some.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"()<>[]:;,\\\"@".contains(c);
    text.len() <= ADDRESS_BYTES_MAX
        && !local.is_empty()
        && local.len() <= 64
        && !domain.is_empty()
        && text.chars().filter(|c| *c == '@').count() == 1
        && local.chars().chain(domain.chars()).all(plain)
        && domain
            .split('.')
            .all(|label| !label.is_empty() && label.len() <= 63)
        && domain.parse::<IpAddr>().is_err()
}

impl Floods {
    /// Takes in a site, whole; its days end by its zone from now on.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn put_site(&self, site: &Site, zone: TimeZone, by: &By) -> Stored<()> {
        let at_ms = self.clock().wall_now().as_millisecond();
        self.inner.store.put_site(site, by, at_ms).await?;
        let mut shard = self.inner.shards.of(&site.site);
        shard.days.set(&site.site, zone);
        shard.places.set(site);
        Ok(())
    }

    /// What is known of a site; none: nobody has told.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn site(&self, site: &str) -> Stored<Option<Site>> {
        self.inner.store.site(site).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            site: "s1".into(),
            title: "Orders".into(),
            url: "https://example.org/orders".into(),
            admins: vec!["a@example.org".into()],
            time_zone: "Europe/Berlin".into(),
            region: "eu".into(),
        }
    }

    #[test]
    fn what_is_wrong_with_a_site_is_named() {
        assert!(site().check().is_ok());
        let bare = Site {
            url: String::new(),
            admins: Vec::new(),
            region: String::new(),
            ..site()
        };
        assert!(bare.check().is_ok());
        for url in [
            "javascript:alert(1)",
            "//x",
            "https://",
            "https://a@b/",
            "ftp://x",
            "x",
        ] {
            assert_eq!(
                Site {
                    url: url.into(),
                    ..site()
                }
                .check(),
                Err(BadSite::Url),
                "{url}"
            );
        }
        for admin in [
            "",
            "a",
            "a@",
            "@b",
            "a b@c.d",
            "a@b@c",
            "a\r\nBcc: x@y.z",
            "<a@b.c>",
            "a@b..c",
            "a@127.0.0.1",
            "a@[::1]",
            "\"a\"@b.c",
        ] {
            let admins = vec!["ok@example.org".into(), admin.into()];
            assert_eq!(
                Site { admins, ..site() }.check(),
                Err(BadSite::Admin(1)),
                "{admin:?}"
            );
        }
        let zone = Site {
            time_zone: "Berlin".into(),
            ..site()
        };
        assert_eq!(zone.check(), Err(BadSite::Zone));
        let title = Site {
            title: "a\nb".into(),
            ..site()
        };
        assert_eq!(title.check(), Err(BadSite::Text("title", TEXT_BYTES_MAX)));
        let admins = vec!["a@example.org".to_owned(); ADMINS_MAX + 1];
        assert_eq!(Site { admins, ..site() }.check(), Err(BadSite::Admins));
    }
}
