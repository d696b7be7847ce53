//! The accounts with which people steer a demo: made at its start, with passwords that were
//! never used before.

use jiff::Timestamp;

use crate::{
    access::{
        Hasher, Role,
        password::{NotHashed, Password},
        person::{self, ACCOUNTS_MAX},
    },
    audit::By,
    store::{self, AccountChange, Store},
};

/// The roles that there is an account for, each called like its role. Anybody is a viewer.
const ROLES: [Role; 2] = [Role::Operator, Role::Admin];

/// An account, and how to sign in with it.
#[derive(Debug)]
pub(super) struct Made {
    /// What it may do, and its name.
    pub(super) role: Role,
    pub(super) password: Password,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// They cannot be written down.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Their passwords cannot be hashed.
    #[error(transparent)]
    NotHashed(#[from] NotHashed),
}

/// Makes them in the database at `url`; those of an earlier demo get other passwords.
pub(super) async fn make(url: &str, now: Timestamp) -> Result<Vec<Made>, Error> {
    let store = Store::open(url).await?;
    let mut all = Vec::new();
    for role in ROLES {
        let password = Password::random();
        let hash = Hasher::default().hash(password.clone()).await?;
        keep(&store, role, hash, now.as_millisecond()).await?;
        all.push(Made { role, password });
    }
    store.close().await;
    Ok(all)
}

async fn keep(store: &Store, role: Role, hash: String, now_ms: i64) -> Result<(), store::Error> {
    let name = role.to_string();
    let by = By::system("a demo starts");
    let change = AccountChange::Password(&hash);
    if store
        .change_account(&name, change, now_ms, &by)
        .await?
        .is_some()
    {
        return Ok(());
    }
    let account = person::draft(name, role, Some(hash), now_ms);
    store.add_account(&account, ACCOUNTS_MAX, &by).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_start_has_passwords_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("spillway.db").display());
        let mut passwords = Vec::new();
        for _ in 0..2 {
            let made = make(&url, Timestamp::UNIX_EPOCH).await.unwrap();
            assert_eq!(made.iter().map(|it| it.role).collect::<Vec<_>>(), ROLES);
            passwords.extend(made.into_iter().map(|it| it.password.reveal().to_owned()));
        }
        passwords.sort();
        passwords.dedup();
        assert_eq!(passwords.len(), 4);
        let accounts = Store::open(&url).await.unwrap().accounts().await.unwrap();
        let roles: Vec<_> = accounts.iter().map(|it| (&*it.name, &*it.role)).collect();
        assert_eq!(roles.len(), 2);
        assert!(roles.iter().all(|(name, role)| name == role), "{roles:?}");
    }
}
