//! Passwords: which will do, and what is kept of them.
//!
//! Kept is an Argon2id hash: slow and hungry for memory on purpose, so that whoever steals the
//! database tries few passwords a second. That makes it dear here, too: hashes are worked out
//! beside the runtime's threads, [`AT_ONCE_MAX`] at a time with [`WAITING_MAX`] waiting, and
//! whoever comes beyond is told to come again.

use std::{collections::HashSet, fmt, sync::Arc};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString},
};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// The shortest password, in characters (OWASP ASVS 4.0.3, 2.1.1).
pub const CHARS_MIN: usize = 12;

/// The longest, in characters (the same, 2.1.2). Nothing is ever cut off.
pub const CHARS_MAX: usize = 128;

/// So many different characters at least: `aaaaaaaaaaaa` is long, too.
const DIFFERENT_MIN: usize = 5;

/// Memory of one hash in KiB, passes over it, and lanes: the first choice of the OWASP Password
/// Storage Cheat Sheet for Argon2id (19 MiB, 2, 1).
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// How many are worked out at once: 19 MiB and a processor each.
const AT_ONCE_MAX: usize = 2;

/// How many more may wait for their turn: some seconds' worth.
const WAITING_MAX: usize = 30;

/// The hash of a password that was thrown away, for names that nobody has: to refuse them takes as
/// long, from the first on.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$\
     mlvPfiNR8Bye6aBwUSWx6g$mqYjSWxepuiA1hobXOEZzHl/MmTLv11lmUreXKMv05c";

/// A password as somebody typed it. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

/// Why a password will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It could be tried out.
    #[error("a password needs at least {CHARS_MIN} characters")]
    Short,
    /// It is no password.
    #[error("a password may have at most {CHARS_MAX} characters")]
    Long,
    /// It repeats itself.
    #[error("a password needs at least {DIFFERENT_MIN} different characters")]
    Simple,
    /// It is the first that anybody tries.
    #[error("a password may not contain the name of its account")]
    Name,
}

/// Why a hash was not worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotHashed {
    /// Too many passwords wait for it.
    #[error("too many people sign in at once")]
    Busy,
    /// There is no memory for it.
    #[error("the password cannot be hashed")]
    Failed,
}

/// Works hashes out. Clones share its places.
#[derive(Clone, Debug)]
pub struct Hasher {
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Password {
    /// A password that may be set for the account of this name.
    ///
    /// # Errors
    /// The first thing about it that will not do.
    pub fn new(text: String, name: &str) -> Result<Self, Unfit> {
        let chars = text.chars().count();
        let lower = text.to_lowercase();
        let name = name.to_lowercase();
        match () {
            () if chars < CHARS_MIN => Err(Unfit::Short),
            () if chars > CHARS_MAX => Err(Unfit::Long),
            () if lower.chars().collect::<HashSet<_>>().len() < DIFFERENT_MIN => Err(Unfit::Simple),
            // Nearly every password contains a name of one or two letters.
            () if name.chars().count() > 2 && lower.contains(&name) => Err(Unfit::Name),
            () => Ok(Self(text)),
        }
    }

    /// A password that is only to be compared with one that is set.
    #[must_use]
    pub fn offered(text: String) -> Self {
        Self(text)
    }

    /// A random one: 20 letters and digits that are not taken for each other (Crockford's), 100 bits.
    #[must_use]
    pub fn random() -> Self {
        const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let bits: u128 = rand::random();
        let letters = (0..20).map(|n| char::from(LETTERS[(bits >> (5 * n)) as usize % 32]));
        Self(letters.collect())
    }

    /// As its owner types it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            admitted: Arc::new(Semaphore::new(AT_ONCE_MAX + WAITING_MAX)),
            running: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        }
    }
}

impl Hasher {
    /// What is kept of a password.
    ///
    /// # Errors
    /// See [`NotHashed`].
    pub async fn hash(&self, password: Password) -> Result<String, NotHashed> {
        let hashed = self.run(move || hash(&password.0)).await?;
        hashed.map_err(|_| NotHashed::Failed)
    }

