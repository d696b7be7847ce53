//! Somebody who has an account.

use sha2::{Digest as _, Sha256};

use super::Role;
use crate::store::StoredAccount;

/// The longest name, in characters.
pub const NAME_CHARS_MAX: usize = 64;

/// The most accounts that may be there at once.
pub const ACCOUNTS_MAX: u32 = 1_000;

/// Somebody who has an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Names the account for ever; no secret.
    pub id: String,
    /// What they sign in with. Anything but control characters may be in it.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Changes with whatever must end their sessions. Tells nothing of the password.
    pub(super) stamp: [u8; 32],
}

/// A name that no account can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name must be 1 to {NAME_CHARS_MAX} characters, without control characters or spaces around them"
)]
pub struct BadName;

/// `text` as the name of an account.
///
/// # Errors
/// None can have it.
pub fn name(text: &str) -> Result<String, BadName> {
    let sound = !text.trim().is_empty()
        && text.trim() == text
        && text.chars().count() <= NAME_CHARS_MAX
        && !text.chars().any(char::is_control);
    if sound {
        Ok(text.to_owned())
    } else {
        Err(BadName)
    }
}

/// An account that is made now, at `now_ms` Unix milliseconds.
#[must_use]
pub fn draft(
    name: String,
    role: Role,
    password_hash: Option<String>,
    now_ms: i64,
) -> StoredAccount {
    StoredAccount {
        id: format!("{:016x}", rand::random::<u64>()),
        name,
        role: role.to_string(),
        password_hash,
        oidc_subject: None,
        created_at_ms: now_ms,
        disabled_at_ms: None,
    }
}

impl Person {
    /// The owner of this account; `None`: what the database has is damaged.
    #[must_use]
    pub fn of(account: &StoredAccount) -> Option<Self> {
        let hash = account.password_hash.as_deref().unwrap_or_default();
        let mut stamp = Sha256::new();
        for part in [&account.id, &account.role, hash] {
            stamp.update(part.len().to_le_bytes());
            stamp.update(part);
        }
        Some(Self {
            id: account.id.clone(),
            name: account.name.clone(),
            role: Role::named(&account.role)?,
            stamp: stamp.finalize().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for text in ["ada", "Ada Lovelace", "</script><img src=x>", "\u{202e}ada"] {
            assert_eq!(name(text).as_deref(), Ok(text));
        }
        for text in ["", " ", " ada", "a\r\nb", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert_eq!(name(text), Err(BadName), "{text:?}");
        }
    }

    #[test]
    fn whatever_changes_what_an_account_is_worth_changes_its_stamp() {
        let account = draft("ada".to_owned(), Role::Viewer, Some("h".to_owned()), 7);
        let person = Person::of(&account).unwrap();
        assert_eq!((person.name.as_str(), person.role), ("ada", Role::Viewer));
        let role = StoredAccount {
            role: "admin".to_owned(),
            ..account.clone()
        };
        let password = StoredAccount {
            password_hash: Some("i".to_owned()),
            ..account.clone()
        };
        for other in [role, password] {
            assert_ne!(Person::of(&other).unwrap().stamp, person.stamp);
        }
        assert_eq!(Person::of(&account), Some(person));
        let damaged = StoredAccount {
            role: "king".to_owned(),
            ..account
        };
        assert_eq!(Person::of(&damaged), None);
    }
}
