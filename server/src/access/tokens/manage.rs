//! Tokens as admins see them: listed, made, revoked.

use std::{collections::HashMap, sync::atomic::Ordering};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Tokens, VALID_MAX};
use crate::{
    access::Rights,
    audit::By,
    store::{Error, StoredToken},
};

/// A token that is not revoked, as it is listed: nothing of its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Names it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it may do; `None`: what the database has is damaged, and it lets nobody in.
    pub rights: Option<Rights>,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// When it ends, Unix milliseconds; `None`: never.
    pub expires_at_ms: Option<i64>,
    /// When it was last used, Unix milliseconds; `None`: never yet.
    pub last_used_at_ms: Option<i64>,
}

impl Tokens {
    /// All that are not revoked, the expired ones too, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn list(&self) -> Result<Vec<Listed>, Error> {
        let stored = self.0.store.tokens().await?;
        let known = self.0.known.load_full();
        // What is in memory is newer by up to a minute.
        let used = known.tokens().filter_map(|token| {
            let at_ms = token.used_at_ms.load(Ordering::Relaxed);
            (at_ms > i64::MIN).then_some((token.id.as_str(), at_ms))
        });
        let used: HashMap<_, _> = used.collect();
        let mut listed: Vec<_> = stored.into_iter().map(Listed::from).collect();
        for token in &mut listed {
            let used = used.get(token.id.as_str()).copied();
            token.last_used_at_ms = token.last_used_at_ms.max(used);
        }
        Ok(listed)
    }

    /// Keeps a new token; it lets its holder in at once.
    ///
    /// # Errors
    /// As [`crate::store::Store::add_token`].
    pub async fn add(&self, token: &StoredToken, by: &By) -> Result<(), Error> {
        self.0.store.add_token(token, VALID_MAX, by).await?;
        self.0.look_since(Instant::now()).await;
        Ok(())
    }

    /// Revokes the valid token of this id, at once, and says which it was; `None`: there is
    /// none.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn revoke(&self, id: &str, now: Timestamp, by: &By) -> Result<Option<Listed>, Error> {
        let store = &self.0.store;
        let revoked = store.revoke_token(id, now.as_millisecond(), by).await?;
        self.0.look_since(Instant::now()).await;
        Ok(revoked.map(Listed::from))
    }
}

impl From<StoredToken> for Listed {
    fn from(stored: StoredToken) -> Self {
        Self {
            rights: serde_json::from_str(&stored.rights).ok(),
            id: stored.id,
            name: stored.name,
            created_at_ms: stored.created_at_ms,
            expires_at_ms: stored.expires_at_ms,
            last_used_at_ms: stored.last_used_at_ms,
        }
    }
}
