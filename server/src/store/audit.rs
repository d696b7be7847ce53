//! The audit log: appended, never changed.

use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store};
use crate::audit::{Act, ActorKind, Entry, EntryHash, Head};

/// How many entries are read at a time by who reads all.
const PAGE: u32 = 1_000;

const COLUMNS: &str = "seq, at_ms, actor_kind, actor_id, actor_name, action, subject, was, became, reason, client, hash";

/// Which entries are asked for. What is left out asks for nothing in particular.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Acts of actors of this kind.
    pub actor_kind: Option<ActorKind>,
    /// Acts of whom has this id or this name.
    pub actor: Option<String>,
    /// Acts whose name begins so. Of the letters, dots and underscores that names are made of.
    pub action: Option<String>,
    /// Acts on this subject.
    pub subject: Option<String>,
    /// Acts at or after this instant, Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Acts before this instant, Unix milliseconds.
    pub until_ms: Option<i64>,
    /// Entries before this one.
    pub before_seq: Option<i64>,
}

/// Why something that has to be audited was not done, or not audited.
#[derive(Debug, thiserror::Error)]
pub enum NotAudited<E> {
    /// It is not in force, for a reason of its own.
    #[error("it was not done")]
    NotDone(E),
    /// It is not in force, for the audit log cannot be written.
    #[error("the audit log cannot be written")]
    Unwritable(#[source] Error),
    /// It is in force, and at the last moment the audit log could not be written. The log has it.
    #[error("it is in force, but could not be written into the audit log")]
    Lost(#[source] Error),
}

impl Store {
    /// Writes down an act that changes nothing else in the database.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn record(&self, act: &Act) -> Result<(), Error> {
        let mut write = self.write("write down an act").await?;
        write.audit(act).await?;
        write.commit().await
    }

    /// Does something outside the database, and writes it down before this returns. It is
    /// done only where the audit log takes it; meanwhile nobody else writes, so that of two
    /// who act at once each says what the other left behind. `act` must not wait.
    ///
    /// # Errors
    /// See [`NotAudited`].
    pub async fn audited<T, E>(
        &self,
        act: impl FnOnce() -> Result<(T, Act), E>,
    ) -> Result<T, NotAudited<E>> {
        let write = self.write("write down an act").await;
        let mut write = write.map_err(NotAudited::Unwritable)?;
        let (done, act) = act().map_err(NotAudited::NotDone)?;
        let written = match write.audit(&act).await {
            Ok(()) => write.commit().await,
            failed => failed,
        };
        match written {
            Ok(()) => Ok(done),
            Err(error) => {
                let error_text = &error as &dyn std::error::Error;
                tracing::error!(
                    target: "spillway::audit",
                    error = error_text,
                    ?act,
                    "an act is in force and not in the audit log"
                );
                Err(NotAudited::Lost(error))
            }
        }
    }

    /// The newest entries that are asked for, at most `limit`, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn audit(&self, query: &AuditQuery, limit: u32) -> Result<Vec<Entry>, Error> {
        let rows = statement(query, limit).build().fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("read the audit log"))?;
        rows.iter().map(entry).collect()
    }

    /// Some entries after one number, oldest first; none: there are no more.
    ///
    /// # Errors
    /// The database does not answer, or an entry has a form that none is written in.
    pub async fn audit_after(&self, seq: i64) -> Result<Vec<Entry>, Error> {
        let statement = format!("SELECT {COLUMNS} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?");
        let rows = sqlx::query(&statement).bind(seq).bind(PAGE);
        let rows = rows.fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("read the audit log"))?;
        rows.iter().map(entry).collect()
    }

    /// Where the log ends now.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn audit_head(&self) -> Result<Head, Error> {
        let read = || Error::on("read the audit log");
        let mut connection = self.pool.acquire().await.map_err(read())?;
        head(&mut connection).await.map_err(read())
    }
}

