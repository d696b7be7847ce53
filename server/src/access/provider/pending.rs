//! Those who have begun to sign in and are at the provider's.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use openidconnect::{CsrfToken, Nonce, PkceCodeVerifier};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// How long they may take.
pub(super) const TAKES_MAX: Duration = Duration::from_secs(600);

/// How many may be there at once. Beyond, the one who began first begins again.
const WAITING_MAX: usize = 1_000;

/// Somebody who has begun.
#[derive(Debug)]
pub(super) struct Pending {
    /// Comes back as it was.
    pub(super) state: CsrfToken,
    /// Stands in the ID token.
    pub(super) nonce: Nonce,
    /// Proves that whoever changes the code is who asked for it (RFC 7636).
    pub(super) verifier: PkceCodeVerifier,
    /// Where they go then.
    pub(super) to: String,
}

/// Those who have begun, by the hash of their cookie.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<HashMap<[u8; 32], (Pending, Instant)>>);

impl Waiting {
    /// What the cookie of somebody who begins is to hold.
    pub(super) fn add(&self, pending: Pending, now: Instant) -> String {
        let cookie = secret();
        let mut waiting = self.waiting();
        waiting.retain(|_, (_, begun)| now.duration_since(*begun) < TAKES_MAX);
        if waiting.len() >= WAITING_MAX {
            let first = waiting.iter().min_by_key(|(_, (_, begun))| *begun);
            let first = first.map(|(key, _)| *key);
            first.inspect(|key| drop(waiting.remove(key)));
        }
        waiting.insert(hash(&cookie), (pending, now));
        cookie
    }

    /// Who comes back with this cookie, once.
    pub(super) fn take(&self, cookie: &str, now: Instant) -> Option<Pending> {
        let (pending, begun) = self.waiting().remove(&hash(cookie))?;
        (now.duration_since(begun) < TAKES_MAX).then_some(pending)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<[u8; 32], (Pending, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 random bits in hex.
fn secret() -> String {
    format!("{:032x}", rand::random::<u128>())
}

fn hash(cookie: &str) -> [u8; 32] {
    Sha256::digest(cookie).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(to: &str) -> Pending {
        Pending {
            state: CsrfToken::new_random(),
            nonce: Nonce::new_random(),
            verifier: PkceCodeVerifier::new("v".repeat(43)),
            to: to.to_owned(),
        }
    }

    #[tokio::test]
    async fn they_come_back_once_with_their_cookie_and_in_time() {
        let (waiting, now) = (Waiting::default(), Instant::now());
        let cookie = waiting.add(pending("/a"), now);
        assert!(waiting.take("", now).is_none());
        assert_eq!(waiting.take(&cookie, now).unwrap().to, "/a");
        assert!(waiting.take(&cookie, now).is_none());
        let cookie = waiting.add(pending("/a"), now);
        assert!(waiting.take(&cookie, now + TAKES_MAX).is_none());
    }

    #[tokio::test]
    async fn so_many_wait_and_the_first_makes_way() {
        let (waiting, now) = (Waiting::default(), Instant::now());
        let first = waiting.add(pending(""), now);
        let later = now + Duration::from_secs(1);
        let mut last = String::new();
        for _ in 0..WAITING_MAX {
            last = waiting.add(pending(""), later);
        }
        assert!(waiting.take(&first, later).is_none());
        assert!(waiting.take(&last, later).is_some());
    }
}
