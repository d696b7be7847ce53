//! `spillway audit`: beside a running server, or without one.

use std::io::{self, Write};

use super::args::{Audit, Command};
use jiff::Timestamp;

use super::{Actor, Check, Head, NotWhole};
use crate::{
    config::{self, Config},
    store::{self, AuditCheck, Store},
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
    /// It is not known to be whole.
    #[error(transparent)]
    NotWhole(#[from] NotWhole),
    /// That it is whole cannot be kept for the dashboard.
    #[error("it is whole, but that cannot be written down")]
    NotKept(#[from] store::Error),
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

/// Does what is asked, at `now`.
///
/// # Errors
/// See [`Error`].
pub async fn run(audit: &Audit, now: Timestamp) -> Result<(), Error> {
    let config = Config::load(audit.config.as_deref(), std::env::vars_os())?;
    let Command::Verify { head } = &audit.command;
    let store = Store::open_existing(&config.server.database_url).await?;
    let checked = check(&store, *head, now).await;
    store.close().await;
    let head = checked?;
    let entries = if head.seq == 1 { "entry" } else { "entries" };
    let mut out = io::stdout().lock();
    writeln!(out, "{} {entries}, all as written; head {head}", head.seq)?;
    Ok(out.flush()?)
}

/// Follows the whole chain, and keeps for the dashboard that it is whole.
async fn check(store: &Store, noted: Option<Head>, now: Timestamp) -> Result<Head, Error> {
    let mut check = Check::begin(store, noted).await?;
    let head = loop {
        if let Some(head) = check.go_on(store, u32::MAX).await? {
            break head;
        }
    };
    let kept = AuditCheck {
        at_ms: now.as_millisecond(),
        head,
        who: Actor::command_line().to_string(),
    };
    store.keep_audit_check(&kept).await?;
    Ok(head)
}
