//! Transactions that write: one at a time, each with what it has audited.

use sqlx::{Sqlite, SqliteConnection, Transaction};

use super::{Error, Store, audit};
use crate::audit::{Act, Entry};

/// A transaction that alone may write until its end; dropped, it changes nothing.
pub(super) struct Write {
    transaction: Transaction<'static, Sqlite>,
    /// What it is for, as errors say it.
    act: &'static str,
    entries: Vec<Entry>,
}

impl Store {
    /// Begins to write. It waits for whoever writes now, in this process or another, so that
    /// nobody comes between what it reads and what it writes.
    pub(super) async fn write(&self, act: &'static str) -> Result<Write, Error> {
        let begun = self.pool.begin_with("BEGIN IMMEDIATE").await;
        Ok(Write {
            transaction: begun.map_err(Error::on(act))?,
            act,
            entries: Vec::new(),
        })
    }
}

impl Write {
    /// What statements are executed on.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }

    /// What went wrong with one of them.
    pub(super) fn failed(&self) -> impl FnOnce(sqlx::Error) -> Error + use<> {
        Error::on(self.act)
    }

    /// Writes an act into the audit log, if the rest becomes true.
    pub(super) async fn audit(&mut self, act: &Act) -> Result<(), Error> {
        let entry = audit::append(&mut self.transaction, act).await?;
        self.entries.push(entry);
        Ok(())
    }

    /// Makes it all true, and copies what was audited to the log.
    pub(super) async fn commit(self) -> Result<(), Error> {
        let committed = self.transaction.commit().await;
        committed.map_err(Error::on(self.act))?;
        self.entries.iter().for_each(Entry::log);
        Ok(())
    }
}
