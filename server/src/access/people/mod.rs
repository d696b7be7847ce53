//! The people who have an account, and the sessions in which they are signed in, in memory:
//! who asks costs a look at the database only where a session is known, whatever strangers send.
//!
//! As with [`tokens`](super::tokens), others change them in the same database (the command line
//! does): it is asked each [`RELOAD_EVERY`] whether they did, so that the end of a session
//! takes hold within a second. What this process changes itself takes hold at once.

mod manage;
mod session;
mod sign_in;

use std::{collections::HashMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::Mutex,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

pub use manage::Listed;
pub use session::{IDLE, LASTS, Session};
pub use sign_in::{Attempt, NotSignedIn, Outcome};

use super::{Hasher, NotValid, Person, set_up::SetUp, throttle::Throttle};
use crate::{
    config::PerToken,
    store::{self, PeopleVersion, Store, StoredAccount, StoredSession},
};
use session::SessionHash;

/// How often the database is asked whether people or sessions changed.
pub const RELOAD_EVERY: Duration = Duration::from_millis(500);

/// How many sessions one account may have; the one that was not used for longest makes way.
pub const SESSIONS_PER_ACCOUNT_MAX: u32 = 20;

/// How soon the database may be asked again, whoever wants to know.
const RELOAD_SPACING: Duration = Duration::from_millis(50);

/// For how long sessions count as valid while the database does not answer.
const UNREADABLE_MAX: Duration = Duration::from_secs(30);

/// How often sessions whose time is over are removed, and how long after it: their last use
/// is written down late.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// The people and their sessions. Clones share them.
#[derive(Clone, Debug)]
pub struct People(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    /// How much each session may take.
    bounds: PerToken,
    hasher: Hasher,
    attempts: Throttle,
    set_up: Option<SetUp>,
    known: ArcSwap<Known>,
    /// When the last look at the database began.
    looked: Mutex<Instant>,
}

#[derive(Debug)]
struct Known {
    /// By the account's id.
    people: HashMap<String, Owner>,
    sessions: HashMap<SessionHash, Arc<Session>>,
    version: Option<PeopleVersion>,
    /// When the database last said that they are all.
    confirmed: Instant,
}

/// Somebody, and what their password is compared with.
#[derive(Clone)]
struct Owner {
    person: Person,
    password_hash: Option<String>,
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.person.fmt(f)
    }
}

impl People {
    /// Those of `store`, each session of which may take as much as `bounds` say. `set_up`
    /// lets the first of them be made.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn load(
        store: Store,
        bounds: PerToken,
        set_up: Option<SetUp>,
    ) -> Result<Self, store::Error> {
        let now = Instant::now();
        let nobody = Known {
            people: HashMap::new(),
            sessions: HashMap::new(),
            version: None,
            confirmed: now,
        };
        let people = Self(Arc::new(Inner {
            store,
            bounds,
            hasher: Hasher::default(),
            attempts: Throttle::default(),
            set_up,
            known: ArcSwap::from_pointee(nobody),
            looked: Mutex::new(now),
        }));
        people.0.look(now).await?;
        Ok(people)
    }

    /// The session whose cookie holds this, at `now`; notes that it was used.
    pub fn session(
        &self,
        id: tower_sessions::session::Id,
        now: Timestamp,
    ) -> Result<Option<Arc<Session>>, NotValid> {
        let session = self.0.known()?.sessions.get(&SessionHash::of(id)).cloned();
        let session = session.filter(|it| it.validity.check(now).is_ok() && !it.is_idle(now));
        Ok(session.inspect(|session| session.see(now)))
    }

    /// The sessions that somebody has, in no order.
    ///
    /// # Errors
    /// They cannot be known now.
    pub fn sessions_of(&self, person: &Person) -> Result<Vec<Arc<Session>>, NotValid> {
        let known = self.0.known()?;
        let own = known.sessions.values().filter(|it| it.person == *person);
        Ok(own.cloned().collect())
    }

    /// Ends somebody's session of this handle; whether there was one.
    ///
    /// # Errors
    /// It cannot be written down.
    pub async fn end(&self, person: &Person, handle: &str) -> Result<bool, store::Error> {
        let ended = self.0.store.end_session_of(&person.id, handle).await?;
        self.0.look_since(Instant::now()).await;
        Ok(ended)
    }

    /// Whether the database has said nothing for so long that nobody can be known.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.0.known().is_err()
    }

    /// Notices what others do to people and sessions, writes down uses, and ends what is over,
    /// for ever.
    pub async fn keep(self) {
        let mut every = interval(RELOAD_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut swept: Option<Instant> = None;
        loop {
            every.tick().await;
            self.0.look_since(Instant::now()).await;
            self.0.note_seen(Timestamp::now()).await;
            if swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY) {
                swept = Some(Instant::now());
                self.0.sweep(Timestamp::now()).await;
            }
        }
    }
}

