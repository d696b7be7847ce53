//! The link by which the first admin of a new server is made.
//!
//! It is shown once, on the terminal where the server was started: whoever reads that may
//! start servers there anyway. It is good for half an hour, and only while there never was an
//! account; that is decided where the account is written, so that of two who use it one wins.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

/// For how long it is good.
pub const LASTS: SignedDuration = SignedDuration::from_mins(30);

/// The secret part of the link: 128 random bits in hex.
#[derive(Clone)]
pub struct SetUpKey(String);

/// What is remembered of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUp {
    hash: [u8; 32],
    until: Timestamp,
}

/// Why it makes no admin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSetUp {
    /// It is another server's, or mistyped.
    #[error("This is not the link that this server has shown when it was started.")]
    Unknown,
    /// It was shown too long ago.
    #[error(
        "This link was good for half an hour. Start the server again for a new one, or run `spillway user add`."
    )]
    Expired,
    /// An admin's link that was used, replaced, or handed out too long ago.
    #[error(
        "This link is not good, or not any more: each is good for a day and once. Ask an admin for another."
    )]
    Uninvited,
    /// Somebody was quicker.
    #[error(
        "There is an account already, so this link is void. An admin makes further ones, or `spillway user add`."
    )]
    Void,
}

impl SetUp {
    /// A new one, shown at `now`.
    #[must_use]
    pub fn begin(now: Timestamp) -> (Self, SetUpKey) {
        let key = SetUpKey(format!("{:032x}", rand::random::<u128>()));
        let until = now.saturating_add(LASTS).unwrap_or(Timestamp::MAX);
        let hash = hash(&key.0);
        (Self { hash, until }, key)
    }

    /// Whether `key` is the one, at `now`. How long that takes says nothing: hashes differ
    /// anywhere.
    ///
    /// # Errors
    /// It is not, or no more.
    pub fn check(&self, key: &str, now: Timestamp) -> Result<(), NotSetUp> {
        match () {
            () if hash(key) != self.hash => Err(NotSetUp::Unknown),
            () if now >= self.until => Err(NotSetUp::Expired),
            () => Ok(()),
        }
    }
}

impl SetUpKey {
    /// As it stands in the link.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SetUpKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetUpKey")
    }
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_for_half_an_hour_and_no_other_is() {
        let shown: Timestamp = "2026-12-01T06:00:00Z".parse().unwrap();
        let (set_up, key) = SetUp::begin(shown);
        let at = |text: &str| set_up.check(key.reveal(), text.parse().unwrap());
        assert_eq!(key.reveal().len(), 32);
        assert_eq!(at("2026-12-01T06:29:59.999Z"), Ok(()));
        assert_eq!(at("2026-12-01T06:30:00Z"), Err(NotSetUp::Expired));
        let (other, _) = SetUp::begin(shown);
        assert_eq!(other.check(key.reveal(), shown), Err(NotSetUp::Unknown));
        assert_eq!(set_up.check("", shown), Err(NotSetUp::Unknown));
        assert_eq!(format!("{key:?}"), "SetUpKey");
    }
}
