//! Accounts as admins see them: listed, made, changed, ended.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{NotSignedIn, People, Session};
use crate::{
    access::{
        NotValid, Person, Role,
        invitation::{self, InvitationKey},
        password::Password,
        person::{self, ACCOUNTS_MAX},
        provider::Vouched,
        set_up::NotSetUp,
    },
    audit::By,
    store::{self, AccountChange, StoredAccount},
};

/// An account that is there, as it is listed: nothing of its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Names it for ever.
    pub id: String,
    /// What its owner signs in with.
    pub name: String,
    /// What they may do; `None`: what the database has is damaged, and it lets nobody in.
    pub role: Option<Role>,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// Whether it lets nobody in for now.
    pub is_disabled: bool,
    /// Whether there is a password.
    pub has_password: bool,
    /// Whether an identity provider vouches for its owner.
    pub is_provided: bool,
    /// Until when a link is good by which a password is chosen, Unix milliseconds.
    pub invited_until_ms: Option<i64>,
    /// In how many browsers they are signed in.
    pub sessions: usize,
    /// When one of these was last used, Unix milliseconds.
    pub seen_at_ms: Option<i64>,
}

impl People {
    /// All accounts that are there, the oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn list(&self, now: Timestamp) -> Result<Vec<Listed>, store::Error> {
        let accounts = self.0.store.accounts().await?;
        let invitations = self.0.store.invitations().await?;
        let good = invitations
            .into_iter()
            .filter(|it| it.until_ms > now.as_millisecond());
        let mut invited: HashMap<_, _> = good.map(|it| (it.account, it.until_ms)).collect();
        let mut sessions: HashMap<String, (usize, i64)> = HashMap::new();
        for session in self.0.known.load().sessions.values() {
            let of = sessions.entry(session.person.id.clone());
            let of = of.or_insert((0, i64::MIN));
            *of = (of.0 + 1, of.1.max(session.seen_at_ms()));
        }
        let listed = accounts.into_iter().map(|account| {
            let (sessions, seen) = sessions.remove(&account.id).unzip();
            Listed {
                invited_until_ms: invited.remove(&account.id),
                role: Role::named(&account.role),
                is_disabled: account.disabled_at_ms.is_some(),
                has_password: account.password_hash.is_some(),
                is_provided: account.oidc_subject.is_some(),
                sessions: sessions.unwrap_or_default(),
                seen_at_ms: seen,
                id: account.id,
                name: account.name,
                created_at_ms: account.created_at_ms,
            }
        });
        Ok(listed.collect())
    }

    /// Makes an account. Without a password its owner chooses one, by a link with this key.
    ///
    /// # Errors
    /// As [`store::Store::add_account`]; the password cannot be hashed now.
    pub async fn add(
        &self,
        name: String,
        role: Role,
        password: Option<Password>,
        now: Timestamp,
        by: &By,
    ) -> Result<(StoredAccount, Option<InvitationKey>), NotSignedIn> {
        let hash = match password {
            Some(password) => Some(self.0.hasher.hash(password).await?),
            None => None,
        };
        let invite = hash.is_none();
        let account = person::draft(name, role, hash, now.as_millisecond());
        let store = &self.0.store;
        store.add_account(&account, ACCOUNTS_MAX, by).await?;
        let key = match invite {
            true => self.invite(&account.id, now, by).await?.map(|(_, key)| key),
            false => None,
        };
        self.0.look_since(Instant::now()).await;
        Ok((account, key))
    }

    /// A link for the owner of this account, instead of the one that it has; `None`: there is no
    /// such account.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn invite(
        &self,
        id: &str,
        now: Timestamp,
        by: &By,
    ) -> Result<Option<(StoredAccount, InvitationKey)>, store::Error> {
        let key = InvitationKey::random();
        let until = now.saturating_add(invitation::LASTS).unwrap_or(now);
        let times = (now.as_millisecond(), until.as_millisecond());
        let invited = self.0.store.invite(id, &key.hash(), times, by).await?;
        Ok(invited.map(|account| (account, key)))
    }

    /// Who may choose a password by the link with this key.
    ///
    /// # Errors
    /// Nobody may, or the database does not answer.
    pub async fn invited(&self, key: &str, now: Timestamp) -> Result<StoredAccount, NotSignedIn> {
        let hash = invitation::hash(key);
        let invited = self.0.store.invited(&hash, now.as_millisecond()).await?;
        invited.ok_or_else(|| NotSetUp::Uninvited.into())
    }

    /// Takes the password that the owner of the link with this key has chosen.
    ///
    /// # Errors
    /// See [`NotSignedIn`].
    pub async fn accept(
        &self,
        key: &str,
        password: Password,
        now: Timestamp,
        client: Option<std::net::IpAddr>,
    ) -> Result<Person, NotSignedIn> {
        self.invited(key, now).await?;
        let hash = self.0.hasher.hash(password).await?;
        let (key, now_ms) = (invitation::hash(key), now.as_millisecond());
        let store = &self.0.store;
        let account = store.accept_invitation(&key, &hash, now_ms, client).await?;
        let account = account.ok_or(NotSetUp::Uninvited)?;
        self.0.look_since(Instant::now()).await;
        let owner = self.0.known()?.people.get(&account.id).cloned();
        owner
            .map(|it| it.person)
            .ok_or_else(|| NotValid::Unreadable.into())
    }

    /// The account of whom an identity provider vouches for, with the role that it gives them now;
    /// `None`: it is disabled, or was removed.
    ///
    /// # Errors
    /// As [`store::Store::provided_account`].
    pub async fn provided(
        &self,
        vouched: Vouched,
        now: Timestamp,
        by: &By,
    ) -> Result<Option<Person>, NotSignedIn> {
        let Vouched {
            subject,
            name,
            role,
        } = vouched;
        let draft = StoredAccount {
            oidc_subject: Some(subject),
            ..person::draft(name, role, None, now.as_millisecond())
        };
        let store = &self.0.store;
        let Some(account) = store.provided_account(&draft, ACCOUNTS_MAX, by).await? else {
            return Ok(None);
        };
        self.0.look_since(Instant::now()).await;
        let owner = self.0.known()?.people.get(&account.id).cloned();
        let person = owner.map(|it| it.person);
        person.map(Some).ok_or_else(|| NotValid::Unreadable.into())
    }

    /// Changes the account of this id, ends its sessions, and says which it was as it is since;
    /// `None`: there is none.
    ///
    /// # Errors
    /// As [`store::Store::change_account`].
    pub async fn change(
        &self,
        id: &str,
        change: AccountChange<'_>,
        now: Timestamp,
        by: &By,
    ) -> Result<Option<StoredAccount>, store::Error> {
        let store = &self.0.store;
        let changed = store
            .change_account(id, change, now.as_millisecond(), by)
            .await?;
        self.0.look_since(Instant::now()).await;
        Ok(changed)
    }

    /// The sessions of the account with this id, in no order.
    ///
    /// # Errors
    /// They cannot be known now.
    pub fn sessions_in(&self, id: &str) -> Result<Vec<Arc<Session>>, NotValid> {
        let known = self.0.known()?;
        let of = known.sessions.values().filter(|it| it.person.id == id);
        Ok(of.cloned().collect())
    }

    /// Ends the session of this handle, if it is of the account with this id; whether it was.
    ///
    /// # Errors
    /// It cannot be written down.
    pub async fn end_in(&self, id: &str, handle: &str) -> Result<bool, store::Error> {
        let ended = self.0.store.end_session_of(id, handle).await?;
        self.0.look_since(Instant::now()).await;
        Ok(ended)
    }
}
