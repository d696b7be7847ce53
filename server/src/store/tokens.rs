//! The tokens of programs. Their secrets are not here, only the hashes of these.

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store};
use crate::audit::{Act, By, action};

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Names it; no secret.
    pub id: String,
    /// What people call it; of all valid tokens only one has it.
    pub name: String,
    /// SHA-256 of its secret, 32 bytes.
    pub secret_sha256: Vec<u8>,
    /// What it may, as JSON.
    pub rights: String,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// From when on it is worth nothing, Unix milliseconds.
    pub expires_at_ms: Option<i64>,
    /// When it was last used, to the minute, Unix milliseconds.
    pub last_used_at_ms: Option<i64>,
}

/// What changes whenever a token is made or revoked, and at no other time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensVersion {
    made: i64,
    revoked: i64,
}

const COLUMNS: &str =
    "id, name, secret_sha256, rights, created_at_ms, expires_at_ms, last_used_at_ms";

impl Store {
    /// Keeps a new token, unless `valid_max` tokens are valid at its making already. An
    /// expired token that still has the name is revoked for it.
    ///
    /// # Errors
    /// [`Error::NameTaken`], [`Error::TooMany`]; the database does not answer, or cannot be
    /// written.
    pub async fn add_token(
        &self,
        token: &StoredToken,
        valid_max: u32,
        by: &By,
    ) -> Result<(), Error> {
        let at_ms = token.created_at_ms;
        let mut write = self.write("keep a token").await?;
        let failed = write.failed();
        let expired = revoke_expired(write.connection(), &token.name, at_ms).await;
        for expired in expired.map_err(failed)? {
            write.audit(&revocation(&expired, at_ms, by)).await?;
        }
        let failed = write.failed();
        let valid = count_valid(write.connection(), at_ms).await;
        if valid.map_err(failed)? >= i64::from(valid_max) {
            return Err(Error::TooMany(valid_max));
        }
        let failed = write.failed();
        match insert(write.connection(), token).await {
            Ok(()) => {}
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                return Err(Error::NameTaken);
            }
            Err(source) => return Err(failed(source)),
        }
        let act = Act::new(at_ms, by, action::TOKEN_CREATE, subject(token));
        write.audit(&act.became(shown(token))).await?;
        write.commit().await
    }

    /// All tokens that are not revoked, the expired ones too, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn tokens(&self) -> Result<Vec<StoredToken>, Error> {
        let statement = format!(
            "SELECT {COLUMNS} FROM tokens WHERE revoked_at_ms IS NULL ORDER BY created_at_ms, id"
        );
        let rows = sqlx::query(&statement).fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("list the tokens"))?;
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Revokes the valid token of this name or id, and says which it was; `None`: there is
    /// none.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn revoke_token(
        &self,
        name_or_id: &str,
        at_ms: i64,
        by: &By,
    ) -> Result<Option<StoredToken>, Error> {
        // An id before a name: whoever names a token like another's id cannot shield it.
        let statement = format!(
            "UPDATE tokens SET revoked_at_ms = ? WHERE id = (
                SELECT id FROM tokens WHERE revoked_at_ms IS NULL AND (id = ? OR name = ?)
                ORDER BY id = ? DESC LIMIT 1
            ) RETURNING {COLUMNS}"
        );
        let mut write = self.write("revoke a token").await?;
        let failed = write.failed();
        let row = sqlx::query(&statement)
            .bind(at_ms)
            .bind(name_or_id)
            .bind(name_or_id)
            .bind(name_or_id)
            .fetch_optional(write.connection())
            .await;
        let Some(token) = row.map_err(failed)?.map(stored) else {
            return Ok(None);
        };
        write.audit(&revocation(&token, at_ms, by)).await?;
        write.commit().await?;
        Ok(Some(token))
    }

    /// What to compare to know whether [`Store::tokens`] would answer with other tokens.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn tokens_version(&self) -> Result<TokensVersion, Error> {
        // Rows are never deleted and a revocation is final, so both only grow.
        let row =
            sqlx::query("SELECT COUNT(*) AS made, COUNT(revoked_at_ms) AS revoked FROM tokens")
                .fetch_one(&self.pool)
                .await
                .map_err(Error::on("count the tokens"))?;
        Ok(TokensVersion {
            made: row.get("made"),
            revoked: row.get("revoked"),
        })
    }

    /// Notes that a token was used at `at_ms`.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn note_token_use(&self, id: &str, at_ms: i64) -> Result<(), Error> {
        sqlx::query("UPDATE tokens SET last_used_at_ms = ? WHERE id = ?")
            .bind(at_ms)
            .bind(id)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::on("note a token's use"))
    }
}

async fn revoke_expired(
    connection: &mut SqliteConnection,
    name: &str,
    at_ms: i64,
) -> Result<Vec<StoredToken>, sqlx::Error> {
    let statement = format!(
        "UPDATE tokens SET revoked_at_ms = ? WHERE name = ? AND revoked_at_ms IS NULL AND expires_at_ms <= ? RETURNING {COLUMNS}"
    );
    let expired = sqlx::query(&statement).bind(at_ms).bind(name).bind(at_ms);
    let expired = expired.fetch_all(connection).await?;
    Ok(expired.into_iter().map(stored).collect())
}

async fn count_valid(connection: &mut SqliteConnection, at_ms: i64) -> Result<i64, sqlx::Error> {
    let valid = sqlx::query_scalar(
        "SELECT COUNT(*) FROM tokens WHERE revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)",
    );
    valid.bind(at_ms).fetch_one(connection).await
}

async fn insert(connection: &mut SqliteConnection, token: &StoredToken) -> Result<(), sqlx::Error> {
    let statement = format!("INSERT INTO tokens ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)");
    let insert = sqlx::query(&statement)
        .bind(&token.id)
        .bind(&token.name)
        .bind(&token.secret_sha256)
        .bind(&token.rights)
        .bind(token.created_at_ms)
        .bind(token.expires_at_ms)
        .bind(token.last_used_at_ms);
    insert.execute(connection).await.map(drop)
}

fn subject(token: &StoredToken) -> String {
    format!("token:{}", token.id)
}

fn revocation(token: &StoredToken, at_ms: i64, by: &By) -> Act {
    Act::new(at_ms, by, action::TOKEN_REVOKE, subject(token)).was(shown(token))
}

/// What the audit log says of a token: nothing of its secret.
fn shown(token: &StoredToken) -> Value {
    let rights = serde_json::from_str(&token.rights).unwrap_or(Value::Null);
    json!({ "name": token.name, "rights": rights, "expires_at_ms": token.expires_at_ms })
}

fn stored(row: SqliteRow) -> StoredToken {
    StoredToken {
        id: row.get("id"),
        name: row.get("name"),
        secret_sha256: row.get("secret_sha256"),
        rights: row.get("rights"),
        created_at_ms: row.get("created_at_ms"),
        expires_at_ms: row.get("expires_at_ms"),
        last_used_at_ms: row.get("last_used_at_ms"),
    }
}
