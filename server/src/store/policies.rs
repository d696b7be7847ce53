//! Versioned policies: appended, never changed.

use serde_json::{Value, json};
use sqlx::{Row, sqlite::SqliteRow};

use super::{Error, Store};
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

/// A version to be.
#[derive(Clone, Copy, Debug)]
pub struct NewPolicy<'a> {
    /// Whose limits.
    pub upstream: &'a str,
    /// Which of its workloads.
    pub workload: &'a str,
    /// The engine's policy as JSON.
    pub document: &'a str,
    /// Why.
    pub reason: &'a str,
    /// By whom.
    pub author: &'a str,
    /// When, Unix milliseconds.
    pub created_at_ms: i64,
}

const COLUMNS: &str = "version, document, reason, author, created_at_ms";

impl Store {
    /// The policy in force, `None` where none was ever made.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy(
        &self,
        upstream: &str,
        workload: &str,
    ) -> Result<Option<StoredPolicy>, Error> {
        let statement = format!(
            "SELECT {COLUMNS} FROM policies WHERE upstream = ? AND workload = ? ORDER BY version DESC LIMIT 1"
        );
        let row = sqlx::query(&statement)
            .bind(upstream)
            .bind(workload)
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::on("read a policy"))?;
        Ok(row.map(stored))
    }

    /// Makes version 1 where there is none, and answers with the policy in force.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn seed_policy(
        &self,
        upstream: &str,
        workload: &str,
        document: &str,
        at_ms: i64,
    ) -> Result<StoredPolicy, Error> {
        if let Some(policy) = self.policy(upstream, workload).await? {
            return Ok(policy);
        }
        let seed = NewPolicy {
            upstream,
            workload,
            document,
            reason: "first start",
            author: "spillway",
            created_at_ms: at_ms,
        };
        let subject = format!("policy:{upstream}/{workload}");
        let act = Act::new(
            at_ms,
            &By::system(seed.reason),
            action::POLICY_SEED,
            subject,
        );
        let document: Value = serde_json::from_str(document).unwrap_or_default();
        let became = json!({ "version": 1, "policy": document });
        self.append_policy(&seed, 1, &act.became(became)).await
    }

    /// Appends `policy` as `version`, which must be the next one, and `act` to the audit log.
    ///
    /// # Errors
    /// [`Error::Conflict`] where that version exists; the database does not answer, or
    /// cannot be written.
    pub async fn append_policy(
        &self,
        policy: &NewPolicy<'_>,
        version: i64,
        act: &Act,
    ) -> Result<StoredPolicy, Error> {
        let mut write = self.write("append a policy").await?;
        let failed = write.failed();
        let statement = format!(
            "INSERT INTO policies (upstream, workload, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {COLUMNS}"
        );
        let row = sqlx::query(&statement)
            .bind(policy.upstream)
            .bind(policy.workload)
            .bind(version)
            .bind(policy.document)
            .bind(policy.reason)
            .bind(policy.author)
            .bind(policy.created_at_ms)
            .fetch_one(write.connection())
            .await;
        let stored = match row {
            Ok(row) => stored(row),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                return Err(Error::Conflict(version));
            }
            Err(source) => return Err(failed(source)),
        };
        write.audit(act).await?;
        write.commit().await?;
        Ok(stored)
    }
}

fn stored(row: SqliteRow) -> StoredPolicy {
    StoredPolicy {
        version: row.get("version"),
        document: row.get("document"),
        reason: row.get("reason"),
        author: row.get("author"),
        created_at_ms: row.get("created_at_ms"),
    }
}
