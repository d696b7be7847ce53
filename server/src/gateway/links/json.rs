//! Links in JSON, as a stream: a state machine over bytes, which passes everything on at
//! once but the one string that may have to change.
//!
//! It does not check its input. A string that is followed by a colon is a key; if that is
//! one for links ([`link_place`]), the string behind it, or each in the array behind it, is
//! held until its end and may be replaced. Input that is no JSON passes as it is, as far as
//! it does not look like a link under such a key.

use std::sync::Arc;

use super::{
    address::Mapping,
    value::{self, Place, Spelling, VALUE_BYTES_MAX},
};

/// The longest key that is recognised, in bytes as written: annotations carry the name of
/// what they annotate.
const KEY_BYTES_MAX: usize = 256;

/// A JSON text on its way.
#[derive(Debug)]
pub struct Json {
    mapping: Arc<Mapping>,
    at: At,
    /// The next byte of a string is escaped.
    escaped: bool,
    /// The last string, as far as it may be a key.
    key: Vec<u8>,
    /// Whether nothing but a colon has to come to make it one.
    may_be_key: bool,
    expected: Expected,
    /// The string that may change, without its quotes.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Between strings.
    Outside,
    /// In a string that passes.
    Passing,
    /// In one that may be a link.
    Holding(Place),
}

/// What the next value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Anything,
    /// The value of a key for links.
    Link(Place),
    /// An element of the array that is one.
    Links(Place),
}

impl Json {
    pub(super) fn new(mapping: Arc<Mapping>) -> Self {
        Self {
            mapping,
            at: At::Outside,
            escaped: false,
            key: Vec::new(),
            may_be_key: false,
            expected: Expected::Anything,
            held: Vec::new(),
        }
    }

    /// More has come: writes what of it is decided to `out`.
    pub(super) fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) {
        while !input.is_empty() {
            let used = match self.at {
                At::Outside => self.outside(input, out),
                At::Passing => self.passing(input, out),
                At::Holding(place) => self.holding(place, input, out),
            };
            input = input.get(used..).unwrap_or_default();
        }
    }

    /// There is no more: what is held was cut, and passes.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }

    fn outside(&mut self, input: &[u8], out: &mut Vec<u8>) -> usize {
        let quote = input.iter().position(|&byte| {
            if byte != b'"' {
                self.structure(byte);
            }
            byte == b'"'
        });
        let used = quote.map_or(input.len(), |at| at + 1);
        out.extend_from_slice(input.get(..used).unwrap_or_default());
        if quote.is_some() {
            self.key.clear();
            self.may_be_key = false;
            self.at = match self.expected {
                Expected::Anything => At::Passing,
                Expected::Link(place) | Expected::Links(place) => At::Holding(place),
            };
        }
        used
    }

    /// Keeps track of what the next string would be.
    fn structure(&mut self, byte: u8) {
        self.expected = match (byte, self.expected) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => return,
            (b':', _) if self.may_be_key => {
                let key = Spelling::Json.read(&self.key);
                link_place(&key).map_or(Expected::Anything, Expected::Link)
            }
            (b'[', Expected::Link(place)) | (b',', Expected::Links(place)) => {
                Expected::Links(place)
            }
            _ => Expected::Anything,
        };
        self.may_be_key = false;
    }

    fn passing(&mut self, input: &[u8], out: &mut Vec<u8>) -> usize {
        let (used, ended) = self.string(input);
        let text = input.get(..used).unwrap_or_default();
        out.extend_from_slice(text);
        // One byte more than a key may have tells that it is too long.
        let room = (KEY_BYTES_MAX + 1).saturating_sub(self.key.len());
        let text = text.strip_suffix(b"\"").filter(|_| ended).unwrap_or(text);
        self.key
            .extend_from_slice(text.get(..room.min(text.len())).unwrap_or_default());
        if ended {
            self.may_be_key = self.key.len() <= KEY_BYTES_MAX;
            self.at = At::Outside;
        }
        used
    }

    fn holding(&mut self, place: Place, input: &[u8], out: &mut Vec<u8>) -> usize {
        let room = VALUE_BYTES_MAX + 1 - self.held.len();
        let (used, ended) = self.string(input.get(..room.min(input.len())).unwrap_or_default());
        let text = input.get(..used).unwrap_or_default();
        if ended {
            self.held
                .extend_from_slice(text.strip_suffix(b"\"").unwrap_or(text));
            value::write(&self.held, Spelling::Json, place, &self.mapping, out);
            self.held.clear();
            out.push(b'"');
            self.at = At::Outside;
            if self.expected == Expected::Link(place) {
                self.expected = Expected::Anything;
            }
            return used;
        }
        self.held.extend_from_slice(text);
        if self.held.len() > VALUE_BYTES_MAX {
            out.append(&mut self.held);
            // Nor is it a key.
            self.key.resize(KEY_BYTES_MAX + 1, 0);
            self.at = At::Passing;
        }
        used
    }

    /// How much of `input` belongs to the string, its quote included, and whether that is
    /// in it.
    fn string(&mut self, input: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(rest) = input.get(at..).filter(|rest| !rest.is_empty()) {
            if std::mem::take(&mut self.escaped) {
                at += 1;
                continue;
            }
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                break;
            };
            at += found + 1;
            if rest.get(found) == Some(&b'"') {
                return (at, true);
            }
            self.escaped = true;
        }
        (input.len(), false)
    }
}

/// Whether the value of `key` is a link, and of what kind.
///
/// | keys | |
/// |---|---|
/// | `@odata.nextLink`, `…deltaLink`, `…id`, `…bind`, `…editLink`, `…readLink`, `…navigationLink`, `…associationLink`, `…mediaReadLink`, `…mediaEditLink` | OData's, with what they annotate before the `@`, and with or without `odata.` (4.0, 4.01) |
/// | `nextLink`, `deltaLink` | the same without annotation |
/// | `contentUrl`, `pagesUrl`, `sectionsUrl`, `sectionGroupsUrl`, `self`, `resourceLocation` | `OneNote`'s |
/// | `Location`, `Content-Location`, `Operation-Location`, in any case | headers within a `$batch` |
///
/// Nothing else, above all not `@odata.context`, which names metadata and is compared as a
/// text; nor what needs no credential of its caller: `uploadUrl`,
/// `@microsoft.graph.downloadUrl`, `notificationUrl`.
pub(super) fn link_place(key: &[u8]) -> Option<Place> {
    const LOCATIONS: [&[u8]; 3] = [b"location", b"content-location", b"operation-location"];
    if LOCATIONS.iter().any(|name| key.eq_ignore_ascii_case(name)) {
        return Some(Place::Location);
    }
    let is_link = match key.iter().rposition(|&byte| byte == b'@') {
        Some(at) => is_annotation(key.get(at + 1..).unwrap_or_default()),
        None => matches!(
            key,
            b"nextLink"
                | b"deltaLink"
                | b"contentUrl"
                | b"pagesUrl"
                | b"sectionsUrl"
                | b"sectionGroupsUrl"
                | b"self"
                | b"resourceLocation"
        ),
    };
    is_link.then_some(Place::Link)
}

fn is_annotation(name: &[u8]) -> bool {
    matches!(
        name.strip_prefix(b"odata.").unwrap_or(name),
        b"nextLink"
            | b"deltaLink"
            | b"id"
            | b"bind"
            | b"editLink"
            | b"readLink"
            | b"navigationLink"
            | b"associationLink"
            | b"mediaReadLink"
            | b"mediaEditLink"
    )
}
