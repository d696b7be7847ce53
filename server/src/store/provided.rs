//! Accounts of people that an identity provider vouches for.

use sqlx::{Row, SqliteConnection};

use super::{
    AccountChange, Error, Store, StoredAccount,
    accounts::{COLUMNS, apply, count_other_admins, count_there, insert, is_taken, stored},
};
use crate::audit::By;

/// This name, or where somebody else has it, the first of those made of it that nobody has.
async fn free_name(connection: &mut SqliteConnection, name: &str) -> Result<String, sqlx::Error> {
    let mut free = name.to_owned();
    // There are fewer accounts than numbers: it ends.
    for n in 1_u32.. {
        if !is_taken(connection, &free).await? {
            break;
        }
        free = match n {
            1 => format!("{name} (by SSO)"),
            _ => format!("{name} (by SSO, {n})"),
        };
    }
    Ok(free)
}

impl Store {
    /// The account of whom the provider vouches for, with the role that it gives them now: `draft`
    /// where there was none; `None`: it is disabled, or was removed for good.
    ///
    /// # Errors
    /// [`Error::LastAdmin`]: nobody would be left who may make another; [`Error::TooManyAccounts`];
    /// [`Error::AccountNameTaken`]; the database does not answer, or cannot be written.
    pub async fn provided_account(
        &self,
        draft: &StoredAccount,
        max: u32,
        by: &By,
    ) -> Result<Option<StoredAccount>, Error> {
        let mut write = self
            .write("keep who the identity provider vouches for")
            .await?;
        let statement =
            format!("SELECT {COLUMNS}, removed_at_ms FROM accounts WHERE oidc_subject = ?");
        let failed = write.failed();
        let row = sqlx::query(&statement)
            .bind(&draft.oidc_subject)
            .fetch_optional(write.connection())
            .await
            .map_err(failed)?;
        let Some(row) = row else {
            let failed = write.failed();
            let there = count_there(write.connection()).await.map_err(failed)?;
            if there >= i64::from(max) {
                return Err(Error::TooManyAccounts(max));
            }
            let failed = write.failed();
            let name = free_name(write.connection(), &draft.name).await;
            let account = StoredAccount {
                name: name.map_err(failed)?,
                ..draft.clone()
            };
            insert(write, &account, by).await?;
            return Ok(Some(account));
        };
        let is_removed = row.get::<Option<i64>, _>("removed_at_ms").is_some();
        let account = stored(row);
        if is_removed || account.disabled_at_ms.is_some() {
            return Ok(None);
        }
        if account.role == draft.role {
            return Ok(Some(account));
        }
        let change = AccountChange::Role(&draft.role);
        if change.ends_an_admin(&account) {
            let failed = write.failed();
            let others = count_other_admins(write.connection(), &account.id).await;
            if others.map_err(failed)? == 0 {
                return Err(Error::LastAdmin);
            }
        }
        let failed = write.failed();
        let at_ms = draft.created_at_ms;
        let changed = apply(write.connection(), &account, change, at_ms).await;
        let changed = changed.map_err(failed)?;
        write
            .audit(&change.act(&account, &changed, at_ms, by))
            .await?;
        write.commit().await?;
        Ok(Some(changed))
    }
}
