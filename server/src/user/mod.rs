//! `spillway user`: accounts of people, made and changed beside a running server.

mod args;
mod asking;

use std::io::{self, Write as _};

use jiff::Timestamp;

pub use args::{Command, User};

use crate::{
    access::{
        Hasher,
        password::{NotHashed, Password, Unfit},
        person::{self, ACCOUNTS_MAX},
    },
    audit::By,
    config::{self, Config},
    store::{self, AccountChange, Store, StoredAccount},
    table::{instant, table},
};

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The database cannot be used.
    #[error("server.database_url")]
    Database(#[from] store::OpenError),
    /// There is no such account.
    #[error("no account has the name or id \"{}\"; see `spillway user list`", .0.escape_debug())]
    NoSuchAccount(String),
    /// The password will not do.
    #[error("this password will not do")]
    Unfit(#[from] Unfit),
    /// It was typed in two ways.
    #[error("these are two different passwords; nothing was changed")]
    Differ,
    /// Standard input ended without one.
    #[error(
        "no password: type it on the terminal, or write it to standard input as its first line"
    )]
    NoPassword,
    /// It cannot be read.
    #[error("cannot read the password")]
    Terminal(#[source] io::Error),
    /// It cannot be hashed.
    #[error("the account was not changed")]
    NotHashed(#[from] NotHashed),
    /// The database has it otherwise, or failed.
    #[error("the accounts were not changed")]
    Store(#[from] store::Error),
    /// Nobody reads what was to be printed.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

impl Error {
    /// Whether something about what was asked, or how it is configured, is wrong.
    pub fn at_start(&self) -> bool {
        !matches!(
            self,
            Self::Output(_) | Self::NotHashed(_) | Self::Store(store::Error::Database { .. })
        )
    }
}

/// Does what is asked, at `now`.
///
/// # Errors
/// See [`Error`].
pub async fn run(user: &User, now: Timestamp) -> Result<(), Error> {
    let config = Config::load(user.config.as_deref(), std::env::vars_os())?;
    let store = Store::open(&config.server.database_url).await?;
    let output = act(&user.command, &store, now.as_millisecond()).await;
    store.close().await;
    let output = output?;
    let mut out = io::stdout().lock();
    let written = out.write_all(output.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::Output)
}

async fn act(command: &Command, store: &Store, now_ms: i64) -> Result<String, Error> {
    match command {
        Command::Add { name, role } => {
            let hash = hash(name).await?;
            let account = person::draft(name.clone(), *role, Some(hash), now_ms);
            let by = By::command_line();
            store.add_account(&account, ACCOUNTS_MAX, &by).await?;
            Ok(said("added", &account))
        }
        Command::Passwd { account } => {
            let hash = hash(account).await?;
            change(store, account, AccountChange::Password(&hash), now_ms).await
        }
        Command::Role { account, role } => {
            let role = role.to_string();
            change(store, account, AccountChange::Role(&role), now_ms).await
        }
        Command::List => Ok(list(&store.accounts().await?)),
        Command::Remove { account } => change(store, account, AccountChange::Remove, now_ms).await,
    }
}

async fn hash(name: &str) -> Result<String, Error> {
    let password = Password::new(asking::password(name)?, name)?;
    Ok(Hasher::default().hash(password).await?)
}

async fn change(
    store: &Store,
    account: &str,
    change: AccountChange<'_>,
    now_ms: i64,
) -> Result<String, Error> {
    let by = By::command_line();
    let changed = store.change_account(account, change, now_ms, &by).await?;
    let changed = changed.ok_or_else(|| Error::NoSuchAccount(account.to_owned()))?;
    let done = match change {
        AccountChange::Password(_) => "changed the password of",
        AccountChange::Role(_) => "changed the role of",
        AccountChange::Disable => "disabled",
        AccountChange::Enable => "enabled",
        AccountChange::Remove => "removed",
    };
    Ok(said(done, &changed))
}

fn said(done: &str, account: &StoredAccount) -> String {
    let (name, role, id) = (account.name.escape_debug(), &account.role, &account.id);
    format!("{done} {name}, {role} ({id})\n")
}

fn list(accounts: &[StoredAccount]) -> String {
    let rows = accounts.iter().map(|account| {
        let name = account.name.escape_debug().to_string();
        let made = instant(account.created_at_ms);
        [account.id.clone(), name, account.role.clone(), made]
    });
    table(["ID", "NAME", "ROLE", "MADE"], rows)
}
