//! The tokens that are valid now, in memory, so that to know one costs no look at the
//! database, whatever strangers send.
//!
//! All of them are here, [`VALID_MAX`] at most. Others make and revoke tokens in the same
//! database (the command line does): it is asked each [`RELOAD_EVERY`] whether they did, so
//! that a revocation takes hold within a second. Who shows a token that is not here may have
//! it from a moment ago: then the database is asked at once, but for all of them together at
//! most once in [`RELOAD_SPACING`].

pub mod draft;
mod manage;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until},
};

use super::{Account, Rights, TokenHash, validity::Validity};
use crate::{
    config::PerToken,
    store::{self, Store, StoredToken, TokensVersion},
};

pub use manage::Listed;

/// The most tokens that may be valid at once.
pub const VALID_MAX: u32 = 10_000;

/// How often the database is asked whether tokens were made or revoked.
pub const RELOAD_EVERY: Duration = Duration::from_millis(500);

/// How soon it may be asked again, whoever wants to know.
const RELOAD_SPACING: Duration = Duration::from_millis(50);

/// For how long tokens count as valid while the database does not answer: a revocation
/// must not be missed for longer.
const UNREADABLE_MAX: Duration = Duration::from_secs(30);

/// How often a token's last use is written down.
const USE_NOTED_EVERY_MS: i64 = 60_000;

/// The valid tokens. Clones share them.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    /// How much each may take.
    bounds: PerToken,
    known: ArcSwap<Known>,
    /// When the last look at the database began.
    looked: Mutex<Instant>,
}

#[derive(Debug)]
struct Known {
    by_hash: HashMap<TokenHash, Arc<Token>>,
    version: Option<TokensVersion>,
    /// When the database last said that they are all.
    confirmed: Instant,
}

/// A token that is not revoked.
#[derive(Debug)]
pub struct Token {
    /// Names it; no secret.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub rights: Rights,
    /// Whether it still lets its holder in: what lasts asks again, what waits is woken.
    pub validity: Validity,
    /// What its holder has taken.
    pub account: Arc<Account>,
    used_at_ms: AtomicI64,
    noted_at_ms: AtomicI64,
}

/// Why a token lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotValid {
    /// It never was one, or it was revoked.
    #[error("this token is not known here: it is mistyped, revoked or another server's")]
    Unknown,
    /// It was valid, and somebody revoked it.
    #[error("this token was revoked meanwhile")]
    Revoked,
    /// Its time is over.
    #[error("this token expired at {0}")]
    Expired(Timestamp),
    /// Whether it still is cannot be known.
    #[error("the tokens cannot be read from the database now")]
    Unreadable,
}

impl Tokens {
    /// Those of `store`, each of which may take as much as `bounds` say.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn load(store: Store, bounds: PerToken) -> Result<Self, store::Error> {
        let now = Instant::now();
        let nothing = Known {
            by_hash: HashMap::new(),
            version: None,
            confirmed: now,
        };
        let tokens = Self(Arc::new(Inner {
            store,
            bounds,
            known: ArcSwap::from_pointee(nothing),
            looked: Mutex::new(now),
        }));
        tokens.0.look(now).await?;
        Ok(tokens)
    }

    /// The token that `text` reveals, at `now`; notes that it was used.
    ///
    /// # Errors
    /// See [`NotValid`].
    pub async fn find(&self, text: &[u8], now: Timestamp) -> Result<Arc<Token>, NotValid> {
        let hash = TokenHash::of(text).map_err(|_| NotValid::Unknown)?;
        let token = match self.0.known(hash)? {
            Some(token) => token,
            None => {
                self.0.look_since(Instant::now()).await;
                self.0.known(hash)?.ok_or(NotValid::Unknown)?
            }
        };
        token.validity.check_expiry(now)?;
        token
            .used_at_ms
            .store(now.as_millisecond(), Ordering::Relaxed);
        Ok(token)
    }

    /// Notices what others do to the tokens and writes down their uses, for ever.
    pub async fn keep(self) {
        let mut every = tokio::time::interval(RELOAD_EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            self.0.look_since(Instant::now()).await;
            self.0.note_uses().await;
        }
    }
}

