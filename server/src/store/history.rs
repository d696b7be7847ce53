//! What was, in points of some length: written to what is there, forgotten when it is old.

use sqlx::Row;

use super::{Error, Store};

/// Whose points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPlace<'a> {
    /// The upstream.
    pub upstream: &'a str,
    /// The workload.
    pub workload: &'a str,
}

/// A point, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// The upstream.
    pub upstream: String,
    /// The workload.
    pub workload: String,
    /// How long it lasts, milliseconds.
    pub step_ms: i64,
    /// When it begins, Unix milliseconds; a multiple of `step_ms`.
    pub at_ms: i64,
    /// What was seen, as JSON.
    pub point: String,
}

/// A point of a place that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPoint {
    /// When it begins, Unix milliseconds.
    pub at_ms: i64,
    /// What was seen, as JSON.
    pub point: String,
}

/// What is kept of the points of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryKept {
    /// How long they last, milliseconds.
    pub step_ms: i64,
    /// When the first begins that is kept, Unix milliseconds.
    pub first_ms: i64,
    /// When the last begins that is kept.
    pub last_ms: i64,
}

impl Store {
    /// The points of a place that last `step_ms` and begin from `from_ms` to `until_ms`, the earliest
    /// first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn history(
        &self,
        place: HistoryPlace<'_>,
        step_ms: i64,
        from_ms: i64,
        until_ms: i64,
    ) -> Result<Vec<StoredPoint>, Error> {
        let statement = "SELECT at_ms, point FROM history
                         WHERE upstream = ? AND workload = ? AND step_ms = ?
                           AND at_ms BETWEEN ? AND ? ORDER BY at_ms";
        let rows = sqlx::query(statement)
            .bind(place.upstream)
            .bind(place.workload)
            .bind(step_ms)
            .bind(from_ms)
            .bind(until_ms)
            .fetch_all(&self.pool)
            .await
            .map_err(Error::on("read the history"))?;
        let point = |row: &sqlx::sqlite::SqliteRow| {
            Ok(StoredPoint {
                at_ms: row.try_get("at_ms")?,
                point: row.try_get("point")?,
            })
        };
        let points: Result<Vec<_>, sqlx::Error> = rows.iter().map(point).collect();
        points.map_err(Error::on("read the history"))
    }

    /// Writes `rows`, each as `merge` makes it of what is there and of what came, and forgets
    /// what is not kept: all of it or nothing. Where `merge` makes nothing, what is there stays.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn add_history(
        &self,
        rows: &[HistoryRow],
        kept: &[HistoryKept],
        merge: impl Fn(Option<&str>, &HistoryRow) -> Option<String> + Send,
    ) -> Result<(), Error> {
        let mut write = self.write("write the history").await?;
        for row in rows {
            let there = "SELECT point FROM history
                         WHERE upstream = ? AND workload = ? AND step_ms = ? AND at_ms = ?";
            let there: Option<String> = sqlx::query_scalar(there)
                .bind(&row.upstream)
                .bind(&row.workload)
                .bind(row.step_ms)
                .bind(row.at_ms)
                .fetch_optional(write.connection())
                .await
                .map_err(write.failed())?;
            let Some(point) = merge(there.as_deref(), row) else {
                continue;
            };
            let add = "INSERT INTO history (upstream, workload, step_ms, at_ms, point)
                       VALUES (?, ?, ?, ?, ?)
                       ON CONFLICT (upstream, workload, step_ms, at_ms)
                       DO UPDATE SET point = excluded.point";
            sqlx::query(add)
                .bind(&row.upstream)
                .bind(&row.workload)
                .bind(row.step_ms)
                .bind(row.at_ms)
                .bind(&point)
                .execute(write.connection())
                .await
                .map_err(write.failed())?;
        }
        for kept in kept {
            let forget = "DELETE FROM history WHERE step_ms = ? AND (at_ms < ? OR at_ms > ?)";
            sqlx::query(forget)
                .bind(kept.step_ms)
                .bind(kept.first_ms)
                .bind(kept.last_ms)
                .execute(write.connection())
                .await
                .map_err(write.failed())?;
        }
        write.commit().await
    }
}
