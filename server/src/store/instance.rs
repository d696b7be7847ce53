//! Who the database is, and whether it has ever let a call through.

use sqlx::Row;

use super::{Error, Store};

/// The database's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// 128 random bits in hex, made once.
    pub id: String,
    /// Whether a call was ever let through under it: if so, missing counters mean full
    /// budgets, not empty ones.
    pub served: bool,
}

impl Store {
    /// The database's identity.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn instance(&self) -> Result<Instance, Error> {
        let read = Error::on("say who it is");
        let row = sqlx::query("SELECT id, served_at_ms IS NOT NULL AS served FROM instance")
            .fetch_one(&self.pool)
            .await
            .map_err(read)?;
        Ok(Instance {
            id: row.get("id"),
            served: row.get("served"),
        })
    }

    /// Notes that calls are let through from `at_ms` on; the first note stays.
    ///
    /// # Errors
    /// It cannot be written: then nothing may be let through either.
    pub async fn mark_served(&self, at_ms: i64) -> Result<(), Error> {
        sqlx::query("UPDATE instance SET served_at_ms = COALESCE(served_at_ms, ?)")
            .bind(at_ms)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("note that it serves"))
    }

    /// Makes the identity if there is none. The update is a real write even where there
    /// is one, so that a database that can only be read is found out at start.
    pub(super) async fn ensure_instance(&self) -> Result<(), Error> {
        let statement = "INSERT INTO instance (only, id) VALUES (1, ?)
                         ON CONFLICT (only) DO UPDATE SET only = 1";
        sqlx::query(statement)
            .bind(random_id())
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("note its identity"))
    }
}

fn random_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}
