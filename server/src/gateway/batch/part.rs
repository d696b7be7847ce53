//! One part of a batch: read, checked, and told what of it goes upstream.

use std::borrow::Cow;

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_ENCODING},
};
use serde_json::value::RawValue;

use super::{
    super::{
        links::Format,
        misplaced,
        path::{self, PathError},
        request_headers::{self, OWN_PREFIX},
    },
    links,
    malformed::Malformed,
    message::{Members, push_member, push_string, slice_of},
    request::Envelope,
};

/// What a part consists of.
const KNOWN: [&str; 6] = ["id", "method", "url", "headers", "body", "dependsOn"];

/// Members of other dialects of batches that bind parts together: such parts could not be
/// sent one by one.
const BINDING: [&str; 2] = ["atomicityGroup", "if"];

/// Methods that a part may have.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// One part.
#[derive(Debug)]
pub(super) struct Part {
    /// Its id as JSON, as its client wrote it.
    pub(super) id_json: Bytes,
    /// Its id, by which answers are told apart: without regard to case.
    pub(super) key: String,
    pub(super) method: Method,
    /// Its path behind the base, percent-decoded.
    pub(super) path: String,
    /// Its query, as it was written, without the question mark.
    pub(super) query: String,
    /// The parts, by their place, that it waits for.
    pub(super) depends_on: Vec<usize>,
    /// Everything but `dependsOn`, as it goes upstream.
    pub(super) members: Vec<(String, Bytes)>,
}

/// Reads the parts of one batch.
pub(super) struct PartReader<'a> {
    /// The whole batch.
    pub(super) message: &'a Bytes,
    pub(super) envelope: &'a Envelope<'a>,
}

impl PartReader<'_> {
    /// The part at place `n`, and the ids that it depends on.
    pub(super) fn part(&self, n: usize, raw: &RawValue) -> Result<(Part, Vec<String>), Malformed> {
        let members = Members::read(raw.get().as_bytes());
        let members = members.map_err(|error| Malformed::Part(n, error.to_string()))?;
        let id: Option<String> = members.get_as("id");
        let id = id.filter(|id| !id.is_empty());
        let id =
            id.ok_or_else(|| Malformed::Part(n, "id must be a string that is not empty".into()))?;
        let wrong = |problem: &str| Malformed::Member {
            id: id.clone(),
            problem: problem.to_owned(),
        };
        refuse_misspelt(&members)
            .map_err(|name| wrong(&format!("the member {name} is not supported")))?;
        let method = method(&members).ok_or_else(|| wrong("method is missing or not supported"))?;
        let url: Option<String> = members.get_as("url");
        let url = url.ok_or_else(|| wrong("url must be a string"))?;
        let address = self.address(&url).map_err(wrong)?;
        if misplaced::is_within(&address) {
            return Err(wrong(
                "url holds a Spillway token, which would go to the upstream",
            ));
        }
        let moved = match &address {
            Cow::Owned(address) => Some(address.as_str()),
            Cow::Borrowed(_) => None,
        };
        let (raw_path, query) = address.split_once('?').unwrap_or((&address, ""));
        let path = self.path(raw_path).map_err(|error| Malformed::Path {
            id: id.clone(),
            error,
        })?;
        if is_batch(&path) {
            return Err(wrong("a batch cannot hold another one"));
        }
        let headers = self.headers(&members).map_err(|problem| wrong(&problem))?;
        let depends_on = match members.get("dependsOn").map(RawValue::get) {
            None | Some("null") => Vec::new(),
            Some(ids) => {
                serde_json::from_str(ids).map_err(|_| wrong("dependsOn must be an array of ids"))?
            }
        };
        let part = Part {
            id_json: members
                .get("id")
                .map(|raw| slice_of(self.message, raw))
                .unwrap_or_default(),
            key: key_of(&id),
            method,
            path,
            query: query.to_owned(),
            depends_on: Vec::new(),
            members: self.members(&members, moved, headers),
        };
        Ok((part, depends_on))
    }

    /// The address behind the batch's own, as it goes upstream.
    fn address<'u>(&self, url: &'u str) -> Result<Cow<'u, str>, &'static str> {
        let first = url.split(['?', '/']).next().unwrap_or_default();
        if url.is_empty() || first.contains(':') {
            return Err("url must be relative");
        }
        if url.contains('#') {
            return Err("url may not hold a fragment");
        }
        let (path, query) = url
            .split_once('?')
            .map_or((url, None), |(path, query)| (path, Some(query)));
        // SDKs make addresses relative by cutting off the authority alone.
        let path = match path.strip_prefix(self.envelope.own_root) {
            Some(rest) => Cow::Owned(format!("/{rest}")),
            None => Cow::Borrowed(path),
        };
        let links = self.envelope.links;
        let query =
            query.map(|query| links.map_or(Cow::Borrowed(query), |links| links.query(query)));
        Ok(match (path, query) {
            (Cow::Borrowed(_), None | Some(Cow::Borrowed(_))) => Cow::Borrowed(url),
            (path, None) => path,
            (path, Some(query)) => Cow::Owned(format!("{path}?{query}")),
        })
    }

    /// The whole path behind the base. A part that names a version itself is taken at its
    /// word, so that it is charged whether or not the upstream does so.
    fn path(&self, raw: &str) -> Result<String, PathError> {
        let slash = if raw.starts_with('/') { "" } else { "/" };
        let path = path::inspect(&format!("{slash}{raw}"))?;
        let first = path.split('/').nth(1).unwrap_or_default();
        if is_version(first) {
            return Ok(path);
        }
        Ok(format!(
            "{}{path}",
            self.envelope.root.trim_end_matches('/')
        ))
    }

    /// The headers that go upstream, as JSON; `None`: as they are, or none.
    fn headers(&self, members: &Members<'_>) -> Result<Option<Vec<u8>>, String> {
        let raw = match members.get("headers").map(RawValue::get) {
            None | Some("null") => return Ok(None),
            Some(raw) => raw,
        };
        let headers = Members::read(raw.as_bytes()).map_err(|error| format!("headers: {error}"))?;
        let mut json = b"{".to_vec();
        for (name, value) in &headers.0 {
            if self.passes(name, value)? {
                push_member(&mut json, name, value.get().as_bytes());
            }
        }
        json.push(b'}');
        Ok(Some(json))
    }

    fn passes(&self, name: &str, value: &RawValue) -> Result<bool, String> {
        let wrong = || format!("the header {name} is not valid");
        let text: String = serde_json::from_str(value.get()).map_err(|_| wrong())?;
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| wrong())?;
        if header.as_str().starts_with(OWN_PREFIX) {
            return Err(format!(
                "{name} speaks for the whole batch: send it with the batch itself"
            ));
        }
        // It would be served as somebody else's than it is charged to.
        if header == AUTHORIZATION && self.envelope.authorization != Some(&value) {
            return Err(
                "Authorization speaks for the whole batch: send it with the batch itself".into(),
            );
        }
        if misplaced::is_in(&header, &value) {
            return Err(format!(
                "{name} holds a Spillway token, which would go to the upstream"
            ));
        }
        Ok(request_headers::passes(&header))
    }

    /// Everything but `dependsOn`; what does not have to change, as it was written. `moved` is
    /// the address where it has to.
    fn members(
        &self,
        members: &Members<'_>,
        moved: Option<&str>,
        headers: Option<Vec<u8>>,
    ) -> Vec<(String, Bytes)> {
        let html = headers.as_deref().is_some_and(is_html);
        let going = members.0.iter().filter(|(name, _)| name != "dependsOn");
        let going = going.map(|(name, raw)| {
            let changed = match name.as_str() {
                "headers" => headers.clone(),
                "url" => moved.map(|address| {
                    let mut json = Vec::new();
                    push_string(&mut json, address);
                    json
                }),
                "body" if html => {
                    let links = self.envelope.links;
                    links.and_then(|links| links::html(raw.get().as_bytes(), links))
                }
                _ => None,
            };
            let value = changed.map_or_else(|| slice_of(self.message, raw), Bytes::from);
            (name.clone(), value)
        });
        going.collect()
    }
}

