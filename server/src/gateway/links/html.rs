//! Links in HTML, as a stream: as much of the standard's tokenizer as it takes to know
//! attributes from text, comments and scripts.
//!
//! Everything passes on at once but the one attribute's value that may have to change
//! ([`LINKS`]). Text is never touched, nor are `href`s: those a person wrote.

use std::sync::Arc;

use super::{
    address::Mapping,
    markup::{LINKS, Name, RAW, Until, is_blank},
    value::{self, Place, Spelling, VALUE_BYTES_MAX},
};

/// An HTML text on its way.
#[derive(Debug)]
pub struct Html {
    mapping: Arc<Mapping>,
    at: At,
    tag: Name,
    /// Whether the tag ends an element.
    is_end: bool,
    /// Whether the last byte in a tag was a slash.
    slash: bool,
    attribute: Name,
    /// The value that may change.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Text,
    /// Behind `<`.
    Open,
    /// Behind `</`.
    OpenEnd,
    TagName,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Value(Until),
    Held(Until),
    /// Behind `<!` and so many hyphens.
    Declaration(u8),
    /// In a comment, behind so many hyphens.
    Comment(u8),
    /// Up to the next `>`.
    Bogus,
    /// In raw text, behind so many bytes of `</` and the element's name.
    Raw(usize),
}

impl Html {
    pub(super) fn new(mapping: Arc<Mapping>) -> Self {
        Self {
            mapping,
            at: At::Text,
            tag: Name::default(),
            is_end: false,
            slash: false,
            attribute: Name::default(),
            held: Vec::new(),
        }
    }

    /// More has come: writes what of it is decided to `out`.
    pub(super) fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) {
        while let Some(&byte) = input.first() {
            let used = match self.at {
                At::Text => memchr::memchr(b'<', input).unwrap_or(input.len()).max(1),
                _ => 1,
            };
            if let At::Held(until) = self.at {
                self.hold(until, byte, out);
            } else {
                self.step(byte);
                // What begins a value without quotes is already part of it.
                if let At::Held(Until::Blank) = self.at {
                    self.held.push(byte);
                } else {
                    out.extend_from_slice(input.get(..used).unwrap_or_default());
                }
            }
            input = input.get(used..).unwrap_or_default();
        }
    }

    /// There is no more: what is held was cut, and passes.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }

    fn hold(&mut self, until: Until, byte: u8, out: &mut Vec<u8>) {
        if until.ends(byte) {
            value::write(&self.held, Spelling::Html, Place::Link, &self.mapping, out);
            self.held.clear();
            out.push(byte);
            self.at = self.after_value(byte);
            return;
        }
        self.held.push(byte);
        if self.held.len() > VALUE_BYTES_MAX {
            out.append(&mut self.held);
            self.at = At::Value(until);
        }
    }

    /// The state behind `byte`, which is not held.
    fn step(&mut self, byte: u8) {
        self.at = match self.at {
            At::Text if byte == b'<' => At::Open,
            At::Text | At::Held(_) => self.at,
            At::Open => self.opened(byte),
            At::OpenEnd => self.opened_end(byte),
            At::TagName => match byte {
                b'>' | b'/' => self.in_tag(byte),
                byte if is_blank(byte) => At::BeforeAttribute,
                byte => {
                    self.tag.push(byte);
                    At::TagName
                }
            },
            At::BeforeAttribute => self.in_tag(byte),
            At::AttributeName
                if byte != b'=' && !is_blank(byte) && byte != b'/' && byte != b'>' =>
            {
                self.attribute.push(byte);
                At::AttributeName
            }
            At::AttributeName | At::AfterAttributeName => match byte {
                b'=' => At::BeforeValue,
                byte if is_blank(byte) => At::AfterAttributeName,
                byte => self.in_tag(byte),
            },
            At::BeforeValue => self.value_begins(byte),
            At::Value(until) if until.ends(byte) => self.after_value(byte),
            At::Value(_) => self.at,
            At::Declaration(hyphens) => match (byte, hyphens) {
                (b'-', 0) => At::Declaration(1),
                (b'-', _) => At::Comment(2),
                (b'>', _) => At::Text,
                _ => At::Bogus,
            },
            At::Comment(hyphens) => match (byte, hyphens) {
                (b'>', 2) => At::Text,
                (b'-', _) => At::Comment((hyphens + 1).min(2)),
                _ => At::Comment(0),
            },
            At::Bogus if byte == b'>' => At::Text,
            At::Bogus => At::Bogus,
            At::Raw(matched) => self.raw(matched, byte),
        };
    }

    fn opened(&mut self, byte: u8) -> At {
        self.slash = false;
        self.is_end = false;
        match byte {
            b'!' => At::Declaration(0),
            b'?' => At::Bogus,
            b'/' => At::OpenEnd,
            b'<' => At::Open,
            byte if byte.is_ascii_alphabetic() => {
                self.tag.begin(byte);
                At::TagName
            }
            _ => At::Text,
        }
    }

    fn opened_end(&mut self, byte: u8) -> At {
        self.is_end = true;
        match byte {
            b'>' => At::Text,
            byte if byte.is_ascii_alphabetic() => {
                self.tag.begin(byte);
                At::TagName
            }
            _ => At::Bogus,
        }
    }

    /// Between attributes.
    fn in_tag(&mut self, byte: u8) -> At {
        let slash = std::mem::replace(&mut self.slash, byte == b'/');
        match byte {
            b'>' => self.tag_ends(slash),
            b'/' => At::BeforeAttribute,
            byte if is_blank(byte) => At::BeforeAttribute,
            byte => {
                self.attribute.begin(byte);
                At::AttributeName
            }
        }
    }

    /// A tag that says it is empty is taken at its word, also where the standard would not:
    /// XHTML writers do so.
    fn tag_ends(&mut self, empty: bool) -> At {
        if self.is_end || empty || !self.tag.is_one_of(&RAW) {
            At::Text
        } else {
            At::Raw(0)
        }
    }

    fn value_begins(&mut self, byte: u8) -> At {
        let until = match byte {
            b'"' | b'\'' => Until::Quote(byte),
            b'>' => return self.tag_ends(false),
            byte if is_blank(byte) => return At::BeforeValue,
            _ => Until::Blank,
        };
        if !self.is_end && self.attribute.is_one_of(&LINKS) {
            At::Held(until)
        } else {
            At::Value(until)
        }
    }

    fn after_value(&mut self, byte: u8) -> At {
        self.slash = false;
        if byte == b'>' {
            self.tag_ends(false)
        } else {
            At::BeforeAttribute
        }
    }

    fn raw(&mut self, matched: usize, byte: u8) -> At {
        let expected = match matched {
            0 => Some(b'<'),
            1 => Some(b'/'),
            _ => self.tag.byte(matched - 2),
        };
        match expected {
            Some(expected) if byte.to_ascii_lowercase() == expected => At::Raw(matched + 1),
            None if byte == b'>' || byte == b'/' || is_blank(byte) => {
                self.is_end = true;
                self.in_tag(byte)
            }
            _ if byte == b'<' => At::Raw(1),
            _ => At::Raw(0),
        }
    }
}
