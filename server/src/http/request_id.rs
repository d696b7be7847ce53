//! A number for each request, in the log and, where no upstream gave one, in its answer.

use std::fmt;

use http::HeaderName;

/// Where answers carry it: Graph's own name for it.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// A UUID of version 4. A request carries it as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u128);

impl RequestId {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        let random: u128 = rand::random();
        Self(random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, bits: u32| (self.0 >> shift) & ((1 << bits) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 32),
            part(80, 16),
            part(64, 16),
            part(48, 16),
            part(0, 48)
        )
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
