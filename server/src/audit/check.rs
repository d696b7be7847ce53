//! Following the chain through the database, a page at a time.

use super::{Broken, Chain, Head};
use crate::store::{self, Store};

/// Why it is not known to be whole.
#[derive(Debug, thiserror::Error)]
pub enum NotWhole {
    /// Not all of it can be read.
    #[error("the audit log cannot be read on from entry {}", .after + 1)]
    Unreadable {
        /// The last entry that was read.
        after: i64,
        /// Why.
        #[source]
        source: store::Error,
    },
    /// It is not as it was written.
    #[error("the audit log is not as it was written")]
    Broken(#[from] Broken),
}

/// A look at the log from its beginning on, which can be gone on with.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    chain: Chain,
    /// The last entry that was looked at, whatever somebody put in.
    after: i64,
}

impl Check {
    /// One of the log of `store`; `noted` is to be met on the way.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn begin(store: &Store, noted: Option<Head>) -> Result<Self, NotWhole> {
        let unreadable = |source| NotWhole::Unreadable { after: 0, source };
        let instance = store.instance().await.map_err(unreadable)?;
        Ok(Self {
            chain: Chain::of(&instance.id, noted),
            after: i64::MIN,
        })
    }

    /// Looks at up to `pages` pages; where all ends, if that was all.
    ///
    /// # Errors
    /// See [`NotWhole`].
    pub async fn go_on(&mut self, store: &Store, pages: u32) -> Result<Option<Head>, NotWhole> {
        for _ in 0..pages {
            let page = store.audit_after(self.after).await;
            let page = page.map_err(|source| NotWhole::Unreadable {
                after: self.chain.head().seq,
                source,
            })?;
            let Some(last) = page.last() else {
                return Ok(Some(self.chain.end()?));
            };
            self.after = last.seq;
            for entry in &page {
                self.chain.follow(entry)?;
            }
        }
        Ok(None)
    }

    /// The last entry that was found as it was written.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.chain.head()
    }
}
