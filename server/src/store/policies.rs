//! Versioned policies: appended, never changed.

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store, write::Write};
use crate::audit::{Act, By, action};

/// A policy's version as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// From 1 upwards, without gaps.
    pub version: i64,
    /// The engine's policy as JSON.
    pub document: String,
    /// Why it was made.
    pub reason: String,
    /// Who made it.
    pub author: String,
    /// When, Unix milliseconds.
    pub created_at_ms: i64,
}

/// Whose limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyPlace<'a> {
    /// Of which upstream.
    pub upstream: &'a str,
    /// Which of its workloads.
    pub workload: &'a str,
}

/// A version to be.
#[derive(Clone, Copy, Debug)]
pub struct NewPolicy<'a> {
    /// Whose limits.
    pub place: PolicyPlace<'a>,
    /// The version before, which must still be the newest.
    pub base: i64,
    /// The engine's policy as JSON.
    pub document: &'a str,
    /// What the audit log calls it.
    pub action: &'static str,
}

/// How a version comes to be.
struct Made<'a> {
    action: &'static str,
    by: &'a By,
    at_ms: i64,
}

const COLUMNS: &str = "version, document, reason, author, created_at_ms";

impl Store {
    /// The newest version, `None` where none was ever made.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy(&self, place: PolicyPlace<'_>) -> Result<Option<StoredPolicy>, Error> {
        let newest = self.policy_versions(place, None, 1).await?;
        Ok(newest.into_iter().next())
    }

    /// One version, `None` where it was never made.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy_version(
        &self,
        place: PolicyPlace<'_>,
        version: i64,
    ) -> Result<Option<StoredPolicy>, Error> {
        let before = version.saturating_add(1);
        let found = self.policy_versions(place, Some(before), 1).await?;
        Ok(found.into_iter().find(|it| it.version == version))
    }

    /// The newest versions before `before`, or of all, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy_versions(
        &self,
        place: PolicyPlace<'_>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredPolicy>, Error> {
        let read = || Error::on("read a policy");
        let mut connection = self.pool.acquire().await.map_err(read())?;
        let found = versions(&mut connection, place, before, limit).await;
        found.map_err(read())
    }

    /// How many versions were made of all policies: another number where any changed.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policies_made(&self) -> Result<i64, Error> {
        // Rows are never deleted, so it only grows.
        let count = sqlx::query_scalar("SELECT COUNT(*) FROM policies");
        let count = count.fetch_one(&self.pool).await;
        count.map_err(Error::on("count the policies"))
    }

    /// Makes version 1 where there is none, and answers with the newest.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn seed_policy(
        &self,
        place: PolicyPlace<'_>,
        document: &str,
        at_ms: i64,
    ) -> Result<StoredPolicy, Error> {
        match self.policy(place).await? {
            Some(policy) => Ok(policy),
            None => self.adopt_policy(place, document, at_ms).await,
        }
    }

    /// Makes `document` the newest version, unless it is.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn adopt_policy(
        &self,
        place: PolicyPlace<'_>,
        document: &str,
        at_ms: i64,
    ) -> Result<StoredPolicy, Error> {
        let mut write = self.write("adopt a policy").await?;
        let newest = newest(&mut write, place).await?;
        let (action, reason) = match &newest {
            Some(newest) if newest.document == document => return Ok(newest.clone()),
            Some(_) => (action::POLICY_ADOPT, "the configuration says otherwise"),
            None => (action::POLICY_SEED, "first start"),
        };
        let by = &By::system(reason);
        let made = Made { action, by, at_ms };
        let stored = append(&mut write, place, newest.as_ref(), document, &made).await?;
        write.commit().await?;
        Ok(stored)
    }

    /// Appends these versions, all of them or none, and answers with the newest of each. What
    /// the newest says already is not made again.
    ///
    /// # Errors
    /// [`Error::Conflict`] where another was first, [`Error::NoPolicy`]; the database does not
    /// answer, or cannot be written.
    pub async fn change_policies(
        &self,
        changes: &[NewPolicy<'_>],
        by: &By,
        at_ms: i64,
    ) -> Result<Vec<StoredPolicy>, Error> {
        let mut write = self.write("change policies").await?;
        let mut stored = Vec::with_capacity(changes.len());
        for new in changes {
            let (upstream, workload) = (new.place.upstream, new.place.workload);
            let newest = newest(&mut write, new.place).await?;
            let newest = newest.ok_or_else(|| Error::NoPolicy(format!("{upstream}/{workload}")))?;
            if newest.version != new.base {
                return Err(Error::Conflict {
                    of: format!("{upstream}/{workload}"),
                    base: new.base,
                    newest: Box::new(newest),
                });
            }
            if newest.document == new.document {
                stored.push(newest);
                continue;
            }
            let made = Made {
                action: new.action,
                by,
                at_ms,
            };
            let appended = append(&mut write, new.place, Some(&newest), new.document, &made);
            stored.push(appended.await?);
        }
        write.commit().await?;
        Ok(stored)
    }
}

/// Where nobody else writes.
async fn newest(write: &mut Write, place: PolicyPlace<'_>) -> Result<Option<StoredPolicy>, Error> {
    let failed = write.failed();
    let newest = versions(write.connection(), place, None, 1).await;
    Ok(newest.map_err(failed)?.into_iter().next())
}

async fn versions(
    connection: &mut SqliteConnection,
    place: PolicyPlace<'_>,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<StoredPolicy>, sqlx::Error> {
    let statement = format!(
        "SELECT {COLUMNS} FROM policies WHERE upstream = ? AND workload = ? AND version < ?
         ORDER BY version DESC LIMIT ?"
    );
    let rows = sqlx::query(&statement)
        .bind(place.upstream)
        .bind(place.workload)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(stored).collect())
}

/// Appends the version after `newest`, and audits it.
async fn append(
    write: &mut Write,
    place: PolicyPlace<'_>,
    newest: Option<&StoredPolicy>,
    document: &str,
    made: &Made<'_>,
) -> Result<StoredPolicy, Error> {
    let policy = StoredPolicy {
        version: newest.map_or(0, |newest| newest.version) + 1,
        document: document.to_owned(),
        reason: made.by.reason.clone().unwrap_or_default(),
        author: made.by.actor.to_string(),
        created_at_ms: made.at_ms,
    };
    let statement = format!(
        "INSERT INTO policies (upstream, workload, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
    );
    let failed = write.failed();
    sqlx::query(&statement)
        .bind(place.upstream)
        .bind(place.workload)
        .bind(policy.version)
        .bind(&policy.document)
        .bind(&policy.reason)
        .bind(&policy.author)
        .bind(policy.created_at_ms)
        .execute(write.connection())
        .await
        .map_err(failed)?;
    let subject = format!("policy:{}/{}", place.upstream, place.workload);
    let act = Act::new(made.at_ms, made.by, made.action, subject);
    let act = act.was(newest.map(shown)).became(shown(&policy));
    write.audit(&act).await?;
    Ok(policy)
}

/// What the audit log says of a version.
fn shown(policy: &StoredPolicy) -> Value {
    let document: Value = serde_json::from_str(&policy.document).unwrap_or_default();
    json!({ "version": policy.version, "policy": document })
}

fn stored(row: &SqliteRow) -> StoredPolicy {
    StoredPolicy {
        version: row.get("version"),
        document: row.get("document"),
        reason: row.get("reason"),
        author: row.get("author"),
        created_at_ms: row.get("created_at_ms"),
    }
}

#[cfg(test)]
mod tests;
