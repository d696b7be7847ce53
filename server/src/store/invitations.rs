//! Links by which the owners of accounts choose their passwords.

use sqlx::{Row, SqliteConnection};

use super::{
    AccountChange, Error, Store, StoredAccount,
    accounts::{self, apply, find},
};
use crate::audit::{Act, Actor, ActorKind, By, action};

/// A link as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInvitation {
    /// The id of its account.
    pub account: String,
    /// Until when it is good, Unix milliseconds.
    pub until_ms: i64,
}

impl Store {
    /// Keeps a link for the account of this id or name instead of the one that it has, and says
    /// which account it is; `None`: there is none.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn invite(
        &self,
        id_or_name: &str,
        key_sha256: &[u8],
        (at_ms, until_ms): (i64, i64),
        by: &By,
    ) -> Result<Option<StoredAccount>, Error> {
        let mut write = self.write("keep a link").await?;
        let failed = write.failed();
        let found = find(write.connection(), id_or_name).await;
        let Some(account) = found.map_err(failed)? else {
            return Ok(None);
        };
        let failed = write.failed();
        sqlx::query(
            "INSERT INTO invitations (account, key_sha256, until_ms) VALUES (?, ?, ?)
             ON CONFLICT (account) DO UPDATE SET
             key_sha256 = excluded.key_sha256, until_ms = excluded.until_ms",
        )
        .bind(&account.id)
        .bind(key_sha256)
        .bind(until_ms)
        .execute(write.connection())
        .await
        .map_err(failed)?;
        let act = Act::new(
            at_ms,
            by,
            action::ACCOUNT_INVITE,
            accounts::subject(&account),
        );
        write.audit(&act).await?;
        write.commit().await?;
        Ok(Some(account))
    }

    /// The links there are, those whose time is over included.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn invitations(&self) -> Result<Vec<StoredInvitation>, Error> {
        let rows = sqlx::query("SELECT account, until_ms FROM invitations")
            .fetch_all(&self.pool)
            .await
            .map_err(Error::on("list the links"))?;
        let stored = rows.into_iter().map(|row| StoredInvitation {
            account: row.get("account"),
            until_ms: row.get("until_ms"),
        });
        Ok(stored.collect())
    }

    /// Whose link with this key is good at `at_ms`; `None`: nobody's.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn invited(
        &self,
        key_sha256: &[u8],
        at_ms: i64,
    ) -> Result<Option<StoredAccount>, Error> {
        let read = || Error::on("look for a link");
        let mut connection = self.pool.acquire().await.map_err(read())?;
        owner(&mut connection, key_sha256, at_ms)
            .await
            .map_err(read())
    }

    /// Takes the password of whoever has this link, which is void since; `None`: it is nobody's.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn accept_invitation(
        &self,
        key_sha256: &[u8],
        password_hash: &str,
        at_ms: i64,
        client: Option<std::net::IpAddr>,
    ) -> Result<Option<StoredAccount>, Error> {
        let mut write = self.write("keep a password").await?;
        let failed = write.failed();
        let found = owner(write.connection(), key_sha256, at_ms).await;
        let Some(account) = found.map_err(failed)? else {
            return Ok(None);
        };
        let failed = write.failed();
        sqlx::query("DELETE FROM invitations WHERE account = ?")
            .bind(&account.id)
            .execute(write.connection())
            .await
            .map_err(failed)?;
        let failed = write.failed();
        let change = AccountChange::Password(password_hash);
        let changed = apply(write.connection(), &account, change, at_ms).await;
        let changed = changed.map_err(failed)?;
        let actor = Actor::named(ActorKind::Account, &account.id, &account.name);
        let by = By {
            client,
            ..By::actor(actor).because("by the link that an admin handed out")
        };
        write
            .audit(&change.act(&account, &changed, at_ms, &by))
            .await?;
        write.commit().await?;
        Ok(Some(changed))
    }
}

async fn owner(
    connection: &mut SqliteConnection,
    key_sha256: &[u8],
    at_ms: i64,
) -> Result<Option<StoredAccount>, sqlx::Error> {
    let account: Option<String> =
        sqlx::query_scalar("SELECT account FROM invitations WHERE key_sha256 = ? AND until_ms > ?")
            .bind(key_sha256)
            .bind(at_ms)
            .fetch_optional(&mut *connection)
            .await?;
    let Some(account) = account else {
        return Ok(None);
    };
    let account = find(connection, &account).await?;
    Ok(account.filter(|account| account.disabled_at_ms.is_none()))
}
