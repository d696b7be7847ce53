//! Absolute links, with the authority the client used (or the configured one).

use axum::http::HeaderMap;
use axum::http::header::HOST;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::errors::GraphError;
use super::paths::Version;
use crate::settings::is_authority;

/// What stands unescaped in a path segment here.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@')
    .remove(b'!');

/// Makes the links of one answer.
#[derive(Debug)]
pub(super) struct Links {
    base: String,
    root: String,
    owner: String,
}

impl Links {
    /// Links for `owner`'s things, at the configured base or at the request's `Host`.
    pub(super) fn new(
        base_url: Option<&str>,
        headers: &HeaderMap,
        version: Version,
        owner: &str,
    ) -> Result<Self, GraphError> {
        let base = match base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", host(headers)?),
        };
        let root = format!("{base}/{}", version.name());
        let owner = utf8_percent_encode(owner, SEGMENT).to_string();
        Ok(Self { base, root, owner })
    }

    /// The same authority with another path and query, as it stands.
    pub(super) fn at(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.base)
    }

    /// `…/users/{owner}/onenote/{path}`
    pub(super) fn onenote(&self, path: &str) -> String {
        format!("{}/users/{}/onenote/{path}", self.root, self.owner)
    }

    /// `…/users('{owner}')/onenote/resources`, the form OneNote's HTML has.
    pub(super) fn resources(&self) -> String {
        format!("{}/users('{}')/onenote/resources", self.root, self.owner)
    }

    /// `…/$metadata#{what}`
    pub(super) fn context(&self, what: &str) -> String {
        format!("{}/$metadata#{what}", self.root)
    }

    /// `…/$metadata#users('{owner}')/onenote/{what}`
    pub(super) fn onenote_context(&self, what: &str) -> String {
        self.context(&format!("users('{}')/onenote/{what}", self.owner))
    }
}

fn host(headers: &HeaderMap) -> Result<&str, GraphError> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    host.filter(|text| is_authority(text))
        .ok_or_else(GraphError::host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(host: &str, base_url: Option<&str>) -> Result<Links, GraphError> {
        let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        Links::new(base_url, &headers, Version::V1, "o'r <u>@x")
    }

    #[test]
    fn links_keep_the_clients_authority_and_need_no_escaping() {
        let links = links("127.0.0.1:3002", None).unwrap();
        let url = links.onenote("pages/1-a!1-b");
        assert_eq!(
            url,
            "http://127.0.0.1:3002/v1.0/users/o%27r%20%3Cu%3E@x/onenote/pages/1-a!1-b"
        );
        assert!(
            links
                .resources()
                .ends_with("/users('o%27r%20%3Cu%3E@x')/onenote/resources")
        );
    }

    #[test]
    fn a_configured_base_wins_and_a_hostile_host_is_refused() {
        let fixed = links("x", Some("https://graph.example/")).unwrap();
        assert_eq!(
            fixed.at("/v1.0/me?$skip=1"),
            "https://graph.example/v1.0/me?$skip=1"
        );
        assert_eq!(links("a\"><b", None).unwrap_err(), GraphError::host());
    }
}
