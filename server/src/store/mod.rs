//! The database: the only module that knows SQL.
//!
//! SQLite in write-ahead mode. Instants are parameters; nothing here reads a clock. A
//! grant writes nothing here: counters are the journal's.

mod instance;
mod policies;

use std::{str::FromStr, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub use instance::Instance;
pub use policies::{NewPolicy, StoredPolicy};

/// How long a statement waits for another's lock before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// SQLite has one writer; a few more connections let pages read meanwhile.
const CONNECTIONS_MAX: u32 = 4;

/// How long start-up and requests wait for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database with all migrations applied. Clones share one pool.
#[derive(Clone, Debug)]
pub struct Store {
    pool: SqlitePool,
}

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is none of SQLite's.
    #[error("is not an SQLite address")]
    Address(#[source] sqlx::Error),
    /// No such folder, no permission, or no database.
    #[error("cannot be opened")]
    Open(#[source] sqlx::Error),
    /// Its tables cannot be brought up to date.
    #[error("cannot be brought up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// It can be read only.
    #[error("cannot be written")]
    Write(#[source] Error),
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
        source: sqlx::Error,
    },
    /// Another writer was first: the version that was to be appended exists.
    #[error("version {0} exists already")]
    Conflict(i64),
}

impl Error {
    fn on(act: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database { act, source }
    }
}

impl Store {
    /// Opens `url` (`sqlite://spillway.db`), creates it where it is missing, and brings
    /// its tables up to date.
    ///
    /// # Errors
    /// See [`OpenError`]; a database that can only be read is refused here, not at the
    /// first write.
    pub async fn open(url: &str) -> Result<Self, OpenError> {
        let options = SqliteConnectOptions::from_str(url).map_err(OpenError::Address)?;
        let options = options
            .create_if_missing(!url.contains("mode="))
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options)
            .await
            .map_err(OpenError::Open)?;
        let store = Self { pool };
        let migrations = sqlx::migrate!("../migrations");
        migrations
            .run(&store.pool)
            .await
            .map_err(OpenError::Migrate)?;
        store.ensure_instance().await.map_err(OpenError::Write)?;
        Ok(store)
    }

    /// Whether the database still answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Error> {
        let query = sqlx::query("SELECT 1").execute(&self.pool).await;
        query.map(drop).map_err(Error::on("answer"))
    }

    /// Ends all connections; what was written is on disk.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

#[cfg(test)]
mod tests;
