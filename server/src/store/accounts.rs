//! The accounts of people. Their passwords are not here, only slow hashes of these.
//!
//! Whatever makes an account worth less, or somebody else's, ends its sessions in the same
//! transaction: no session outlives the password, the role or the account that it was made for.

use serde_json::{Value, json};
use sqlx::{Row, SqliteConnection, sqlite::SqliteRow};

use super::{Error, Store, write::Write};
use crate::audit::{Act, By, action};

/// An account as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredAccount {
    /// Names it for ever; no secret.
    pub id: String,
    /// What its owner signs in with; of all accounts that are there only one has it, in
    /// whatever case.
    pub name: String,
    /// `member`, `viewer`, `operator` or `admin`.
    pub role: String,
    /// Argon2id in PHC form; `None`: no password lets anybody in.
    pub password_hash: Option<String>,
    /// Issuer and subject at an identity provider; `None`: none vouches for its owner.
    pub oidc_subject: Option<String>,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// Since when it lets nobody in, Unix milliseconds; `None`: it does.
    pub disabled_at_ms: Option<i64>,
}

/// What changes whenever an account or a session comes, changes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeopleVersion(i64);

/// A change of an account that is there.
#[derive(Clone, Copy, Debug)]
pub enum AccountChange<'a> {
    /// Another password, as its hash.
    Password(&'a str),
    /// Another role.
    Role(&'a str),
    /// It lets nobody in for a while.
    Disable,
    /// It lets its owner in again.
    Enable,
    /// It goes.
    Remove,
}

pub(super) const COLUMNS: &str =
    "id, name, role, password_hash, oidc_subject, created_at_ms, disabled_at_ms";

impl std::fmt::Debug for StoredAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The hash is what an attacker would guess passwords against.
        let mut shown = f.debug_struct("StoredAccount");
        shown.field("id", &self.id).field("name", &self.name);
        shown.field("role", &self.role).finish_non_exhaustive()
    }
}

impl Store {
    /// Keeps a new account, unless `max` are there already.
    ///
    /// # Errors
    /// [`Error::AccountNameTaken`], [`Error::TooManyAccounts`]; the database does not answer,
    /// or cannot be written.
    pub async fn add_account(
        &self,
        account: &StoredAccount,
        max: u32,
        by: &By,
    ) -> Result<(), Error> {
        let mut write = self.write("keep an account").await?;
        let failed = write.failed();
        let there = count_there(write.connection()).await.map_err(failed)?;
        if there >= i64::from(max) {
            return Err(Error::TooManyAccounts(max));
        }
        insert(write, account, by).await
    }

    /// Keeps the first account of all; `false`: there is one already, or was.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn add_first_account(&self, account: &StoredAccount, by: &By) -> Result<bool, Error> {
        let mut write = self.write("keep the first account").await?;
        let failed = write.failed();
        let ever: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM accounts")
            .fetch_one(write.connection())
            .await
            .map_err(failed)?;
        if ever > 0 {
            return Ok(false);
        }
        insert(write, account, by).await.map(|()| true)
    }

    /// Whether there is an account, or ever was one.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn had_accounts(&self) -> Result<bool, Error> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM accounts)")
            .fetch_one(&self.pool)
            .await
            .map_err(Error::on("look for accounts"))
    }

    /// All accounts that are there, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn accounts(&self) -> Result<Vec<StoredAccount>, Error> {
        let statement = format!(
            "SELECT {COLUMNS} FROM accounts WHERE removed_at_ms IS NULL ORDER BY created_at_ms, id"
        );
        let rows = sqlx::query(&statement).fetch_all(&self.pool).await;
        let rows = rows.map_err(Error::on("list the accounts"))?;
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Changes the account of this id or name, ends its sessions, and says which it was as it
    /// is now; `None`: there is none.
    ///
    /// # Errors
    /// [`Error::LastAdmin`]: nobody would be left who may make another; the database does not
    /// answer, or cannot be written.
    pub async fn change_account(
        &self,
        id_or_name: &str,
        change: AccountChange<'_>,
        at_ms: i64,
        by: &By,
    ) -> Result<Option<StoredAccount>, Error> {
        let mut write = self.write("change an account").await?;
        let failed = write.failed();
        let found = find(write.connection(), id_or_name).await;
        let Some(account) = found.map_err(failed)? else {
            return Ok(None);
        };
        if change.ends_an_admin(&account) {
            let failed = write.failed();
            let others = count_other_admins(write.connection(), &account.id).await;
            if others.map_err(failed)? == 0 {
                return Err(Error::LastAdmin);
            }
        }
        let failed = write.failed();
        let changed = apply(write.connection(), &account, change, at_ms).await;
        let changed = changed.map_err(failed)?;
        write
            .audit(&change.act(&account, &changed, at_ms, by))
            .await?;
        write.commit().await?;
        Ok(Some(changed))
    }

    /// What to compare to know whether accounts and sessions are as they were.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn people_version(&self) -> Result<PeopleVersion, Error> {
        sqlx::query_scalar("SELECT n FROM people_changes")
            .fetch_one(&self.pool)
            .await
            .map(PeopleVersion)
            .map_err(Error::on("say whether people changed"))
    }
}

