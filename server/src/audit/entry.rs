//! An act as it is written down, and the hash that chains it to the one before.
//!
//! The hash is SHA-256 of the version's name, the hash before, and then every field in the order
//! of the table: a number as eight bytes, the highest first; a text as a byte 1, the count of its
//! bytes as such a number, and its bytes; a text that is not there as a byte 0. So no two rows
//! have the same bytes. Before the first comes a hash of the database's identity: rows of another
//! database do not fit.

use std::{fmt, str::FromStr};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::By;

/// What the bytes begin with; other bytes, other name.
const VERSION: &[u8] = b"spillway audit 1\n";

/// The longest id, and the longest name, of an actor, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The longest subject, in bytes.
const SUBJECT_BYTES_MAX: usize = 1_024;

/// The longest reason, in bytes: 500 characters of any script, and more.
const REASON_BYTES_MAX: usize = 2_048;

/// The longest account of how something was, or is since, in bytes of JSON: as long as the
/// longest body that can ask for it.
const STATE_BYTES_MAX: usize = 64 * 1024;

/// What somebody does.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Who, from where and why.
    pub by: By,
    /// What, one of [`action`](super::action).
    pub action: &'static str,
    /// To what, like `token:0123456789abcdef`.
    pub subject: String,
    /// How that was; `None`: there was nothing.
    pub was: Option<Value>,
    /// How it is since; `None`: there is nothing. Never a secret.
    pub became: Option<Value>,
}

/// An act as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1 upwards without gaps.
    pub seq: i64,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Whose kind, by [`ActorKind::name`](super::ActorKind::name).
    pub actor_kind: String,
    /// Who, for programs.
    pub actor_id: String,
    /// Who, for people.
    pub actor_name: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// How it was, JSON.
    pub was: Option<String>,
    /// How it is since, JSON.
    pub became: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// From which address.
    pub client: Option<String>,
    /// Of it and all before it.
    pub hash: EntryHash,
}

/// A hash of the chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EntryHash(pub [u8; 32]);

/// Where a chain ends: `7:` and its hash in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last entry's number; 0 before the first.
    pub seq: i64,
    /// Its hash.
    pub hash: EntryHash,
}

/// A text that is no [`Head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a head is an entry's number, a colon and its hash: 64 hexadecimal digits")]
pub struct NoHead;

impl Act {
    /// That this was done to `subject`.
    #[must_use]
    pub fn new(at_ms: i64, by: &By, action: &'static str, subject: impl Into<String>) -> Self {
        Self {
            at_ms,
            by: by.clone(),
            action,
            subject: subject.into(),
            was: None,
            became: None,
        }
    }

    /// How the subject was.
    #[must_use]
    pub fn was(mut self, was: impl Into<Option<Value>>) -> Self {
        self.was = was.into();
        self
    }

    /// How the subject is since. Never put a secret here.
    #[must_use]
    pub fn became(mut self, became: impl Into<Option<Value>>) -> Self {
        self.became = became.into();
        self
    }
}

impl Entry {
    /// The entry of `act` behind `head`. What is longer than may be is cut: an act by somebody
    /// with a long name is still one.
    #[must_use]
    pub fn after(head: Head, act: &Act) -> Self {
        let actor = &act.by.actor;
        let mut entry = Self {
            seq: head.seq.saturating_add(1),
            at_ms: act.at_ms,
            actor_kind: actor.kind.name().to_owned(),
            actor_id: cut(&actor.id, NAME_BYTES_MAX),
            actor_name: cut(&actor.name, NAME_BYTES_MAX),
            action: act.action.to_owned(),
            subject: cut(&act.subject, SUBJECT_BYTES_MAX),
            was: act.was.as_ref().map(state),
            became: act.became.as_ref().map(state),
            reason: act.by.reason.as_ref().map(|it| cut(it, REASON_BYTES_MAX)),
            client: act.by.client.map(|address| address.to_string()),
            hash: head.hash,
        };
        entry.hash = entry.hash_after(head.hash);
        entry
    }

    /// What its hash must be behind `previous`.
    #[must_use]
    pub fn hash_after(&self, previous: EntryHash) -> EntryHash {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        hash.update(previous.0);
        for number in [self.seq, self.at_ms] {
            hash.update(number.to_be_bytes());
        }
        let texts = [
            Some(&self.actor_kind),
            Some(&self.actor_id),
            Some(&self.actor_name),
            Some(&self.action),
            Some(&self.subject),
            self.was.as_ref(),
            self.became.as_ref(),
            self.reason.as_ref(),
            self.client.as_ref(),
        ];
        for text in texts {
            match text {
                Some(text) => {
                    hash.update([1]);
                    hash.update((text.len() as u64).to_be_bytes());
                    hash.update(text);
                }
                None => hash.update([0]),
            }
        }
        EntryHash(hash.finalize().into())
    }

    /// Copies it to the log, where it outlives whoever changes the database. Texts are quoted
    /// and escaped there: none steers a terminal.
    pub fn log(&self) {
        let text = |text: &Option<String>| text.clone().map(tracing::field::debug);
        tracing::info!(
            target: "spillway::audit",
            seq = self.seq,
            actor = self.actor_kind,
            actor_id = ?self.actor_id,
            actor_name = ?self.actor_name,
            action = self.action,
            subject = ?self.subject,
            was = text(&self.was),
            became = text(&self.became),
            reason = text(&self.reason),
            client = self.client,
            hash = %self.hash,
            "audit"
        );
    }
}

impl EntryHash {
    /// What comes before the first entry of the database with this identity.
    #[must_use]
    pub fn before_all(instance: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(VERSION);
        hash.update(instance);
        Self(hash.finalize().into())
    }
}

impl fmt::Display for EntryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EntryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntryHash({self})")
    }
}

impl FromStr for EntryHash {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NoHead);
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NoHead)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoHead)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (seq, hash) = text.split_once(':').ok_or(NoHead)?;
        let seq = seq.parse().ok().filter(|seq| *seq >= 0).ok_or(NoHead)?;
        Ok(Self {
            seq,
            hash: hash.parse()?,
        })
    }
}

/// A text of at most `max` bytes; what was cut off is marked.
fn cut(text: &str, max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max - MARK.len());
    format!("{}{MARK}", &text[..end])
}

/// A state as JSON; one that is too long is said to be, and told apart by its hash.
fn state(state: &Value) -> String {
    let text = state.to_string();
    if text.len() <= STATE_BYTES_MAX {
        return text;
    }
    let sha256 = EntryHash(Sha256::digest(&text).into()).to_string();
    serde_json::json!({ "too_long": text.len(), "sha256": sha256 }).to_string()
}

#[cfg(test)]
mod tests;
