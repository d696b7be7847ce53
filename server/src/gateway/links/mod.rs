//! Links: addresses of the upstream come back as the gateway's, so that whoever follows one
//! stays on the gateway's way; those that clients kept go upstream as the upstream's own.
//!
//! Only values that are wholly an address are touched, and only where a link is expected:
//! headers ([`headers`]), keys of JSON ([`json`]) and attributes of HTML ([`html`]). Bodies
//! stream ([`document`]); content codings are read ([`coding`]) and what is rewritten is
//! sent plain.

mod address;
mod coding;
mod document;
mod headers;
mod html;
mod json;
mod markup;
mod outgoing;
mod value;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::RANGE};

pub use address::Mapping;
pub use coding::Unreadable;
pub use document::{Document, Format};

use crate::config::WebAddress;
use document::Text;

/// The links of one upstream.
#[derive(Clone, Debug)]
pub struct Links {
    to_gateway: Arc<Mapping>,
    to_upstream: Arc<Mapping>,
}

impl Links {
    /// Between the upstream at `base` and the gateway's address for it, `gateway/name`.
    #[must_use]
    pub fn new(base: &WebAddress, gateway: &WebAddress, name: &str) -> Self {
        let here = gateway.below(name);
        Self {
            to_gateway: Arc::new(Mapping::new(base.clone(), &here)),
            to_upstream: Arc::new(Mapping::new(here, base)),
        }
    }

    /// What the upstream's answers are rewritten by.
    #[must_use]
    pub fn to_gateway(&self) -> &Arc<Mapping> {
        &self.to_gateway
    }

    /// What calls are rewritten by.
    #[must_use]
    pub fn to_upstream(&self) -> &Arc<Mapping> {
        &self.to_upstream
    }
}

/// A whole text, with its links rewritten.
#[must_use]
pub fn rewrite(format: Format, text: &[u8], mapping: &Arc<Mapping>) -> Vec<u8> {
    let mut rewriter = Text::new(format, Arc::clone(mapping));
    let mut out = Vec::with_capacity(text.len());
    rewriter.push(text, &mut out);
    rewriter.end(&mut out);
    out
}

/// Undoes the content coding of a whole body, and takes what does not hold any more out of its
/// headers; a body without one stays as it is. `has_room` is told of each piece's length, at
/// most 16 KiB, and may end the matter.
///
/// # Errors
/// See [`Unreadable`]; nothing has changed then.
pub fn decode(
    headers: &mut HeaderMap,
    body: Bytes,
    has_room: impl FnMut(usize) -> bool,
) -> Result<Bytes, Unreadable> {
    let plain = coding::plain(headers, &body, has_room)?;
    Ok(match plain {
        Some(plain) => {
            document::drop_what_changes(headers);
            plain.into()
        }
        None => body,
    })
}

/// How the answer to one call is rewritten.
#[derive(Clone, Debug)]
pub struct Answers {
    links: Links,
    /// Whether the call asks for a part of a body: then no body is rewritten, since the
    /// parts would not fit together.
    ranged: bool,
}

impl Answers {
    /// That to a call with these headers.
    #[must_use]
    pub fn to(headers: &HeaderMap, links: &Links) -> Self {
        Self {
            links: links.clone(),
            ranged: headers.contains_key(RANGE),
        }
    }

    /// Rewrites the links of an answer's head. `Some`: its body is to be put through this.
    pub fn begin(&self, status: StatusCode, headers: &mut HeaderMap) -> Option<Document> {
        headers::answer(headers, &self.links.to_gateway);
        let bare = [
            StatusCode::PARTIAL_CONTENT,
            StatusCode::NO_CONTENT,
            StatusCode::NOT_MODIFIED,
        ];
        let whole = !self.ranged && !bare.contains(&status);
        let document = whole.then(|| Document::of(headers, &self.links.to_gateway));
        document
            .flatten()
            .inspect(|_| document::drop_what_changes(headers))
    }
}

#[cfg(test)]
mod tests;