impl AccountChange<'_> {
    pub(super) fn ends_an_admin(self, account: &StoredAccount) -> bool {
        let ends = match self {
            Self::Password(_) | Self::Enable => false,
            Self::Role(role) => role != "admin",
            Self::Disable | Self::Remove => true,
        };
        ends && account.role == "admin"
    }

    pub(super) fn act(
        self,
        was: &StoredAccount,
        became: &StoredAccount,
        at_ms: i64,
        by: &By,
    ) -> Act {
        let act = |action| Act::new(at_ms, by, action, subject(was));
        match self {
            Self::Password(_) => act(action::ACCOUNT_PASSWORD),
            Self::Role(_) => act(action::ACCOUNT_ROLE)
                .was(shown(was))
                .became(shown(became)),
            Self::Disable => act(action::ACCOUNT_DISABLE).was(shown(was)),
            Self::Enable => act(action::ACCOUNT_ENABLE).became(shown(became)),
            Self::Remove => act(action::ACCOUNT_REMOVE).was(shown(was)),
        }
    }
}

pub(super) async fn insert(
    mut write: Write,
    account: &StoredAccount,
    by: &By,
) -> Result<(), Error> {
    let failed = write.failed();
    let statement = format!("INSERT INTO accounts ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)");
    let written = sqlx::query(&statement)
        .bind(&account.id)
        .bind(&account.name)
        .bind(&account.role)
        .bind(&account.password_hash)
        .bind(&account.oidc_subject)
        .bind(account.created_at_ms)
        .bind(account.disabled_at_ms)
        .execute(write.connection())
        .await;
    match written {
        Ok(_) => {}
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            return Err(Error::AccountNameTaken);
        }
        Err(source) => return Err(failed(source)),
    }
    let act = Act::new(
        account.created_at_ms,
        by,
        action::ACCOUNT_CREATE,
        subject(account),
    );
    write.audit(&act.became(shown(account))).await?;
    write.commit().await
}

/// How many accounts are there.
pub(super) async fn count_there(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT COUNT(*) FROM accounts WHERE removed_at_ms IS NULL")
        .fetch_one(connection)
        .await
}

/// Whether somebody is called so.
pub(super) async fn is_taken(
    connection: &mut SqliteConnection,
    name: &str,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (
            SELECT 1 FROM accounts WHERE removed_at_ms IS NULL AND lower(name) = lower(?)
        )",
    )
    .bind(name)
    .fetch_one(connection)
    .await
}

/// An id before a name: whoever is called like another's id cannot shield it.
pub(super) async fn find(
    connection: &mut SqliteConnection,
    id_or_name: &str,
) -> Result<Option<StoredAccount>, sqlx::Error> {
    let statement = format!(
        "SELECT {COLUMNS} FROM accounts
         WHERE removed_at_ms IS NULL AND (id = ? OR lower(name) = lower(?))
         ORDER BY id = ? DESC LIMIT 1"
    );
    let row = sqlx::query(&statement)
        .bind(id_or_name)
        .bind(id_or_name)
        .bind(id_or_name)
        .fetch_optional(connection)
        .await;
    row.map(|row| row.map(stored))
}

/// Those who can sign in: one who has not used the link yet is none.
pub(super) async fn count_other_admins(
    connection: &mut SqliteConnection,
    id: &str,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT COUNT(*) FROM accounts
         WHERE removed_at_ms IS NULL AND disabled_at_ms IS NULL AND role = 'admin' AND id <> ?
         AND (password_hash IS NOT NULL OR oidc_subject IS NOT NULL)",
    )
    .bind(id)
    .fetch_one(connection)
    .await
}

/// Changes the row, ends the sessions and voids the link; the account as it is since.
pub(super) async fn apply(
    connection: &mut SqliteConnection,
    account: &StoredAccount,
    change: AccountChange<'_>,
    at_ms: i64,
) -> Result<StoredAccount, sqlx::Error> {
    let set = match change {
        AccountChange::Password(_) => "password_hash",
        AccountChange::Role(_) => "role",
        AccountChange::Disable | AccountChange::Enable => "disabled_at_ms",
        AccountChange::Remove => "removed_at_ms",
    };
    let statement = format!("UPDATE accounts SET {set} = ? WHERE id = ? RETURNING {COLUMNS}");
    let query = sqlx::query(&statement);
    let query = match change {
        AccountChange::Password(to) | AccountChange::Role(to) => query.bind(to),
        AccountChange::Disable | AccountChange::Remove => query.bind(at_ms),
        AccountChange::Enable => query.bind(None::<i64>),
    };
    let row = query.bind(&account.id).fetch_one(&mut *connection).await?;
    // A link to set a password that is still under way goes with them: whoever changes an account on
    // suspicion must not be undone by it.
    for statement in [
        "DELETE FROM sessions WHERE account = ?",
        "DELETE FROM invitations WHERE account = ?",
    ] {
        let query = sqlx::query(statement).bind(&account.id);
        query.execute(&mut *connection).await?;
    }
    Ok(stored(row))
}

pub(super) fn subject(account: &StoredAccount) -> String {
    format!("account:{}", account.id)
}

/// What the audit log says of an account: nothing of its password.
fn shown(account: &StoredAccount) -> Value {
    json!({ "name": account.name, "role": account.role })
}

pub(super) fn stored(row: SqliteRow) -> StoredAccount {
    StoredAccount {
        id: row.get("id"),
        name: row.get("name"),
        role: row.get("role"),
        password_hash: row.get("password_hash"),
        oidc_subject: row.get("oidc_subject"),
        created_at_ms: row.get("created_at_ms"),
        disabled_at_ms: row.get("disabled_at_ms"),
    }
}
