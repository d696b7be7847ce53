//! A browser in which somebody is signed in.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::{
    access::{Account, Person, Validity},
    config::PerToken,
    store::StoredSession,
};

/// How long a session lasts at most: then everybody signs in again (NIST SP 800-63B-4, 2.2.3).
pub const LASTS: SignedDuration = SignedDuration::from_hours(24);

/// How long it lasts while nothing is asked in its name and no page of it is open (the same).
/// An open page counts as use: whoever watches the overview all night stays signed in.
pub const IDLE: SignedDuration = SignedDuration::from_hours(1);

/// How often its last use is written down.
const SEEN_NOTED_EVERY_MS: i64 = 60_000;

/// A browser in which somebody is signed in.
#[derive(Debug)]
pub struct Session {
    /// Names it in lists; no secret.
    pub handle: String,
    /// Who is signed in, as they were when they signed in: whatever changes that ends it.
    pub person: Person,
    /// When they did.
    pub signed_in_at: Timestamp,
    /// Whether it still lets them in: what lasts asks again, what waits is woken.
    pub validity: Validity,
    /// What it has taken.
    pub account: Arc<Account>,
    seen_at_ms: AtomicI64,
    noted_at_ms: AtomicI64,
}

/// SHA-256 of what its cookie holds, 128 random bits, by which it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionHash([u8; 32]);

impl SessionHash {
    /// Of what a cookie holds.
    pub(super) fn of(id: tower_sessions::session::Id) -> Self {
        Self(Sha256::digest(id.0.to_le_bytes()).into())
    }

    /// As it is kept; `None`: that is no hash.
    pub(super) fn kept(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().map(Self).ok()
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Session {
    /// A session of `person`; `None`: what the database has is damaged.
    pub(super) fn read(stored: &StoredSession, person: &Person, bounds: PerToken) -> Option<Self> {
        let signed_in_at = Timestamp::from_millisecond(stored.signed_in_at_ms).ok()?;
        Some(Self {
            handle: stored.handle.clone(),
            person: person.clone(),
            signed_in_at,
            validity: Validity::until(signed_in_at.checked_add(LASTS).ok()),
            account: Account::new(bounds),
            seen_at_ms: AtomicI64::new(stored.seen_at_ms),
            noted_at_ms: AtomicI64::new(stored.seen_at_ms),
        })
    }

    /// When it was last used, Unix milliseconds.
    #[must_use]
    pub fn seen_at_ms(&self) -> i64 {
        self.seen_at_ms.load(Ordering::Relaxed)
    }

    /// Whether it has not been used for so long at `now` that it is over.
    pub(super) fn is_idle(&self, now: Timestamp) -> bool {
        let idle_ms = now.as_millisecond().saturating_sub(self.seen_at_ms());
        i128::from(idle_ms) >= IDLE.as_millis()
    }

    /// It was used.
    pub(super) fn see(&self, now: Timestamp) {
        self.seen_at_ms
            .fetch_max(now.as_millisecond(), Ordering::Relaxed);
    }

    /// When it was last used, if that is to be written down now.
    pub(super) fn seen_to_note(&self) -> Option<i64> {
        let (seen, noted) = (self.seen_at_ms(), self.noted_at_ms.load(Ordering::Relaxed));
        (seen.saturating_sub(noted) >= SEEN_NOTED_EVERY_MS).then_some(seen)
    }

    /// That is done.
    pub(super) fn noted(&self, at_ms: i64) {
        self.noted_at_ms.store(at_ms, Ordering::Relaxed);
    }
}
