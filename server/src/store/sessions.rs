//! The sessions in which people are signed in. What their cookies hold is not here, only the
//! hashes of it.

use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store};

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// SHA-256 of what its cookie holds, 32 bytes.
    pub id_sha256: Vec<u8>,
    /// Names it; no secret.
    pub handle: String,
    /// The id of the account that is signed in.
    pub account: String,
    /// When it was made, Unix milliseconds.
    pub signed_in_at_ms: i64,
    /// When it was last used, to the minute, Unix milliseconds.
    pub seen_at_ms: i64,
}

impl Store {
    /// Keeps a new session with its `data`. Of one account `max` are there at most: the ones
    /// that were not seen for longest make way.
    ///
    /// # Errors
    /// [`Error::NoSuchAccount`]; the database does not answer, or cannot be written.
    pub async fn add_session(
        &self,
        session: &StoredSession,
        data: &str,
        max: u32,
    ) -> Result<(), Error> {
        let mut write = self.write("keep a session").await?;
        let failed = write.failed();
        make_room(write.connection(), &session.account, max)
            .await
            .map_err(failed)?;
        let failed = write.failed();
        if !insert(write.connection(), session, data)
            .await
            .map_err(failed)?
        {
            return Err(Error::NoSuchAccount);
        }
        write.commit().await
    }

    /// All sessions, those whose time is over included, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn sessions(&self) -> Result<Vec<StoredSession>, Error> {
        let rows = sqlx::query(
            "SELECT id_sha256, handle, account, signed_in_at_ms, seen_at_ms FROM sessions
             ORDER BY signed_in_at_ms, handle",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(Error::on("list the sessions"))?;
        Ok(rows.into_iter().map(stored).collect())
    }

    /// What is kept for a session; `None`: it has ended.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn session_data(&self, id_sha256: &[u8]) -> Result<Option<String>, Error> {
        sqlx::query_scalar("SELECT data FROM sessions WHERE id_sha256 = ?")
            .bind(id_sha256)
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::on("read a session"))
    }

    /// Keeps other data for a session. One that has ended stays so.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn keep_session_data(&self, id_sha256: &[u8], data: &str) -> Result<(), Error> {
        sqlx::query("UPDATE sessions SET data = ? WHERE id_sha256 = ?")
            .bind(data)
            .bind(id_sha256)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("keep what a session is to say"))
    }

    /// Ends a session, for good.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn end_session(&self, id_sha256: &[u8]) -> Result<(), Error> {
        sqlx::query("DELETE FROM sessions WHERE id_sha256 = ?")
            .bind(id_sha256)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("end a session"))
    }

    /// Ends the session of this handle if it is this account's; whether it was there.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn end_session_of(&self, account: &str, handle: &str) -> Result<bool, Error> {
        sqlx::query("DELETE FROM sessions WHERE handle = ? AND account = ?")
            .bind(handle)
            .bind(account)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected() > 0)
            .map_err(Error::on("end a session"))
    }

    /// Notes that a session was used at `at_ms`.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn note_session_seen(&self, handle: &str, at_ms: i64) -> Result<(), Error> {
        sqlx::query("UPDATE sessions SET seen_at_ms = ? WHERE handle = ?")
            .bind(at_ms)
            .bind(handle)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("note a session's use"))
    }

    /// Ends the sessions that began, or were last seen, no later than these instants.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn end_old_sessions(
        &self,
        signed_in_by_ms: i64,
        seen_by_ms: i64,
    ) -> Result<(), Error> {
        sqlx::query("DELETE FROM sessions WHERE signed_in_at_ms <= ? OR seen_at_ms <= ?")
            .bind(signed_in_by_ms)
            .bind(seen_by_ms)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("end old sessions"))
    }
}

async fn make_room(
    connection: &mut SqliteConnection,
    account: &str,
    max: u32,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM sessions WHERE account = ? AND id_sha256 NOT IN (
            SELECT id_sha256 FROM sessions WHERE account = ? ORDER BY seen_at_ms DESC LIMIT ?
        )",
    )
    .bind(account)
    .bind(account)
    .bind(i64::from(max.saturating_sub(1)))
    .execute(connection)
    .await
    .map(drop)
}

/// Whether it was kept: an account that was removed meanwhile lets nobody in.
async fn insert(
    connection: &mut SqliteConnection,
    session: &StoredSession,
    data: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query(
        "INSERT INTO sessions (id_sha256, handle, account, data, signed_in_at_ms, seen_at_ms)
         SELECT ?, ?, id, ?, ?, ? FROM accounts
         WHERE id = ? AND removed_at_ms IS NULL AND disabled_at_ms IS NULL",
    )
    .bind(&session.id_sha256)
    .bind(&session.handle)
    .bind(data)
    .bind(session.signed_in_at_ms)
    .bind(session.seen_at_ms)
    .bind(&session.account)
    .execute(connection)
    .await
    .map(|done| done.rows_affected() > 0)
}

fn stored(row: SqliteRow) -> StoredSession {
    StoredSession {
        id_sha256: row.get("id_sha256"),
        handle: row.get("handle"),
        account: row.get("account"),
        signed_in_at_ms: row.get("signed_in_at_ms"),
        seen_at_ms: row.get("seen_at_ms"),
    }
}