/// Whether a part's headers, as JSON, say that its body is HTML.
fn is_html(headers: &[u8]) -> bool {
    let Ok(headers) = Members::read(headers) else {
        return false;
    };
    let headers = headers.0.iter().filter_map(|(name, value)| {
        let value: String = serde_json::from_str(value.get()).ok()?;
        Some((name.parse::<HeaderName>().ok()?, value.parse().ok()?))
    });
    let headers = headers.collect();
    Format::of(&headers) == Some(Format::Html) && !headers.contains_key(CONTENT_ENCODING)
}

/// An id as answers are told apart by it.
pub(super) fn key_of(id: &str) -> String {
    id.to_lowercase()
}

/// Whether the last segment of a percent-decoded path asks for a batch.
pub(in super::super) fn is_batch(path: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next();
    last.is_some_and(|name| name.eq_ignore_ascii_case("$batch"))
}

/// `v1.0`, `beta`.
fn is_version(segment: &str) -> bool {
    let mut bytes = segment.bytes();
    segment.eq_ignore_ascii_case("beta")
        || (bytes
            .next()
            .is_some_and(|first| first.eq_ignore_ascii_case(&b'v'))
            && bytes.next().is_some_and(|second| second.is_ascii_digit()))
}

fn method(members: &Members<'_>) -> Option<Method> {
    let method: String = members.get_as("method")?;
    let method = method.to_ascii_uppercase();
    METHODS
        .contains(&method.as_str())
        .then(|| method.parse().ok())?
}

/// A member that some readers would take for a known one, or that binds parts together.
fn refuse_misspelt(members: &Members<'_>) -> Result<(), String> {
    let refused = |name: &str| {
        let known = KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
        (known && !KNOWN.contains(&name)) || BINDING.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    match members.0.iter().find(|(name, _)| refused(name)) {
        Some((name, _)) => Err(name.clone()),
        None => Ok(()),
    }
}
