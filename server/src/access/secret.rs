//! The secret of a token, and what is kept of it.

use std::{borrow::Cow, fmt, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use percent_encoding::percent_decode;
use sha2::{Digest, Sha256};

/// What every token begins with, so that people and scanners know one when they see it.
pub const PREFIX: &str = "spw_";

const BYTES: usize = 32;

/// How long a token is, in bytes.
const LENGTH: usize = 47;

static BEGINNING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(PREFIX));

/// 256 random bits, written `spw_…` in 47 characters that headers take as they are.
pub struct TokenSecret([u8; BYTES]);

/// SHA-256 of a secret. Nobody can guess 256 random bits, so that one fast round is enough:
/// slow hashes protect what people choose, and would make every request dear. It also is
/// what secrets are looked up by, so that how long a look-up takes tells nothing of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; BYTES]);

/// A text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no token looks like this")]
pub struct NoToken;

impl TokenSecret {
    /// A new one, from the system's secure random numbers.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// As its holder sends it. Shown once.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(self.0))
    }

    /// What is kept of it.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret")
    }
}

impl TokenHash {
    /// The hash of the secret that `text` reveals.
    ///
    /// # Errors
    /// No token looks like it; nothing needs to be looked up.
    pub fn of(text: &[u8]) -> Result<Self, NoToken> {
        let digits = text.strip_prefix(PREFIX.as_bytes()).ok_or(NoToken)?;
        let mut bytes = [0; BYTES];
        match URL_SAFE_NO_PAD.decode_slice(digits, &mut bytes) {
            Ok(BYTES) => Ok(TokenSecret(bytes).hash()),
            _ => Err(NoToken),
        }
    }

    /// As it is kept.
    #[must_use]
    pub fn to_vec(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl TryFrom<&[u8]> for TokenHash {
    type Error = NoToken;

    fn try_from(kept: &[u8]) -> Result<Self, NoToken> {
        kept.try_into().map(Self).map_err(|_| NoToken)
    }
}

/// Whether an address holds a token, escaped or not.
#[must_use]
pub fn is_within(address: &str) -> bool {
    let plain: Cow<'_, [u8]> = percent_decode(address.as_bytes()).into();
    holds(&plain)
}

/// Whether a whole token is anywhere in `text`.
#[must_use]
pub fn holds(text: &[u8]) -> bool {
    let mut found = BEGINNING.find_iter(text);
    found.any(|at| {
        let token = text.get(at..at + LENGTH);
        token.is_some_and(|token| TokenHash::of(token).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_recognised_and_found_by_its_hash() {
        let secret = TokenSecret::random();
        let text = secret.reveal();
        assert!(
            text.starts_with("spw_") && text.len() == 47,
            "{}",
            text.len()
        );
        assert_eq!(TokenHash::of(text.as_bytes()), Ok(secret.hash()));
        let kept = secret.hash().to_vec();
        assert_eq!(TokenHash::try_from(&kept[..]), Ok(secret.hash()));
        assert_ne!(kept, secret.0);
        assert_ne!(TokenSecret::random().hash(), secret.hash());
        assert_eq!(format!("{secret:?}"), "TokenSecret");
    }

    #[test]
    fn other_texts_are_no_tokens() {
        let text = TokenSecret::random().reveal();
        let long = "A".repeat(10_000);
        let beyond = format!("spw_{}B", "A".repeat(42));
        for other in ["", "spw_", &text[4..], &text[..46], &long, &beyond, "SPW_"] {
            assert_eq!(TokenHash::of(other.as_bytes()), Err(NoToken), "{other}");
        }
        let longer = format!("{text}A");
        assert_eq!(TokenHash::of(longer.as_bytes()), Err(NoToken));
    }
}