impl Inner {
    fn known(&self) -> Result<Arc<Known>, NotValid> {
        let known = self.known.load_full();
        if known.is_stale() {
            return Err(NotValid::Unreadable);
        }
        Ok(known)
    }

    /// Looks at the database, unless somebody has since `asked`.
    async fn look_since(&self, asked: Instant) {
        let mut looked = self.looked.lock().await;
        if *looked > asked {
            return;
        }
        sleep_until(*looked + RELOAD_SPACING).await;
        *looked = Instant::now();
        if let Err(error) = self.look(*looked).await {
            let error = &error as &dyn std::error::Error;
            let known = "accounts and sessions cannot be read; those known stay valid for 30 s";
            tracing::warn!(error, "{known}");
            let known = self.known.load_full();
            if known.is_stale() {
                known.sessions.values().for_each(|it| it.validity.lose());
            }
        }
    }

    async fn look(&self, now: Instant) -> Result<(), store::Error> {
        let version = self.store.people_version().await?;
        let known = self.known.load_full();
        let (people, sessions) = if known.version == Some(version) {
            (known.people.clone(), known.sessions.clone())
        } else {
            // What comes in between is seen at the next look, which finds another version.
            let people = owners(self.store.accounts().await?);
            let sessions = known.with(self.store.sessions().await?, &people, self.bounds);
            (people, sessions)
        };
        if known.is_stale() {
            sessions.values().for_each(|it| it.validity.regain());
        }
        self.known.store(Arc::new(Known {
            people,
            sessions,
            version: Some(version),
            confirmed: now,
        }));
        Ok(())
    }

    /// Writes down which sessions were used; one with an open stream is.
    async fn note_seen(&self, now: Timestamp) {
        for session in self.known.load_full().sessions.values() {
            if session.account.has_streams() {
                session.see(now);
            }
            let Some(seen) = session.seen_to_note() else {
                continue;
            };
            match self.store.note_session_seen(&session.handle, seen).await {
                Ok(()) => session.noted(seen),
                // It is tried again; `look_since` has said that the database is in trouble.
                Err(_) => return,
            }
        }
    }

    async fn sweep(&self, now: Timestamp) {
        let before = |length: SignedDuration| {
            let length = length.saturating_add(SWEEP_AFTER);
            now.checked_sub(length)
                .map(Timestamp::as_millisecond)
                .unwrap_or(i64::MIN)
        };
        let swept = self
            .store
            .end_old_sessions(before(LASTS), before(IDLE))
            .await;
        if let Err(error) = swept {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "sessions whose time is over cannot be removed; they let nobody in"
            );
        }
    }
}

impl Known {
    /// Whether the database has said nothing for so long that an end may have been missed.
    fn is_stale(&self) -> bool {
        self.confirmed.elapsed() > UNREADABLE_MAX
    }

    /// The sessions that are in the database now; those that stay keep what is known of their
    /// use, the others end.
    fn with(
        &self,
        stored: Vec<StoredSession>,
        people: &HashMap<String, Owner>,
        bounds: PerToken,
    ) -> HashMap<SessionHash, Arc<Session>> {
        let mut sessions = HashMap::with_capacity(stored.len());
        for stored in stored {
            let Some(owner) = people.get(&stored.account) else {
                continue;
            };
            let Some(hash) = SessionHash::kept(&stored.id_sha256) else {
                continue;
            };
            let kept = self
                .sessions
                .get(&hash)
                .filter(|it| it.person == owner.person);
            let session = kept
                .cloned()
                .or_else(|| Session::read(&stored, &owner.person, bounds).map(Arc::new));
            sessions.extend(session.map(|session| (hash, session)));
        }
        for (hash, session) in &self.sessions {
            let stays = sessions
                .get(hash)
                .is_some_and(|it| Arc::ptr_eq(it, session));
            if !stays {
                session.validity.revoke();
            }
        }
        sessions
    }
}

fn owners(accounts: Vec<StoredAccount>) -> HashMap<String, Owner> {
    let mut owners = HashMap::with_capacity(accounts.len());
    for account in accounts {
        let Some(person) = Person::of(&account) else {
            let account = account.id;
            tracing::error!(
                account,
                "an account in the database is damaged: it lets nobody in"
            );
            continue;
        };
        // No password lets anybody in for now.
        let is_enabled = account.disabled_at_ms.is_none();
        let password_hash = account.password_hash.filter(|_| is_enabled);
        owners.insert(
            account.id,
            Owner {
                person,
                password_hash,
            },
        );
    }
    owners
}

#[cfg(test)]
mod tests;
