//! Which addresses are resources of the configured upstream. Only these may be fetched with somebody's bearer, so the
//! shape is exact: what is not certain is a link.

use url::Url;

/// Where the pages come from: the upstream's `base_url`.
#[derive(Clone, Debug)]
pub struct Upstream {
    origin: String,
    path: String,
}

/// A base URL that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no base URL: say one such as https://graph.microsoft.com/")]
pub struct BadUpstream(String);

/// An image or a file that a page has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// What follows the upstream's base URL, as the page spells it; it begins with `/` and has no query.
    pub path: String,
    /// What OneNote calls it.
    pub id: String,
}

impl Upstream {
    /// # Errors
    ///
    /// Unless it is http or https, without credentials, query or fragment.
    pub fn new(base_url: &str) -> Result<Self, BadUpstream> {
        let bad = || BadUpstream(base_url.chars().take(200).collect());
        let url = Url::parse(base_url).map_err(|_| bad())?;
        let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        if !plain || url.password().is_some() || !matches!(url.scheme(), "http" | "https") {
            return Err(bad());
        }
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            path: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The resource at an address, if it is `{base}/v1.0/{owner}/onenote/resources/{id}/$value` (or `/content`, as the
    /// reference has it), with `me`, `users('…')`, `users/…`, `groups/…` or `sites/…` for the owner.
    pub fn resource(&self, address: &str) -> Option<Resource> {
        let origin = address.get(..self.origin.len())?;
        if !origin.eq_ignore_ascii_case(&self.origin) {
            return None;
        }
        let path = address
            .get(self.origin.len()..)?
            .strip_prefix(&*self.path)?;
        let segments: Vec<_> = path.strip_prefix('/')?.split('/').collect();
        let (version, owner, id, end) = match *segments.as_slice() {
            [version, owner, "onenote", "resources", id, end] => (version, vec![owner], id, end),
            [version, kind, owner, "onenote", "resources", id, end] => {
                (version, vec![kind, owner], id, end)
            }
            _ => return None,
        };
        let whole = matches!(version, "v1.0" | "beta")
            && is_owner(&owner)
            && is_id(id)
            && matches!(end, "$value" | "content");
        whole.then(|| Resource {
            path: path.to_owned(),
            id: id.to_owned(),
        })
    }
}

fn is_owner(segments: &[&str]) -> bool {
    match segments {
        ["me"] => true,
        [one] => ["users", "groups", "sites"].iter().any(|kind| {
            let name = one
                .strip_prefix(kind)
                .and_then(|rest| rest.strip_prefix("('"));
            name.and_then(|rest| rest.strip_suffix("')"))
                .is_some_and(is_name)
        }),
        ["users" | "groups" | "sites", name] => is_name(name),
        _ => false,
    }
}

/// A user's, group's or site's name: nothing that could mean another path once it is decoded.
fn is_name(name: &str) -> bool {
    let harmless = |c: u8| c.is_ascii_alphanumeric() || b"-_.~@!+,".contains(&c);
    let decoded = name
        .replace("%40", "@")
        .replace("%2C", ",")
        .replace("%2c", ",");
    (1..=256).contains(&name.len())
        && !name.contains("..")
        && name != "."
        && decoded.bytes().all(harmless)
}

fn is_id(id: &str) -> bool {
    let harmless = |c: u8| c.is_ascii_alphanumeric() || b"-_!{}".contains(&c);
    (1..=256).contains(&id.len()) && id.bytes().all(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Upstream {
        Upstream::new("https://graph.microsoft.com/").unwrap()
    }

    #[test]
    fn resources_have_one_shape() {
        for (address, path) in [
            (
                "https://graph.microsoft.com/v1.0/me/onenote/resources/1-a!2-b/$value",
                "/v1.0/me/onenote/resources/1-a!2-b/$value",
            ),
            (
                "HTTPS://GRAPH.microsoft.com/v1.0/users('a@b.example')/onenote/resources/0-1/$value",
                "/v1.0/users('a@b.example')/onenote/resources/0-1/$value",
            ),
            (
                "https://graph.microsoft.com/v1.0/users/a%40b.example/onenote/resources/0-1/content",
                "/v1.0/users/a%40b.example/onenote/resources/0-1/content",
            ),
            (
                "https://graph.microsoft.com/beta/sites/x.example,1,2/onenote/resources/0-1/$value",
                "/beta/sites/x.example,1,2/onenote/resources/0-1/$value",
            ),
        ] {
            assert_eq!(
                graph().resource(address).map(|it| it.path).as_deref(),
                Some(path)
            );
        }
        let at = Upstream::new("http://127.0.0.1:3002/graph").unwrap();
        let found = at
            .resource("http://127.0.0.1:3002/graph/v1.0/me/onenote/resources/7/$value")
            .unwrap();
        assert_eq!(
            (&*found.id, &*found.path),
            ("7", "/v1.0/me/onenote/resources/7/$value")
        );
    }

    #[test]
    fn nothing_else_is_a_resource() {
        for address in [
            "http://graph.microsoft.com/v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com.evil.example/v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com@evil.example/v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com:444/v1.0/me/onenote/resources/1/$value",
            "https://www.onenote.com/api/v1.0/me/notes/resources/1/$value",
            "//graph.microsoft.com/v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com//v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com/v1.0/me/onenote/resources/1/$value?x=1",
            "https://graph.microsoft.com/v1.0/me/onenote/resources/1/$value#x",
            "https://graph.microsoft.com/v1.0/me/onenote/resources/../$value",
            "https://graph.microsoft.com/v1.0/me/onenote/resources/%2e%2e/$value",
            "https://graph.microsoft.com/v1.0/me/../onenote/resources/1/$value",
            "https://graph.microsoft.com/v1.0/users/../onenote/resources/1/$value",
            "https://graph.microsoft.com/v1.0/users('a%2fb')/onenote/resources/1/$value",
            "https://graph.microsoft.com/v1.0/me/onenote/pages/1/content",
            "https://graph.microsoft.com\\v1.0/me/onenote/resources/1/$value",
            "https://graph.microsoft.com/v1.0/me/onenote/resources/1/$value\r\nX: y",
            "data:image/png;base64,AAAA",
            "file:///etc/passwd",
            "",
        ] {
            assert_eq!(graph().resource(address), None, "{address}");
        }
    }

    #[test]
    fn a_base_url_is_judged_at_once() {
        for bad in [
            "",
            "graph.microsoft.com",
            "ftp://x.example/",
            "https://u:p@x.example/",
            "https://x.example/?a",
        ] {
            assert!(Upstream::new(bad).is_err(), "{bad}");
        }
    }
}
