//! Ids: UUIDs, with or without dashes.

use std::fmt;

use serde::{Serialize, Serializer};

/// An id of a page or a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(u128);

impl Id {
    /// A version 4 UUID made of two random numbers.
    pub(super) fn of(high: u64, low: u64) -> Self {
        let bits = (u128::from(high) << 64) | u128::from(low);
        let version = (bits & !(0xf << 76)) | (0x4 << 76);
        Self((version & !(0b11 << 62)) | (0b10 << 62))
    }

    /// Reads one; none where it is not a UUID.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let is_uuid = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let number = is_uuid.then(|| u128::from_str_radix(&digits, 16).ok());
        number.flatten().map(Self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |from: u32, digits: u32| (self.0 >> from) & ((1 << (4 * digits)) - 1);
        write!(
            out,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_in_both_forms_and_written_with_dashes() {
        let id = Id::of(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        let text = id.to_string();
        assert_eq!(text, "01234567-89ab-4def-bedc-ba9876543210");
        assert_eq!(Id::parse(&text), Some(id));
        assert_eq!(Id::parse(&text.replace('-', "").to_uppercase()), Some(id));
        for bad in ["", "me", "+1234567-89ab-4def-bedc-ba9876543210", &text[1..]] {
            assert_eq!(Id::parse(bad), None, "{bad}");
        }
    }
}
