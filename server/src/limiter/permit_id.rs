//! The names of permits that callers outside hold.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A permit's name outside: 128 random bits, so that knowing one's own tells nothing of
/// others'. Written in 22 characters that a URL's path takes as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermitId([u8; 16]);

/// How long one is, written.
const TEXT_BYTES: usize = 22;

/// A text that is no permit's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no permit has such a name")]
pub struct NoPermitId;

impl PermitId {
    /// A new one, from the system's secure random numbers.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }
}

impl fmt::Display for PermitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; TEXT_BYTES];
        // It is as long as that.
        let _ = URL_SAFE_NO_PAD.encode_slice(self.0, &mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl FromStr for PermitId {
    type Err = NoPermitId;

    fn from_str(text: &str) -> Result<Self, NoPermitId> {
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(16) => Ok(Self(bytes)),
            _ => Err(NoPermitId),
        }
    }
}

impl Serialize for PermitId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PermitId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_a_path_and_comes_back() {
        let id = PermitId::random();
        let text = id.to_string();
        assert_eq!(text.len(), 22);
        assert!(
            text.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        );
        assert_eq!(text.parse(), Ok(id));
        assert_ne!(PermitId::random(), id);
    }

    #[test]
    fn other_texts_name_nothing() {
        let long = "A".repeat(1_000);
        // The last has bits beyond the 128.
        for text in ["", "A", long.as_str(), "é", "AAAAAAAAAAAAAAAAAAAAAB"] {
            assert_eq!(text.parse::<PermitId>(), Err(NoPermitId), "{text}");
        }
    }
}
