//! Messages that are owed to somebody, and what became of them.

mod message;

use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store, write::Write};
pub(super) use message::stored;
pub use message::{Head, Kind, MessageState, NewMessage, OutboxFigures, Settlement, StoredMessage};

/// The most messages that may be owed at a time; further ones are refused.
pub const OWED_MAX: u32 = 10_000;

/// The most messages that are kept once they are settled, however young.
const SETTLED_MAX: u32 = 50_000;

pub(super) const COLUMNS: &str = "id, uid, kind, recipient, topic, subject, body, html, payload, state, created_at_ms, \
     not_before_ms, attempts, down_since_ms, error, settled_at_ms";

impl Store {
    /// Owes a message, unless the same is owed already; whether it was not.
    ///
    /// # Errors
    /// [`Error::OutboxFull`]; the database does not answer, or cannot be written.
    pub async fn owe(&self, message: &NewMessage, at_ms: i64) -> Result<bool, Error> {
        let mut write = self.write("owe a message").await?;
        let failed = write.failed();
        let owed = count_owed(write.connection()).await.map_err(failed)?;
        if owed >= i64::from(OWED_MAX) {
            return Err(Error::OutboxFull(OWED_MAX));
        }
        let owed = owe(&mut write, message, at_ms, Inherited::default()).await?;
        write.commit().await?;
        Ok(owed)
    }

    /// The messages about `topic` that are owed and not being sent, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn waiting(&self, topic: &str) -> Result<Vec<StoredMessage>, Error> {
        let statement = format!(
            "SELECT {COLUMNS} FROM outbox WHERE state = 'waiting' AND topic = ? ORDER BY id"
        );
        let rows = sqlx::query(&statement).bind(topic);
        let rows = rows.fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("read the outbox"))?;
        Ok(rows.into_iter().map(stored).collect())
    }

    /// The newest messages, settled or not.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn messages(&self, limit: u32) -> Result<Vec<StoredMessage>, Error> {
        let statement = format!("SELECT {COLUMNS} FROM outbox ORDER BY id DESC LIMIT ?");
        let rows = sqlx::query(&statement).bind(limit).fetch_all(&self.pool);
        let rows = rows.await.map_err(Error::on("read the outbox"))?;
        Ok(rows.into_iter().map(stored).collect())
    }

    /// When messages about `topic` came to be owed since `since_ms`, each instant once.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn owed_at(&self, topic: &str, since_ms: i64) -> Result<Vec<i64>, Error> {
        sqlx::query_scalar(
            "SELECT DISTINCT created_at_ms FROM outbox WHERE topic = ? AND created_at_ms > ?
             ORDER BY created_at_ms",
        )
        .bind(topic)
        .bind(since_ms)
        .fetch_all(&self.pool)
        .await
        .map_err(Error::on("read the outbox"))
    }

    /// The first due message of each recipient to whom none is being sent, at most `limit`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn due(&self, kind: Kind, now_ms: i64, limit: u32) -> Result<Vec<Head>, Error> {
        let rows = sqlx::query(
            "SELECT MIN(id) AS id, recipient FROM outbox
             WHERE state = 'waiting' AND kind = ? AND not_before_ms <= ? AND recipient NOT IN (
                 SELECT recipient FROM outbox WHERE state = 'sending' AND kind = ?
             ) GROUP BY recipient ORDER BY MIN(id) LIMIT ?",
        )
        .bind(kind.name())
        .bind(now_ms)
        .bind(kind.name())
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(Error::on("read the outbox"))?;
        let head = |row: SqliteRow| Head {
            id: row.get("id"),
            recipient: row.get("recipient"),
        };
        Ok(rows.into_iter().map(head).collect())
    }

    /// When the next message is due that waits, Unix milliseconds.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn next_due(&self) -> Result<Option<i64>, Error> {
        sqlx::query_scalar("SELECT MIN(not_before_ms) FROM outbox WHERE state = 'waiting'")
            .fetch_one(&self.pool)
            .await
            .map_err(Error::on("read the outbox"))
    }

    /// Begins to send a message that waits; `None`: it does no more.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn begin_sending(&self, id: i64) -> Result<Option<StoredMessage>, Error> {
        let statement = format!(
            "UPDATE outbox SET state = 'sending', attempts = attempts + 1
             WHERE id = ? AND state = 'waiting' RETURNING {COLUMNS}"
        );
        let mut write = self.write("begin to send a message").await?;
        let failed = write.failed();
        let row = sqlx::query(&statement).bind(id);
        let row = row.fetch_optional(write.connection()).await;
        let message = row.map_err(failed)?.map(stored);
        write.commit().await?;
        Ok(message)
    }

    /// Notes how the delivery of a message ended.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn settle(&self, id: i64, how: &Settlement, now_ms: i64) -> Result<(), Error> {
        let (state, not_before_ms, error, is_down, is_settled) = match how {
            Settlement::Sent => ("sent", now_ms, None, false, true),
            Settlement::Again {
                not_before_ms,
                error,
                is_down,
            } => ("waiting", *not_before_ms, Some(error), *is_down, false),
            Settlement::Failed { error } => ("failed", now_ms, Some(error), false, true),
        };
        sqlx::query(
            "UPDATE outbox SET state = ?, not_before_ms = ?, error = ?, settled_at_ms = ?,
             down_since_ms = CASE WHEN ? THEN COALESCE(down_since_ms, ?) END
             WHERE id = ? AND state = 'sending'",
        )
        .bind(state)
        .bind(not_before_ms)
        .bind(error)
        .bind(is_settled.then_some(now_ms))
        .bind(is_down)
        .bind(now_ms)
        .bind(id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::on("note what became of a message"))
    }

    /// At a start: what was being sent when the last process ended is owed again, as nobody knows
    /// whether it has arrived. Says how many there were.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn resume_sending(&self, error: &str) -> Result<u64, Error> {
        sqlx::query("UPDATE outbox SET state = 'waiting', error = ? WHERE state = 'sending'")
            .bind(error)
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected())
            .map_err(Error::on("resume the outbox"))
    }

    /// How the outbox of this kind stands.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn outbox_figures(&self, kind: Kind) -> Result<OutboxFigures, Error> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS owed, MIN(created_at_ms) AS oldest_ms,
                    MIN(down_since_ms) AS down_since_ms,
                    MAX(CASE WHEN down_since_ms IS NOT NULL THEN error END) AS error
             FROM outbox WHERE state IN ('waiting', 'sending') AND kind = ?",
        )
        .bind(kind.name())
        .fetch_one(&self.pool)
        .await
        .map_err(Error::on("read the outbox"))?;
        Ok(OutboxFigures {
            owed: row.get("owed"),
            oldest_ms: row.get("oldest_ms"),
            down_since_ms: row.get("down_since_ms"),
            error: row.get("error"),
        })
    }

    /// The newest message of this kind about `topic` that was given up since `since_ms`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn given_up(
        &self,
        kind: Kind,
        topic: &str,
        since_ms: i64,
    ) -> Result<Option<StoredMessage>, Error> {
        let statement = format!(
            "SELECT {COLUMNS} FROM outbox
             WHERE state = 'failed' AND kind = ? AND topic = ? AND settled_at_ms > ?
             ORDER BY id DESC LIMIT 1"
        );
        let row = sqlx::query(&statement)
            .bind(kind.name())
            .bind(topic)
            .bind(since_ms)
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::on("read the outbox"))?;
        Ok(row.map(stored))
    }

    /// Forgets messages and incidents that were settled before `before_ms`, and what there is too
    /// much of.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn forget_settled(&self, before_ms: i64) -> Result<(), Error> {
        let mut write = self.write("forget what is settled").await?;
        for (statement, value) in [
            ("DELETE FROM outbox WHERE settled_at_ms < ?", before_ms),
            (
                "DELETE FROM outbox WHERE settled_at_ms IS NOT NULL AND id NOT IN (
                     SELECT id FROM outbox WHERE settled_at_ms IS NOT NULL ORDER BY id DESC LIMIT ?
                 )",
                SETTLED_MAX.into(),
            ),
            (
                "DELETE FROM incidents WHERE is_settled = 1 AND ended_at_ms < ?",
                before_ms,
            ),
        ] {
            let failed = write.failed();
            let done = sqlx::query(statement).bind(value);
            done.execute(write.connection()).await.map_err(failed)?;
        }
        write.commit().await
    }
}

