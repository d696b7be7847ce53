//! `spillway audit`: beside a running server, or without one.

use std::io::{self, Write};

use super::args::{Audit, Command};
use super::{Broken, Chain, Head};
use crate::{
    config::{self, Config},
    store::{self, Store},
};

/// Why it was not done, or what was found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The database cannot be used, or is not there.
    #[error("server.database_url")]
    Database(#[from] store::OpenError),
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
    /// Nobody reads what was to be printed.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl Error {
    /// Whether nothing was looked at.
    pub fn at_start(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Database(_))
    }
}

/// Does what is asked.
///
/// # Errors
/// See [`Error`].
pub async fn run(audit: &Audit) -> Result<(), Error> {
    let config = Config::load(audit.config.as_deref(), std::env::vars_os())?;
    let Command::Verify { head } = &audit.command;
    let store = Store::open_existing(&config.server.database_url).await?;
    let checked = check(&store, *head).await;
    store.close().await;
    let head = checked?;
    let entries = if head.seq == 1 { "entry" } else { "entries" };
    let mut out = io::stdout().lock();
    writeln!(out, "{} {entries}, all as written; head {head}", head.seq)?;
    Ok(out.flush()?)
}

/// Follows the whole chain, a page at a time.
async fn check(store: &Store, noted: Option<Head>) -> Result<Head, Error> {
    let unreadable = |after| move |source| Error::Unreadable { after, source };
    let instance = store.instance().await.map_err(unreadable(0))?;
    let mut chain = Chain::of(&instance.id, noted);
    // Whatever somebody put in, it is looked at.
    let mut after = i64::MIN;
    loop {
        let page = store.audit_after(after).await;
        let page = page.map_err(unreadable(chain.head().seq))?;
        let Some(last) = page.last() else {
            return Ok(chain.end()?);
        };
        after = last.seq;
        for entry in &page {
            chain.follow(entry)?;
        }
    }
}