/// Appends an act to the log, in a transaction that alone may write.
pub(super) async fn append(connection: &mut SqliteConnection, act: &Act) -> Result<Entry, Error> {
    let add = || Error::on("write down an act");
    let entry = Entry::after(head(connection).await.map_err(add())?, act);
    let statement =
        format!("INSERT INTO audit ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    sqlx::query(&statement)
        .bind(entry.seq)
        .bind(entry.at_ms)
        .bind(&entry.actor_kind)
        .bind(&entry.actor_id)
        .bind(&entry.actor_name)
        .bind(&entry.action)
        .bind(&entry.subject)
        .bind(&entry.was)
        .bind(&entry.became)
        .bind(&entry.reason)
        .bind(&entry.client)
        .bind(&entry.hash.0[..])
        .execute(connection)
        .await
        .map_err(add())?;
    Ok(entry)
}

async fn head(connection: &mut SqliteConnection) -> Result<Head, sqlx::Error> {
    let last = sqlx::query("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1");
    if let Some(row) = last.fetch_optional(&mut *connection).await? {
        return Ok(Head {
            seq: row.try_get("seq")?,
            hash: hash(&row)?,
        });
    }
    let instance: String = sqlx::query_scalar("SELECT id FROM instance")
        .fetch_one(connection)
        .await?;
    let hash = EntryHash::before_all(&instance);
    Ok(Head { seq: 0, hash })
}

fn statement(query: &AuditQuery, limit: u32) -> QueryBuilder<'_, Sqlite> {
    let mut sql = QueryBuilder::new(format!("SELECT {COLUMNS} FROM audit WHERE 1 = 1"));
    if let Some(kind) = query.actor_kind {
        sql.push(" AND actor_kind = ").push_bind(kind.name());
    }
    if let Some(actor) = &query.actor {
        sql.push(" AND (actor_id = ").push_bind(actor);
        sql.push(" OR actor_name = ").push_bind(actor).push(")");
    }
    if let Some(prefix) = &query.action {
        // The first text behind all that begin so, as names are made of letters, `.` and `_`.
        sql.push(" AND action >= ").push_bind(prefix);
        sql.push(" AND action < ").push_bind(format!("{prefix}{{"));
    }
    if let Some(subject) = &query.subject {
        sql.push(" AND subject = ").push_bind(subject);
    }
    for (comparison, number) in [
        (" AND at_ms >= ", query.from_ms),
        (" AND at_ms < ", query.until_ms),
        (" AND seq < ", query.before_seq),
    ] {
        if let Some(number) = number {
            sql.push(comparison).push_bind(number);
        }
    }
    sql.push(" ORDER BY seq DESC LIMIT ").push_bind(limit);
    sql
}

fn entry(row: &SqliteRow) -> Result<Entry, Error> {
    let read = || -> Result<Entry, sqlx::Error> {
        Ok(Entry {
            seq: row.try_get("seq")?,
            at_ms: row.try_get("at_ms")?,
            actor_kind: row.try_get("actor_kind")?,
            actor_id: row.try_get("actor_id")?,
            actor_name: row.try_get("actor_name")?,
            action: row.try_get("action")?,
            subject: row.try_get("subject")?,
            was: row.try_get("was")?,
            became: row.try_get("became")?,
            reason: row.try_get("reason")?,
            client: row.try_get("client")?,
            hash: hash(row)?,
        })
    };
    read().map_err(Error::on("read an entry of the audit log"))
}

fn hash(row: &SqliteRow) -> Result<EntryHash, sqlx::Error> {
    let bytes: Vec<u8> = row.try_get("hash")?;
    let bytes: Result<[u8; 32], _> = bytes.try_into();
    let decoded = bytes.map_err(|_| sqlx::Error::ColumnDecode {
        index: "hash".to_owned(),
        source: "a hash has 32 bytes".into(),
    });
    decoded.map(EntryHash)
}

#[cfg(test)]
mod tests;
