//! What can go wrong with the database, each in words that are said once.

use std::{error::Error as StdError, fmt, io, path::PathBuf};

use super::StoredPolicy;
use sqlx::{error::DatabaseError, migrate::MigrateError};

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is none of SQLite's.
    #[error("is not an SQLite address")]
    Address(#[source] Reason),
    /// No such folder, no permission, or no database.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        #[source]
        source: Reason,
    },
    /// Its tables cannot be brought up to date.
    #[error("cannot bring {} up to date", path.display())]
    Migrate {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: Reason,
    },
    /// It can be read only.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The statement that failed.
        #[source]
        source: Error,
    },
}

/// A statement that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused it, or is gone.
    #[error("the database refused to {act}")]
    Database {
        /// What was tried.
        act: &'static str,
        /// Why it failed.
        #[source]
        source: Reason,
    },
    /// Another writer was first.
    #[error("the limits of {of} are at version {} by now, not {base}", newest.version)]
    Conflict {
        /// Whose limits.
        of: String,
        /// The version that was to be followed.
        base: i64,
        /// The one that there is.
        newest: Box<StoredPolicy>,
    },
    /// There never was a version of these limits.
    #[error("the limits of {0} are not in the database: the server's start puts them there")]
    NoPolicy(String),
    /// A valid token has that name.
    #[error("a valid token has this name already")]
    NameTaken,
    /// As many messages are owed as may be.
    #[error("{0} messages are owed already, and more may not be")]
    OutboxFull(u32),
    /// As many tokens are valid as may be.
    #[error("{0} tokens are valid already, and more may not be")]
    TooMany(u32),
    /// An account that is there has that name, in whatever case.
    #[error("an account has this name already")]
    AccountNameTaken,
    /// As many accounts are there as may be.
    #[error("there are {0} accounts already, and more may not be")]
    TooManyAccounts(u32),
    /// It was removed, or never was.
    #[error("there is no such account")]
    NoSuchAccount,
    /// Nobody would be left who may make another.
    #[error("this is the only admin: make another one first")]
    LastAdmin,
}

/// What the system or SQLite said. The errors in between repeat one another, so only the
/// innermost is shown, and it is the end of its chain.
#[derive(Debug)]
pub struct Reason(Box<dyn StdError + Send + Sync>);

impl Error {
    pub(super) fn on(act: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database {
            act,
            source: source.into(),
        }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        Self(error.into())
    }
}

impl From<sqlx::Error> for Reason {
    fn from(error: sqlx::Error) -> Self {
        Self(error.into())
    }
}

impl From<MigrateError> for Reason {
    fn from(error: MigrateError) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut innermost: &(dyn StdError + 'static) = self.0.as_ref();
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        match innermost.downcast_ref::<Box<dyn DatabaseError>>() {
            Some(error) => f.write_str(error.message()),
            None => write!(f, "{innermost}"),
        }
    }
}

impl StdError for Reason {}
