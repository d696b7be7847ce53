//! A value that is wholly an address, in the spelling of the document that holds it.
//!
//! Only the address's beginning is replaced; all that follows stays as it is written,
//! escapes included.

use std::borrow::Cow;

use super::address::{Mapping, is_monitor};

/// The longest value that is looked at, in bytes as written. A longer one passes as it is:
/// servers and clients take no addresses beyond 8 KiB either.
pub(super) const VALUE_BYTES_MAX: usize = 8 * 1024;

/// What a byte outside of ASCII, or one that has no place in an address, is read as.
const OTHER: u8 = 0xff;

/// How a document writes the bytes of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spelling {
    /// Within the quotes of a JSON string.
    Json,
    /// Within an attribute of HTML.
    Html,
}

/// What an address in a certain place may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A link to a resource.
    Link,
    /// Where something was put or is watched: `Location` and its kin.
    Location,
}

/// Writes `raw` to `out`, with the beginning that `mapping` knows replaced.
pub(super) fn write(
    raw: &[u8],
    spelling: Spelling,
    place: Place,
    mapping: &Mapping,
    out: &mut Vec<u8>,
) {
    let (blank, raw) = raw.split_at(spelling.blank(raw));
    out.extend_from_slice(blank);
    let rest = spelling.matched(raw, place, mapping).inspect(|_| {
        for byte in mapping.to().bytes() {
            spelling.write(byte, out);
        }
    });
    out.extend_from_slice(rest.unwrap_or(raw));
}

impl Spelling {
    /// How many bytes at the beginning are not part of the address.
    fn blank(self, raw: &[u8]) -> usize {
        match self {
            Self::Json => 0,
            Self::Html => raw.iter().take_while(|it| it.is_ascii_whitespace()).count(),
        }
    }

    /// What follows the part to be replaced.
    fn matched<'r>(self, raw: &'r [u8], place: Place, mapping: &Mapping) -> Option<&'r [u8]> {
        let url = &*self.read(raw);
        if place == Place::Location && is_monitor(url) {
            return None;
        }
        let mut rest = raw;
        for _ in 0..mapping.matched(url)? {
            rest = rest.get(self.unit(rest).1..).unwrap_or_default();
        }
        Some(rest)
    }

    /// The value as it is meant.
    pub(super) fn read(self, raw: &[u8]) -> Cow<'_, [u8]> {
        if !raw.contains(&self.escape()) {
            return Cow::Borrowed(raw);
        }
        let mut read = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while !rest.is_empty() {
            let (byte, written) = self.unit(rest);
            read.push(byte);
            rest = rest.get(written..).unwrap_or_default();
        }
        Cow::Owned(read)
    }

    /// What every byte that is written otherwise begins with.
    const fn escape(self) -> u8 {
        match self {
            Self::Json => b'\\',
            Self::Html => b'&',
        }
    }

    /// The first byte that is meant, and how many bytes it takes as it is written.
    fn unit(self, raw: &[u8]) -> (u8, usize) {
        let escaped = match (self, raw.first()) {
            (Self::Json, Some(b'\\')) => json_escape(raw),
            (Self::Html, Some(b'&')) => html_reference(raw),
            _ => None,
        };
        escaped.unwrap_or((raw.first().copied().unwrap_or(OTHER), 1))
    }

    fn write(self, byte: u8, out: &mut Vec<u8>) {
        match (self, byte) {
            (Self::Json, b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            (Self::Html, b'&' | b'"' | b'\'' | b'<' | b'>' | b'=' | b'`') => {
                out.extend_from_slice(format!("&#{byte};").as_bytes());
            }
            _ => out.push(byte),
        }
    }
}

fn json_escape(raw: &[u8]) -> Option<(u8, usize)> {
    let short = match raw.get(1)? {
        b'u' => {
            let digits = raw.get(2..6)?;
            return Some((ascii(number(digits, 16)?), 6));
        }
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        byte => *byte,
    };
    Some((short, 2))
}

/// The longest reference that is read, in bytes between `&` and `;`.
const REFERENCE_BYTES_MAX: usize = 8;

/// Those that can stand in an address.
fn html_reference(raw: &[u8]) -> Option<(u8, usize)> {
    let name = raw.get(1..)?;
    let length = name
        .iter()
        .take(REFERENCE_BYTES_MAX + 1)
        .position(|it| *it == b';')?;
    let byte = match name.get(..length)? {
        [b'#', b'x' | b'X', digits @ ..] => ascii(number(digits, 16)?),
        [b'#', digits @ ..] => ascii(number(digits, 10)?),
        b"amp" | b"AMP" => b'&',
        b"sol" => b'/',
        b"colon" => b':',
        b"period" => b'.',
        b"quest" => b'?',
        b"num" => b'#',
        b"equals" => b'=',
        b"dollar" => b'$',
        b"apos" => b'\'',
        b"quot" | b"QUOT" => b'"',
        _ => return None,
    };
    Some((byte, length + 2))
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    let digits = digits
        .bytes()
        .all(|it| it.is_ascii_alphanumeric())
        .then_some(digits)?;
    u32::from_str_radix(digits, radix).ok()
}

fn ascii(character: u32) -> u8 {
    u8::try_from(character)
        .ok()
        .filter(u8::is_ascii)
        .unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(raw: &str, spelling: Spelling, place: Place) -> String {
        let from = "https://up.example/a-b".parse().unwrap();
        let mapping = Mapping::new(from, &"http://gate.example/it's&u".parse().unwrap());
        let mut out = Vec::new();
        write(raw.as_bytes(), spelling, place, &mapping, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_escapes_are_read_and_what_follows_stays_as_written() {
        for raw in [
            r"https://up.example/a-b/x?y=1\u0026z=\u00fc\/",
            r"https:\/\/up.example\/a-b/x?y=1\u0026z=\u00fc\/",
            r"\u0068ttps\u003a//up.example\u002Fa-b/x?y=1\u0026z=\u00fc\/",
        ] {
            let expected = r"http://gate.example/it's&u/x?y=1\u0026z=\u00fc\/";
            assert_eq!(written(raw, Spelling::Json, Place::Link), expected);
        }
        for raw in [
            r"https://up.example/a-b\u00fc",
            r"\",
            r"\u12",
            r"\u+041",
            r" https://up.example/a-b/",
        ] {
            assert_eq!(written(raw, Spelling::Json, Place::Link), raw);
        }
    }

    #[test]
    fn html_references_are_read_and_what_follows_stays_as_written() {
        for raw in [
            "https://up.example/a-b/x?y=1&amp;z=&#252;",
            "https&colon;&sol;&#47;up&period;example&#x2F;a&#x2d;b/x?y=1&amp;z=&#252;",
        ] {
            let expected = "http://gate.example/it&#39;s&#38;u/x?y=1&amp;z=&#252;";
            assert_eq!(written(raw, Spelling::Html, Place::Link), expected);
        }
        let blank = written("\n https://up.example/a-b/x", Spelling::Html, Place::Link);
        assert_eq!(blank, "\n http://gate.example/it&#39;s&#38;u/x");
        for raw in [
            "&",
            "&#;",
            "&#x;",
            "&#xfffffffff;",
            "https&colon//up.example/a-b/",
        ] {
            assert_eq!(written(raw, Spelling::Html, Place::Link), raw);
        }
    }

    #[test]
    fn a_monitor_is_left_alone_where_one_may_be() {
        let raw = "https://up.example/a-b/monitor/1";
        assert_eq!(written(raw, Spelling::Json, Place::Location), raw);
        assert_ne!(written(raw, Spelling::Json, Place::Link), raw);
    }
}
