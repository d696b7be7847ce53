//! The database: the only module that knows SQL.
//!
//! SQLite in write-ahead mode. Instants are parameters; nothing here reads a clock. A
//! grant writes nothing here: counters are the journal's.

mod accounts;
mod audit;
mod audit_checks;
mod error;
mod flood_minutes;
mod flood_pages;
mod floods;
mod history;
mod incidents;
mod instance;
mod invitations;
mod names;
mod outbox;
mod policies;
mod provided;
mod sessions;
mod tokens;
mod write;

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    str::FromStr,
    time::Duration,
};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

pub use accounts::{AccountChange, PeopleVersion, StoredAccount};
pub use audit::{AuditQuery, NotAudited};
pub use audit_checks::AuditCheck;
pub use error::{Error, OpenError, Reason};
pub use flood_minutes::{FloodMinute, LeftOut, Recording};
pub use flood_pages::{FloodPause, StrikeDay};
pub use floods::{FloodAct, FloodEntry, FloodLetter, FloodOperation, Operated, Strike};
pub use history::{HistoryKept, HistoryPlace, HistoryRow, StoredPoint};
pub use incidents::{Replacement, StoredIncident};
pub use instance::Instance;
pub use invitations::StoredInvitation;
pub use names::Names;
pub use outbox::{
    Head, Kind, MessageState, NewMessage, OWED_MAX, OutboxFigures, Settlement, StoredMessage,
};
pub use policies::{NewPolicy, PolicyPlace, StoredPolicy};
pub use sessions::StoredSession;
pub use tokens::{StoredToken, TokensVersion};

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

impl Store {
    /// Opens `url` (`sqlite://spillway.db`), creates it where it is missing, and brings
    /// its tables up to date.
    ///
    /// # Errors
    /// See [`OpenError`]; a database that can only be read is refused here, not at the
    /// first write.
    pub async fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_or(url, may_make(url)).await
    }

    /// The same where there is a database: none is made.
    ///
    /// # Errors
    /// There is none; else as [`Store::open`].
    pub async fn open_existing(url: &str) -> Result<Self, OpenError> {
        Self::open_or(url, false).await
    }

    async fn open_or(url: &str, make: bool) -> Result<Self, OpenError> {
        let options = SqliteConnectOptions::from_str(url)
            .map_err(|error| OpenError::Address(error.into()))?
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let path = options.get_filename().to_owned();
        let store = Self::connect(make, options)
            .await
            .map_err(|source| OpenError::Open {
                path: path.clone(),
                source,
            })?;
        let migrations = sqlx::migrate!("../migrations").run(&store.pool).await;
        migrations.map_err(|error| OpenError::Migrate {
            path: path.clone(),
            source: error.into(),
        })?;
        let written = store.ensure_instance().await;
        written.map_err(|source| OpenError::Write { path, source })?;
        Ok(store)
    }

    async fn connect(make: bool, options: SqliteConnectOptions) -> Result<Self, Reason> {
        if make {
            ensure_file(options.get_filename())?;
        }
        // An address may allow it, too.
        let options = options.create_if_missing(false);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options)
            .await?;
        Ok(Self { pool })
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

/// Whether the address lets its database be made where it is missing.
fn may_make(url: &str) -> bool {
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
    !parameters.contains("mode=") || parameters.contains("mode=rwc")
}

/// Makes the file where it is missing, for its owner alone, as it will name users. SQLite
/// would let others read it; the files it puts beside it have the same mode.
fn ensure_file(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(false);
            options.mode(0o600).open(path).map(drop)
        }
        found => found.map(drop),
    }
}

#[cfg(test)]
mod tests;
