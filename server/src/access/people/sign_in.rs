//! How people get in: by name and password, or by the link of the first start; and how
//! axum-login and tower-sessions, which carry the cookie, see people and sessions.

use std::{net::IpAddr, time::Duration};

use axum_login::{AuthUser, AuthnBackend, UserId};
use jiff::Timestamp;
use time::OffsetDateTime;
use tokio::time::Instant;
use tower_sessions::{
    SessionStore,
    session::{Id, Record},
    session_store,
};

use super::{Owner, People, SESSIONS_PER_ACCOUNT_MAX, SessionHash};
use crate::{
    access::{
        NotValid, Person, Role,
        password::{NotHashed, Password},
        person,
        set_up::NotSetUp,
    },
    audit::{Actor, By},
    store::{self, AccountChange, StoredSession},
};

/// Where axum-login keeps who is signed in, and under which name.
const DATA_KEY: &str = "axum-login.data";
const USER_ID: &str = "user_id";

/// Somebody tries to sign in.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// As whom.
    pub name: String,
    /// With what.
    pub password: Password,
    /// From where.
    pub from: IpAddr,
    /// When.
    pub now: Timestamp,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They are who they say.
    Is(Person),
    /// The password is not that of this account, or nobody has the name. Whoever tried must
    /// not learn which.
    IsNot(Option<Person>),
}