    /// Whether it is the password whose hash is `kept`. `None`, or what is no hash, has none,
    /// and takes as long.
    ///
    /// # Errors
    /// See [`NotHashed`].
    pub async fn is(&self, password: Password, kept: Option<String>) -> Result<bool, NotHashed> {
        self.run(move || {
            // A longer one was never set, and would cost more to hash.
            let fits = password.0.chars().count() <= CHARS_MAX;
            let text = if fits { password.0.as_bytes() } else { b"" };
            let known = kept.is_some();
            let hash = kept.unwrap_or_else(|| NOBODY.to_owned());
            let same = PasswordHash::new(&hash)
                .is_ok_and(|hash| argon2().verify_password(text, &hash).is_ok());
            same && known && fits
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotHashed> {
        let _admitted = self.admitted.try_acquire().map_err(|_| NotHashed::Busy)?;
        // The place goes with the work: that is done even if nobody waits for it any more.
        let running = Arc::clone(&self.running).acquire_owned().await;
        let running = running.map_err(|_| NotHashed::Failed)?;
        let done = spawn_blocking(move || {
            let _running = running;
            work()
        });
        done.await.map_err(|_| NotHashed::Failed)
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    let salt = SaltString::encode_b64(&rand::random::<[u8; 16]>())?;
    let hash = argon2().hash_password(password.as_bytes(), &salt)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "correct horse battery";

    fn unfit(text: &str) -> Result<(), Unfit> {
        Password::new(text.to_owned(), "Ada").map(drop)
    }

    #[test]
    fn what_can_be_tried_out_will_not_do() {
        let long = "abcde".repeat(26);
        for (text, because) in [
            ("", Unfit::Short),
            ("elevenchars", Unfit::Short),
            (&*long, Unfit::Long),
            ("aaaabbbbccccdddd", Unfit::Simple),
            ("aAaAbBbBcCcCdDdD", Unfit::Simple),
            ("I am ADA, let me in", Unfit::Name),
        ] {
            assert_eq!(unfit(text), Err(because), "{text}");
        }
        for text in [GOOD, "twelve chars", "пароль длинный", &long[..128]] {
            assert_eq!(unfit(text), Ok(()), "{text}");
        }
        assert!(Password::new("abcdefghijkl".to_owned(), "ab").is_ok());
    }

    #[test]
    fn a_random_one_will_do_and_is_never_shown() {
        let password = Password::random();
        assert_eq!(password.reveal().len(), 20);
        assert!(Password::new(password.reveal().to_owned(), "admin").is_ok());
        assert_ne!(Password::random(), password);
        assert_eq!(format!("{password:?}"), "Password");
    }

    #[tokio::test]
    async fn a_hash_knows_its_password_and_no_other() {
        let hasher = Hasher::default();
        let password = Password::offered(GOOD.to_owned());
        let kept = hasher.hash(password.clone()).await.unwrap();
        assert!(
            kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{kept}"
        );
        assert_ne!(hasher.hash(password.clone()).await.unwrap(), kept, "salted");
        assert_eq!(
            hasher.is(password.clone(), Some(kept.clone())).await,
            Ok(true)
        );
        for other in ["", "correct horse batter", "Correct horse battery"] {
            let other = Password::offered(other.to_owned());
            assert_eq!(hasher.is(other, Some(kept.clone())).await, Ok(false));
        }
        assert_eq!(hasher.is(password.clone(), None).await, Ok(false));
        let cost = |hash: &str| hash.rsplitn(3, '$').nth(2).map(str::to_owned);
        assert_eq!(cost(NOBODY), cost(&kept), "nobody takes as long");
        assert_eq!(hasher.is(password, Some("$x".to_owned())).await, Ok(false));
    }

    #[tokio::test]
    async fn beyond_the_bound_who_comes_is_told_so() {
        let hasher = Hasher::default();
        let all = Arc::clone(&hasher.admitted);
        let places = all.try_acquire_many(u32::try_from(AT_ONCE_MAX + WAITING_MAX).unwrap());
        let busy = hasher.is(Password::offered(GOOD.to_owned()), None).await;
        assert_eq!(busy, Err(NotHashed::Busy));
        drop(places);
        let again = hasher.is(Password::offered(GOOD.to_owned()), None).await;
        assert_eq!(again, Ok(false));
    }
}
