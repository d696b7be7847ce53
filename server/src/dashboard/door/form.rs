//! Forms as browsers send them, and where they may lead.

use axum::{body::to_bytes, extract::Request};
use http::{StatusCode, header, request::Parts};
use serde::{Deserialize, de::DeserializeOwned};

use crate::http::Problem;

/// The longest form, in bytes: names and passwords, escaped.
const FORM_BYTES_MAX: usize = 8 * 1024;

/// The longest form of any fields, in bytes: lists of apps and sites, escaped.
const FIELDS_BYTES_MAX: usize = 32 * 1024;

/// The longest address to go on to, in bytes.
const TO_BYTES_MAX: usize = 2 * 1024;

/// What stands in an address or in a form; whatever is missing is empty.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct Asked {
    pub(in crate::dashboard) name: String,
    pub(in crate::dashboard) password: String,
    pub(in crate::dashboard) new: String,
    pub(in crate::dashboard) again: String,
    pub(in crate::dashboard) to: String,
    pub(in crate::dashboard) key: String,
    pub(in crate::dashboard) handle: String,
    pub(in crate::dashboard) out: Option<String>,
}

impl Asked {
    /// What stands in an address; nothing where it cannot be read.
    pub(in crate::dashboard) fn in_address(query: Option<&str>) -> Self {
        read(query.unwrap_or_default().as_bytes()).unwrap_or_default()
    }

    /// What a form holds, and the head of its request.
    pub(in crate::dashboard) async fn in_form(request: Request) -> Result<(Parts, Self), Problem> {
        form(request, FORM_BYTES_MAX).await
    }
}

/// What any form holds: names and values, of which a name may have several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::dashboard) struct Fields(Vec<(String, String)>);

impl Fields {
    /// What a form holds, and the head of its request.
    pub(in crate::dashboard) async fn in_form(request: Request) -> Result<(Parts, Self), Problem> {
        let (parts, fields) = form(request, FIELDS_BYTES_MAX).await?;
        Ok((parts, Self(fields)))
    }

    /// What stands in an address; nothing where it cannot be read.
    pub(in crate::dashboard) fn in_address(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default();
        Self(serde_urlencoded::from_str(query).unwrap_or_default())
    }

    /// The first value of this name without the blanks around it; empty: there is none.
    pub(in crate::dashboard) fn get(&self, name: &str) -> &str {
        let mut named = self.0.iter().filter(|(it, _)| it == name);
        named.next().map_or("", |(_, value)| value.trim())
    }

    /// All values of this name.
    pub(in crate::dashboard) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(it, _)| it == name);
        named.map(|(_, value)| value.as_str())
    }

    /// What stands between commas, without blanks.
    pub(in crate::dashboard) fn list(&self, name: &str) -> Vec<String> {
        let items = self.get(name).split(',').map(str::trim);
        items
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Whether a mark of this name is set.
    pub(in crate::dashboard) fn is_set(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }
}

/// What a form of at most so many bytes holds, and the head of its request.
///
/// # Errors
/// It is no form, too long, or cannot be read.
pub(in crate::dashboard) async fn form<T: DeserializeOwned>(
    request: Request,
    bytes_max: usize,
) -> Result<(Parts, T), Problem> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let title = "This takes a form";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "unsupported_media_type", title));
    }
    let body = to_bytes(body, bytes_max).await.map_err(|_| {
        let title = "The form is too long, or did not come whole";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", title)
    })?;
    let asked = read(&body).ok_or_else(|| {
        let title = "The form cannot be read";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_form", title)
    })?;
    Ok((parts, asked))
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_urlencoded::from_bytes(text).ok()
}

/// Where to go on to: a path of this server's pages, whatever browsers make of it; else the
/// overview. `//host` and `/\host` are other hosts to a browser.
pub(super) fn local(to: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_local = to.len() <= TO_BYTES_MAX
        && to.starts_with('/')
        && !to.starts_with("//")
        && !to.starts_with("/api/")
        && !to.starts_with("/sign-")
        && to.bytes().all(plain);
    if is_local { to } else { "/" }
}

/// An error as a sentence.
pub(in crate::dashboard) fn sentence(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for to in ["/", "/users/graph/onenote?user=ana%40x&app=a", "/limits#x"] {
            assert_eq!(local(to), to);
        }
        let long = format!("/{}", "x".repeat(TO_BYTES_MAX));
        for to in [
            "",
            "users",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: x",
            "https://evil.example",
            "javascript:alert(1)",
            "/api/v1/state",
            "/sign-in",
            "/é",
            &long,
        ] {
            assert_eq!(local(to), "/", "{to:?}");
        }
    }
}
