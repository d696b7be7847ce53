//! What people call those whom the audit log names by their ids.

use std::collections::HashMap;

use sqlx::Row;

use super::{Error, Store};
use crate::audit::Entry;

/// Names by subject: `account:0123456789abcdef` is `ada`.
pub type Names = HashMap<String, String>;

const STATEMENT: &str = "
    SELECT 'account:' || id AS subject, name FROM accounts
    WHERE id IN (SELECT substr(value, 9) FROM json_each(?1) WHERE value LIKE 'account:%')
    UNION ALL
    SELECT 'token:' || id, name FROM tokens
    WHERE id IN (SELECT substr(value, 7) FROM json_each(?1) WHERE value LIKE 'token:%')";

impl Store {
    /// What the accounts and tokens are called that these entries are about, those that were
    /// removed or revoked too.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn names(&self, entries: &[Entry]) -> Result<Names, Error> {
        let mut subjects: Vec<_> = entries.iter().map(|it| it.subject.as_str()).collect();
        subjects.retain(|it| it.starts_with("account:") || it.starts_with("token:"));
        subjects.sort_unstable();
        subjects.dedup();
        if subjects.is_empty() {
            return Ok(Names::new());
        }
        let subjects = serde_json::Value::from(subjects).to_string();
        let rows = sqlx::query(STATEMENT).bind(subjects);
        let rows = rows.fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("look up names"))?;
        let named = |row: &sqlx::sqlite::SqliteRow| (row.get("subject"), row.get("name"));
        Ok(rows.iter().map(named).collect())
    }
}
