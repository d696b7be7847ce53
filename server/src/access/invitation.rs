//! The link by which the owner of an account chooses a password: an admin hands it out, and never
//! learns what is chosen. It is good for a day, and once.

use std::fmt;

use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};

/// For how long it is good.
pub const LASTS: SignedDuration = SignedDuration::from_hours(24);

/// The secret part of the link: 128 random bits in hex.
#[derive(Clone)]
pub struct InvitationKey(String);

impl InvitationKey {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// As it stands in the link.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }
}

/// What would be kept of a key that somebody shows.
#[must_use]
pub fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

impl fmt::Debug for InvitationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationKey")
    }
}
