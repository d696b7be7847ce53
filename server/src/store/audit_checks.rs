//! When the audit log was last found to be as it was written.

use sqlx::Row;

use super::{Error, Store};
use crate::audit::{EntryHash, Head};

/// That the audit log was found to be as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCheck {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Up to where.
    pub head: Head,
    /// By whom, in words.
    pub who: String,
}

impl Store {
    /// Keeps the last check instead of the one before.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn keep_audit_check(&self, check: &AuditCheck) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO audit_checks (only, at_ms, seq, hash, who) VALUES (1, ?, ?, ?, ?)
             ON CONFLICT (only) DO UPDATE SET
             at_ms = excluded.at_ms, seq = excluded.seq, hash = excluded.hash, who = excluded.who",
        )
        .bind(check.at_ms)
        .bind(check.head.seq)
        .bind(&check.head.hash.0[..])
        .bind(&check.who)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::on("keep when the audit log was checked"))
    }

    /// The last check that found nothing wrong; `None`: there was none.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn audit_check(&self) -> Result<Option<AuditCheck>, Error> {
        let row = sqlx::query("SELECT at_ms, seq, hash, who FROM audit_checks")
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::on("say when the audit log was checked"))?;
        Ok(row.and_then(|row| {
            let hash: Vec<u8> = row.get("hash");
            Some(AuditCheck {
                at_ms: row.get("at_ms"),
                head: Head {
                    seq: row.get("seq"),
                    hash: EntryHash(hash.try_into().ok()?),
                },
                who: row.get("who"),
            })
        }))
    }
}
