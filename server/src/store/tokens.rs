//! The tokens of programs. Their secrets are not here, only the hashes of these.

use sqlx::{Row, sqlite::SqliteRow};

use super::{Error, Store};

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
    pub async fn add_token(&self, token: &StoredToken, valid_max: u32) -> Result<(), Error> {
        let add = || Error::on("keep a token");
        let mut transaction = self.pool.begin().await.map_err(add())?;
        // A write first: so no other writer comes between looking and writing.
        sqlx::query("UPDATE tokens SET revoked_at_ms = ? WHERE name = ? AND revoked_at_ms IS NULL AND expires_at_ms <= ?")
            .bind(token.created_at_ms)
            .bind(&token.name)
            .bind(token.created_at_ms)
            .execute(&mut *transaction)
            .await
            .map_err(add())?;
        let valid: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM tokens WHERE revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)",
        )
        .bind(token.created_at_ms)
        .fetch_one(&mut *transaction)
        .await
        .map_err(add())?;
        if valid >= i64::from(valid_max) {
            return Err(Error::TooMany(valid_max));
        }
        let statement = format!("INSERT INTO tokens ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)");
        let written = sqlx::query(&statement)
            .bind(&token.id)
            .bind(&token.name)
            .bind(&token.secret_sha256)
            .bind(&token.rights)
            .bind(token.created_at_ms)
            .bind(token.expires_at_ms)
            .bind(token.last_used_at_ms)
            .execute(&mut *transaction)
            .await;
        match written {
            Ok(_) => transaction.commit().await.map_err(add()),
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                Err(Error::NameTaken)
            }
            Err(source) => Err(add()(source)),
        }
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
    ) -> Result<Option<StoredToken>, Error> {
        // An id before a name: whoever names a token like another's id cannot shield it.
        let statement = format!(
            "UPDATE tokens SET revoked_at_ms = ? WHERE id = (
                SELECT id FROM tokens WHERE revoked_at_ms IS NULL AND (id = ? OR name = ?)
                ORDER BY id = ? DESC LIMIT 1
            ) RETURNING {COLUMNS}"
        );
        let row = sqlx::query(&statement)
            .bind(at_ms)
            .bind(name_or_id)
            .bind(name_or_id)
            .bind(name_or_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::on("revoke a token"))?;
        Ok(row.map(stored))
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
