//! `spillway token`: tokens for programs, made, listed and revoked beside a running server.

mod args;
mod listing;

use std::io::{self, Write};

use jiff::Timestamp;

pub use args::{Command, Create, Token};

use crate::{
    access::{
        TokenSecret,
        tokens::{
            VALID_MAX,
            draft::{NewToken, NoSuchToken},
        },
    },
    audit::By,
    config::{self, Config},
    store::{self, Store, StoredToken},
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
    /// There can be none like that.
    #[error(transparent)]
    NotMade(#[from] NoSuchToken),
    /// The database has it otherwise, or failed.
    #[error("the tokens were not changed")]
    Store(#[from] store::Error),
    /// There is none of that name or id.
    #[error("no valid token has the name or id \"{}\"; see `spillway token list`", .0.escape_debug())]
    NoSuchToken(String),
    /// Nobody reads what was to be printed.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl Error {
    /// Whether something about what was asked, or how it is configured, is wrong.
    pub fn at_start(&self) -> bool {
        !matches!(
            self,
            Self::Output(_) | Self::Store(store::Error::Database { .. })
        )
    }
}

/// Does what is asked, at `now`.
///
/// # Errors
/// See [`Error`].
pub async fn run(token: &Token, now: Timestamp) -> Result<(), Error> {
    let config = Config::load(token.config.as_deref(), std::env::vars_os())?;
    let done = match &token.command {
        Command::Create(create) => {
            let (secret, draft) = draft(create, &config, now)?;
            let store = Store::open(&config.server.database_url).await?;
            let kept = store
                .add_token(&draft, VALID_MAX, &By::command_line())
                .await;
            (store, kept.map(|()| secret.reveal() + "\n")?)
        }
        Command::List => {
            let store = Store::open(&config.server.database_url).await?;
            let tokens = store.tokens().await?;
            (store, listing::table(&tokens, now))
        }
        Command::Revoke { token } => {
            let store = Store::open(&config.server.database_url).await?;
            let by = By::command_line();
            let revoked = store.revoke_token(token, now.as_millisecond(), &by).await?;
            let revoked = revoked.ok_or_else(|| Error::NoSuchToken(token.clone()))?;
            (store, listing::revoked(&revoked))
        }
    };
    let (store, output) = done;
    store.close().await;
    let mut out = io::stdout().lock();
    out.write_all(output.as_bytes())?;
    Ok(out.flush()?)
}

fn draft(
    create: &Create,
    config: &Config,
    now: Timestamp,
) -> Result<(TokenSecret, StoredToken), NoSuchToken> {
    let names: Vec<_> = config.upstreams.iter().map(|it| it.name.as_str()).collect();
    let new = NewToken {
        name: create.name.clone(),
        rights: create.rights(),
        expires: create.expires,
    };
    new.draft(&names, now)
}