#[cfg(test)]
impl Store {
    /// So many mails to as many recipients, in one statement.
    pub(crate) async fn owe_many_for_tests(&self, number: u32) {
        sqlx::query(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
             INSERT INTO outbox (uid, kind, recipient, topic, dedupe, subject, body, state,
                                 created_at_ms, not_before_ms, attempts)
             SELECT printf('%032d', n), 'mail', 'r' || n, 'test', 'd', 's', 'b', 'waiting', 0, 0, 0
             FROM n",
        )
        .bind(number)
        .execute(&self.pool)
        .await
        .unwrap();
    }
}

/// What a message takes over from those that it is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inherited {
    pub(super) not_before_ms: Option<i64>,
    pub(super) down_since_ms: Option<i64>,
}

/// Owes a message within a transaction, unless the same is owed already; whether it was not. How
/// many may be is its caller's to look at.
pub(super) async fn owe(
    write: &mut Write,
    message: &NewMessage,
    at_ms: i64,
    inherited: Inherited,
) -> Result<bool, Error> {
    let id = insert(write, message, at_ms, inherited).await?;
    Ok(id.is_some())
}

/// The same; which message it is, unless the same is owed already.
pub(super) async fn insert(
    write: &mut Write,
    message: &NewMessage,
    at_ms: i64,
    inherited: Inherited,
) -> Result<Option<i64>, Error> {
    let failed = write.failed();
    sqlx::query_scalar(
        "INSERT INTO outbox (uid, kind, recipient, topic, dedupe, subject, body, html, payload,
                             state, created_at_ms, not_before_ms, attempts, down_since_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, 0, ?)
         ON CONFLICT (kind, recipient, dedupe) DO NOTHING RETURNING id",
    )
    .bind(format!("{:032x}", rand::random::<u128>()))
    .bind(message.kind.name())
    .bind(&message.recipient)
    .bind(message.topic)
    .bind(&message.dedupe)
    .bind(&message.subject)
    .bind(&message.body)
    .bind(&message.html)
    .bind(&message.payload)
    .bind(at_ms)
    .bind(inherited.not_before_ms.unwrap_or(at_ms))
    .bind(inherited.down_since_ms)
    .fetch_optional(write.connection())
    .await
    .map_err(failed)
}

/// Gives a message up that was never tried.
pub(super) async fn give_up(
    write: &mut Write,
    id: i64,
    error: &str,
    at_ms: i64,
) -> Result<(), Error> {
    let failed = write.failed();
    sqlx::query("UPDATE outbox SET state = 'failed', error = ?, settled_at_ms = ? WHERE id = ?")
        .bind(error)
        .bind(at_ms)
        .bind(id)
        .execute(write.connection())
        .await
        .map(drop)
        .map_err(failed)
}

pub(super) async fn count_owed(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT COUNT(*) FROM outbox WHERE state IN ('waiting', 'sending')")
        .fetch_one(connection)
        .await
}
