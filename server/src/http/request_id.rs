//! A number for each request, in the log and, where no upstream gave one, in its answer.

use std::fmt;

use http::{HeaderName, HeaderValue};

/// Where answers carry it: Graph's own name for it.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// A UUID of version 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u128);

/// How long one is, written.
const TEXT_BYTES: usize = 36;

/// Where the hyphens are.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// One that is written.
#[derive(Clone, Copy, Debug)]
pub struct Text([u8; TEXT_BYTES]);

impl RequestId {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        let random: u128 = rand::random();
        Self(random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62))
    }

    /// As a header has it.
    pub(super) fn header(self) -> HeaderValue {
        // Digits and hyphens always fit.
        HeaderValue::from_str(self.text().as_str()).unwrap_or(HeaderValue::from_static(""))
    }

    /// As it is written, without a detour over numbers' formatting: each call has one.
    #[must_use]
    pub fn text(self) -> Text {
        let mut text = [b'-'; TEXT_BYTES];
        let digits = text.iter_mut().enumerate();
        let digits = digits.filter(|(at, _)| !HYPHENS.contains(at));
        for (n, (_, digit)) in digits.enumerate() {
            let nibble = (self.0 >> (124 - 4 * n)) & 0xf;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        Text(text)
    }
}

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Digits and hyphens always are.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_a_uuid_of_version_4() {
        let id = RequestId::random().to_string();
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
        let known = RequestId(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);
        assert_eq!(known.to_string(), "01234567-89ab-4def-8123-456789abcdef");
    }
}
