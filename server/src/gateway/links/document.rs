//! A body whose links are rewritten: which bodies those are, and how they stream.

use std::{io, sync::Arc};

use bytes::{Buf as _, Bytes};
use http::{
    HeaderMap, HeaderName,
    header::{CONTENT_RANGE, CONTENT_TYPE},
};

use super::{
    address::Mapping,
    coding::{Coding, Decoder},
    html::Html,
    json::Json,
};

/// What a body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json` and its kin.
    Json,
    /// `text/html`, and HTML written as XML.
    Html,
}

impl Format {
    /// That of a body with these headers. `None`: one that is not looked into.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        if headers.contains_key(CONTENT_RANGE) {
            return None;
        }
        let mut types = headers.get_all(CONTENT_TYPE).iter();
        let (Some(value), None) = (types.next(), types.next()) else {
            return None;
        };
        let mut parts = value.to_str().ok()?.split(';').map(str::trim);
        let media_type = parts.next()?;
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        let suffix = media_type.len().checked_sub("+json".len());
        let suffix = suffix.and_then(|at| media_type.get(at..));
        let format = if is("application/json")
            || is("text/json")
            || suffix.is_some_and(|it| it.eq_ignore_ascii_case("+json"))
        {
            Self::Json
        } else if is("text/html") || is("application/xhtml+xml") {
            Self::Html
        } else {
            return None;
        };
        parts.all(is_readable).then_some(format)
    }
}

/// Whether a media type's parameter leaves ASCII as it is.
fn is_readable(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or_default();
    let value = value.trim_matches('"').to_ascii_lowercase();
    let known = ["utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252"];
    !name.trim().eq_ignore_ascii_case("charset") || known.contains(&value.trim())
}

/// A text of either format on its way.
#[derive(Debug)]
pub(super) enum Text {
    Json(Json),
    Html(Html),
}

impl Text {
    pub(super) fn new(format: Format, mapping: Arc<Mapping>) -> Self {
        match format {
            Format::Json => Self::Json(Json::new(mapping)),
            Format::Html => Self::Html(Html::new(mapping)),
        }
    }

    pub(super) fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Json(json) => json.push(input, out),
            Self::Html(html) => html.push(input, out),
        }
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Json(json) => json.end(out),
            Self::Html(html) => html.end(out),
        }
    }
}

/// A body on its way. It holds one value's beginning, at most 8 KiB, and where it is coded
/// its decoder's window and 16 KiB of what that gave.
pub struct Document {
    decoder: Option<Decoder>,
    text: Text,
    ended: bool,
}

impl Document {
    /// For a body with these headers. `None`: it is not looked into.
    pub(super) fn of(headers: &HeaderMap, mapping: &Arc<Mapping>) -> Option<Self> {
        let format = Format::of(headers)?;
        Some(Self {
            decoder: Coding::of(headers)?.decoder(),
            text: Text::new(format, Arc::clone(mapping)),
            ended: false,
        })
    }

    /// All of a body of which nothing has been taken yet, at once. `None`: it is coded, and may be
    /// any number of times as long as its pieces.
    pub fn whole(&mut self, pieces: &[Bytes]) -> Option<Bytes> {
        if self.decoder.is_some() {
            return None;
        }
        let mut out = Vec::with_capacity(pieces.iter().map(Bytes::len).sum());
        for piece in pieces {
            self.text.push(piece, &mut out);
        }
        self.text.end(&mut out);
        self.ended = true;
        Some(out.into())
    }

    /// What is decided by the beginning of `input`, which it takes away. `None`: all of it
    /// is taken.
    ///
    /// # Errors
    /// The body is not coded as it says.
    pub fn next(&mut self, input: &mut Bytes) -> io::Result<Option<Bytes>> {
        let mut out = Vec::new();
        while out.is_empty() && !input.is_empty() {
            let Some(decoder) = &mut self.decoder else {
                out.reserve(input.len());
                self.text.push(&std::mem::take(input), &mut out);
                break;
            };
            let mut rest = input.as_ref();
            let decoded = decoder.next(&mut rest)?;
            self.text.push(decoded, &mut out);
            let taken = input.len() - rest.len();
            input.advance(taken);
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }

    /// What is left when there is no more input. `None`: nothing.
    ///
    /// # Errors
    /// The body was cut.
    pub fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let mut out = Vec::new();
        while out.is_empty() && !self.ended {
            let decoded = match &mut self.decoder {
                Some(decoder) => decoder.finish()?,
                None => &[],
            };
            self.ended = decoded.is_empty();
            self.text.push(decoded, &mut out);
        }
        if self.ended {
            self.text.end(&mut out);
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

/// Removes what does not hold for a body that is rewritten: its length, coding, digests, and
/// the offer of its parts. Its tag stays: it names the upstream's version, and clients bring
/// it back there.
pub(super) fn drop_what_changes(headers: &mut HeaderMap) {
    drop_named(headers, |name| {
        matches!(name, "content-encoding" | "accept-ranges") || is_length_or_digest(name)
    });
}

/// The same for a call's body, which is never coded.
pub(super) fn drop_length_and_digests(headers: &mut HeaderMap) {
    drop_named(headers, is_length_or_digest);
}

fn is_length_or_digest(name: &str) -> bool {
    matches!(
        name,
        "content-length" | "digest" | "content-digest" | "repr-digest" | "content-md5"
    )
}

/// One look at each header that there is.
fn drop_named(headers: &mut HeaderMap, goes: impl Fn(&str) -> bool) {
    let names = headers.keys().filter(|name| goes(name.as_str()));
    let names: Vec<HeaderName> = names.cloned().collect();
    for name in names {
        headers.remove(name);
    }
}