impl Token {
    fn read(stored: StoredToken, bounds: PerToken) -> Option<(TokenHash, Self)> {
        let hash = TokenHash::try_from(&stored.secret_sha256[..]).ok()?;
        let noted = stored.last_used_at_ms.unwrap_or(i64::MIN);
        let expires_at = stored.expires_at_ms.map(Timestamp::from_millisecond);
        let token = Self {
            rights: serde_json::from_str(&stored.rights).ok()?,
            validity: Validity::until(expires_at.transpose().ok()?),
            account: Account::new(bounds),
            id: stored.id,
            name: stored.name,
            used_at_ms: AtomicI64::new(noted),
            noted_at_ms: AtomicI64::new(noted),
        };
        Some((hash, token))
    }

    /// When it was last used, if that is to be written down now.
    fn use_to_note(&self) -> Option<i64> {
        let used = self.used_at_ms.load(Ordering::Relaxed);
        let noted = self.noted_at_ms.load(Ordering::Relaxed);
        (used.saturating_sub(noted) >= USE_NOTED_EVERY_MS).then_some(used)
    }
}

impl Inner {
    fn known(&self, hash: TokenHash) -> Result<Option<Arc<Token>>, NotValid> {
        let known = self.known.load();
        if known.is_stale() {
            return Err(NotValid::Unreadable);
        }
        Ok(known.by_hash.get(&hash).cloned())
    }

    /// Looks at the database, unless somebody has since `asked`.
    async fn look_since(&self, asked: Instant) {
        let mut looked = self.looked.lock().await;
        if *looked > asked {
            return;
        }
        sleep_until(*looked + RELOAD_SPACING).await;
        *looked = Instant::now();
        if let Err(error) = self.look(*looked).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the tokens cannot be read; those known stay valid for 30 s"
            );
            let known = self.known.load_full();
            if known.is_stale() {
                known.tokens().for_each(|token| token.validity.lose());
            }
        }
    }

    async fn look(&self, now: Instant) -> Result<(), store::Error> {
        let version = self.store.tokens_version().await?;
        let known = self.known.load_full();
        let by_hash = if known.version == Some(version) {
            known.by_hash.clone()
        } else {
            // What comes in between is seen at the next look, which finds another version.
            known.with(self.store.tokens().await?, self.bounds)
        };
        if known.is_stale() {
            by_hash.values().for_each(|token| token.validity.regain());
        }
        self.known.store(Arc::new(Known {
            by_hash,
            version: Some(version),
            confirmed: now,
        }));
        Ok(())
    }

    async fn note_uses(&self) {
        let known = self.known.load_full();
        for token in known.tokens() {
            let Some(used) = token.use_to_note() else {
                continue;
            };
            match self.store.note_token_use(&token.id, used).await {
                Ok(()) => token.noted_at_ms.store(used, Ordering::Relaxed),
                // It is tried again; `look_since` has said that the database is in trouble.
                Err(_) => return,
            }
        }
    }
}

impl Known {
    /// Whether the database has said nothing for so long that a revocation may have been missed.
    fn is_stale(&self) -> bool {
        self.confirmed.elapsed() > UNREADABLE_MAX
    }

    fn tokens(&self) -> impl Iterator<Item = &Arc<Token>> {
        self.by_hash.values()
    }

    /// What is in the database now; tokens that stay keep what is known of their use.
    fn with(&self, stored: Vec<StoredToken>, bounds: PerToken) -> HashMap<TokenHash, Arc<Token>> {
        let mut by_hash = HashMap::with_capacity(stored.len());
        for stored in stored {
            let id = stored.id.clone();
            let Some((hash, token)) = Token::read(stored, bounds) else {
                tracing::error!(
                    token = id,
                    "a token in the database is damaged: it lets nobody in"
                );
                continue;
            };
            let kept = self.by_hash.get(&hash).cloned();
            by_hash.insert(hash, kept.unwrap_or_else(|| Arc::new(token)));
        }
        for (hash, token) in &self.by_hash {
            if !by_hash.contains_key(hash) {
                token.validity.revoke();
            }
        }
        by_hash
    }
}

#[cfg(test)]
pub(crate) mod tests;