/// Why nobody could be signed in, whatever the password.
#[derive(Debug, thiserror::Error)]
pub enum NotSignedIn {
    /// Too many attempts were made; the next may be made after so long.
    #[error("too many attempts to sign in were made")]
    Throttled(Duration),
    /// The password cannot be compared now.
    #[error(transparent)]
    NotHashed(#[from] NotHashed),
    /// Who there is cannot be known now.
    #[error(transparent)]
    NotKnown(#[from] NotValid),
    /// It cannot be written down.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The link is not good.
    #[error(transparent)]
    NotSetUp(#[from] NotSetUp),
}

impl People {
    /// Whether name and password are somebody's. Names that nobody has take as long as wrong
    /// passwords.
    ///
    /// # Errors
    /// See [`NotSignedIn`].
    pub async fn sign_in(&self, attempt: Attempt) -> Result<Outcome, NotSignedIn> {
        let Attempt {
            name,
            password,
            from,
            now,
        } = attempt;
        let throttled = self.0.attempts.attempt(&name, from, now);
        throttled.map_err(NotSignedIn::Throttled)?;
        let owner = self.owner(&name).await?;
        let (person, kept) = owner.map(|it| (it.person, it.password_hash)).unzip();
        let is = self.0.hasher.is(password, kept.flatten()).await?;
        match person {
            Some(person) if is => {
                self.0.attempts.succeeded(&name, from, now);
                Ok(Outcome::Is(person))
            }
            person => Ok(Outcome::IsNot(person)),
        }
    }

    /// Whether the set-up link with this key is good at `now`.
    ///
    /// # Errors
    /// It is not, or the database does not answer.
    pub async fn check_set_up(&self, key: &str, now: Timestamp) -> Result<(), NotSignedIn> {
        let set_up = self.0.set_up.ok_or(NotSetUp::Unknown)?;
        set_up.check(key, now)?;
        if self.0.store.had_accounts().await? {
            return Err(NotSetUp::Void.into());
        }
        Ok(())
    }

    /// Makes the first admin by the set-up link with this key.
    ///
    /// # Errors
    /// See [`NotSignedIn`].
    pub async fn set_up(
        &self,
        key: &str,
        name: String,
        password: Password,
        now: Timestamp,
        client: Option<IpAddr>,
    ) -> Result<Person, NotSignedIn> {
        self.check_set_up(key, now).await?;
        let hash = self.0.hasher.hash(password).await?;
        let account = person::draft(name, Role::Admin, Some(hash), now.as_millisecond());
        let by = By {
            client,
            ..By::actor(Actor::anyone()).because("by the set-up link")
        };
        if !self.0.store.add_first_account(&account, &by).await? {
            return Err(NotSetUp::Void.into());
        }
        self.0.look_since(Instant::now()).await;
        let owner = self.0.known()?.people.get(&account.id).cloned();
        owner
            .map(|it| it.person)
            .ok_or_else(|| NotValid::Unreadable.into())
    }

    /// Gives somebody another password, and ends all their sessions; who they are since.
    ///
    /// # Errors
    /// See [`NotSignedIn`]; [`NotSignedIn::NotKnown`]: their account has gone meanwhile.
    pub async fn change_password(
        &self,
        person: &Person,
        password: Password,
        now: Timestamp,
        by: &By,
    ) -> Result<Person, NotSignedIn> {
        let hash = self.0.hasher.hash(password).await?;
        let (change, now_ms) = (AccountChange::Password(&hash), now.as_millisecond());
        self.0
            .store
            .change_account(&person.id, change, now_ms, by)
            .await?;
        self.0.look_since(Instant::now()).await;
        let owner = self.0.known()?.people.get(&person.id).cloned();
        owner
            .map(|it| it.person)
            .ok_or_else(|| NotValid::Revoked.into())
    }

    /// Who is called `name`, as of now: for known and unknown names alike the database is asked.
    async fn owner(&self, name: &str) -> Result<Option<Owner>, NotValid> {
        self.0.look_since(Instant::now()).await;
        let known = self.0.known()?;
        let mut people = known.people.values();
        let owner = people.find(|it| it.person.name.eq_ignore_ascii_case(name));
        Ok(owner.cloned())
    }
}

impl AuthUser for Person {
    type Id = String;

    fn id(&self) -> String {
        self.id.clone()
    }

    fn session_auth_hash(&self) -> &[u8] {
        &self.stamp
    }
}

impl AuthnBackend for People {
    type User = Person;
    type Credentials = Attempt;
    type Error = NotSignedIn;

    async fn authenticate(&self, attempt: Attempt) -> Result<Option<Person>, NotSignedIn> {
        match self.sign_in(attempt).await? {
            Outcome::Is(person) => Ok(Some(person)),
            Outcome::IsNot(_) => Ok(None),
        }
    }

    async fn get_user(&self, id: &UserId<Self>) -> Result<Option<Person>, NotSignedIn> {
        Ok(self.0.known()?.people.get(id).map(|it| it.person.clone()))
    }
}

/// Only sessions in which somebody is signed in are kept: strangers write nothing. When they
/// end is decided here, not by the record's own date.
#[async_trait::async_trait]
impl SessionStore for People {
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        let user = record
            .data
            .get(DATA_KEY)
            .and_then(|data| data[USER_ID].as_str());
        let account = user
            .ok_or_else(|| failed("nobody is signed in"))?
            .to_owned();
        let now_ms = Timestamp::now().as_millisecond();
        let session = StoredSession {
            id_sha256: SessionHash::of(record.id).bytes().to_vec(),
            handle: format!("{:016x}", rand::random::<u64>()),
            account,
            signed_in_at_ms: now_ms,
            seen_at_ms: now_ms,
        };
        let data = data(record)?;
        let kept = self
            .0
            .store
            .add_session(&session, &data, SESSIONS_PER_ACCOUNT_MAX);
        kept.await.map_err(failed)?;
        self.0.look_since(Instant::now()).await;
        Ok(())
    }

    async fn save(&self, record: &Record) -> session_store::Result<()> {
        let (hash, data) = (SessionHash::of(record.id), data(record)?);
        let kept = self.0.store.keep_session_data(hash.bytes(), &data);
        kept.await.map_err(failed)
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        let session = self.session(*id, Timestamp::now()).map_err(failed)?;
        if session.is_none() {
            return Ok(None);
        }
        let kept = self
            .0
            .store
            .session_data(SessionHash::of(*id).bytes())
            .await;
        let Some(data) = kept.map_err(failed)? else {
            return Ok(None);
        };
        Ok(Some(Record {
            id: *id,
            data: serde_json::from_str(&data).map_err(failed)?,
            expiry_date: OffsetDateTime::UNIX_EPOCH,
        }))
    }

    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        let hash = SessionHash::of(*id);
        if !self.0.known.load().sessions.contains_key(&hash) {
            return Ok(());
        }
        self.0
            .store
            .end_session(hash.bytes())
            .await
            .map_err(failed)?;
        self.0.look_since(Instant::now()).await;
        Ok(())
    }
}

fn data(record: &Record) -> session_store::Result<String> {
    serde_json::to_string(&record.data).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> session_store::Error {
    session_store::Error::Backend(error.to_string())
}
