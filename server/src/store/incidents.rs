//! What is wrong or was, together with the messages that tell of it.

use sqlx::Row;

use super::{
    Error, Store,
    outbox::{Inherited, NewMessage, StoredMessage, owe},
    write::Write,
};

/// An incident as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIncident {
    /// Whose trouble, as JSON.
    pub subject: String,
    /// When it began, Unix milliseconds.
    pub began_at_ms: i64,
    /// When it was over, Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// When somebody was told, Unix milliseconds.
    pub told_at_ms: Option<i64>,
    /// Whether it is over and whoever was to be told has been.
    pub is_settled: bool,
    /// All of it, as JSON.
    pub facts: String,
}

/// A message, and those that wait whose place it takes.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// What is owed from now on.
    pub message: NewMessage,
    /// What is owed no more.
    pub instead_of: Vec<StoredMessage>,
}

const COLUMNS: &str = "subject, began_at_ms, ended_at_ms, told_at_ms, is_settled, facts";

impl Store {
    /// Keeps incidents as they are now and owes what tells of them: all of it, or nothing where
    /// one of the messages to be replaced is being sent by now. As each takes the place of those
    /// before it, no recipient is owed more than two, however full the outbox is.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn keep_incidents(
        &self,
        incidents: &[StoredIncident],
        told: &[Replacement],
        at_ms: i64,
    ) -> Result<bool, Error> {
        let mut write = self.write("keep incidents").await?;
        for incident in incidents {
            keep(&mut write, incident).await?;
        }
        for replacement in told {
            if !replace(&mut write, replacement, at_ms).await? {
                return Ok(false);
            }
        }
        write.commit().await?;
        Ok(true)
    }

    /// The incidents of which somebody may still have to be told, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn unsettled_incidents(&self) -> Result<Vec<StoredIncident>, Error> {
        let filter = "WHERE is_settled = 0 ORDER BY began_at_ms, subject";
        self.incidents_where(filter, u32::MAX).await
    }

    /// The newest incidents.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn incidents(&self, limit: u32) -> Result<Vec<StoredIncident>, Error> {
        let order = "ORDER BY ended_at_ms IS NOT NULL, began_at_ms DESC, subject";
        self.incidents_where(order, limit).await
    }

    async fn incidents_where(
        &self,
        rest: &'static str,
        limit: u32,
    ) -> Result<Vec<StoredIncident>, Error> {
        let statement = format!("SELECT {COLUMNS} FROM incidents {rest} LIMIT ?");
        let rows = sqlx::query(&statement).bind(limit).fetch_all(&self.pool);
        let rows = rows.await.map_err(Error::on("list incidents"))?;
        let stored = rows.into_iter().map(|row| StoredIncident {
            subject: row.get("subject"),
            began_at_ms: row.get("began_at_ms"),
            ended_at_ms: row.get("ended_at_ms"),
            told_at_ms: row.get("told_at_ms"),
            is_settled: row.get("is_settled"),
            facts: row.get("facts"),
        });
        Ok(stored.collect())
    }
}

async fn keep(write: &mut Write, incident: &StoredIncident) -> Result<(), Error> {
    let statement = format!(
        "INSERT INTO incidents ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (subject, began_at_ms) DO UPDATE SET
             ended_at_ms = excluded.ended_at_ms, told_at_ms = excluded.told_at_ms,
             is_settled = excluded.is_settled, facts = excluded.facts"
    );
    let failed = write.failed();
    sqlx::query(&statement)
        .bind(&incident.subject)
        .bind(incident.began_at_ms)
        .bind(incident.ended_at_ms)
        .bind(incident.told_at_ms)
        .bind(incident.is_settled)
        .bind(&incident.facts)
        .execute(write.connection())
        .await
        .map(drop)
        .map_err(failed)
}

/// Whether all that was to be replaced still waited.
async fn replace(write: &mut Write, replacement: &Replacement, at_ms: i64) -> Result<bool, Error> {
    let old = &replacement.instead_of;
    for message in old {
        let failed = write.failed();
        let done = sqlx::query(
            "UPDATE outbox SET state = 'merged', settled_at_ms = ?
             WHERE id = ? AND state = 'waiting'",
        )
        .bind(at_ms)
        .bind(message.id)
        .execute(write.connection())
        .await
        .map_err(failed)?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
    }
    let inherited = Inherited {
        not_before_ms: old.iter().map(|message| message.not_before_ms).max(),
        down_since_ms: old.iter().filter_map(|message| message.down_since_ms).min(),
    };
    owe(write, &replacement.message, at_ms, inherited).await?;
    Ok(true)
}
