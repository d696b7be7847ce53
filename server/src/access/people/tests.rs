use std::net::IpAddr;

use futures_util::FutureExt as _;
use tower_sessions::{
    SessionStore as _,
    session::{Id, Record},
};

use super::*;
use crate::{
    access::{
        Role,
        password::Password,
        person,
        set_up::{NotSetUp, SetUp},
    },
    audit::By,
    store::AccountChange,
};

const PASSWORD: &str = "correct horse battery";

const BOUNDS: PerToken = PerToken {
    waiters: 1,
    permits: 1,
    streams: 1,
    users: 1,
};

fn by() -> By {
    By::system("a test")
}

struct Fixture {
    people: People,
    store: Store,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// A database with the viewer `ada` and the admin `bob`.
    async fn new() -> Self {
        let fixture = Self::empty(None).await;
        let hasher = Hasher::default();
        let hash = hasher
            .hash(Password::offered(PASSWORD.to_owned()))
            .await
            .unwrap();
        for (name, role) in [("ada", Role::Viewer), ("bob", Role::Admin)] {
            let account = person::draft(name.to_owned(), role, Some(hash.clone()), 0);
            fixture.store.add_account(&account, 9, &by()).await.unwrap();
        }
        fixture.people.0.look_since(Instant::now()).await;
        fixture
    }

    async fn empty(set_up: Option<SetUp>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("spillway.db").display());
        let store = Store::open(&url).await.unwrap();
        let people = People::load(store.clone(), BOUNDS, set_up).await.unwrap();
        Self {
            people,
            store,
            _dir: dir,
        }
    }

    async fn sign_in(&self, name: &str, password: &str) -> Result<Outcome, NotSignedIn> {
        let attempt = Attempt {
            name: name.to_owned(),
            password: Password::offered(password.to_owned()),
            from: IpAddr::from([192, 0, 2, 1]),
            now: at(0),
        };
        self.people.sign_in(attempt).await
    }

    /// A session of this account, as the library makes one.
    async fn session_of(&self, name: &str) -> (Id, Arc<Session>) {
        let known = self.people.0.known().unwrap();
        let owner = known
            .people
            .values()
            .find(|it| it.person.name == name)
            .unwrap();
        let data = serde_json::json!({ "user_id": owner.person.id, "auth_hash": [] });
        let mut record = Record {
            id: Id::default(),
            data: [("axum-login.data".to_owned(), data)].into(),
            expiry_date: time::OffsetDateTime::UNIX_EPOCH,
        };
        self.people.create(&mut record).await.unwrap();
        let session = self.people.session(record.id, Timestamp::now()).unwrap();
        (record.id, session.unwrap())
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

#[tokio::test]
async fn only_the_right_password_of_a_name_lets_in() {
    let fixture = Fixture::new().await;
    let Outcome::Is(ada) = fixture.sign_in("ADA", PASSWORD).await.unwrap() else {
        panic!("it is hers");
    };
    assert_eq!((ada.name.as_str(), ada.role), ("ada", Role::Viewer));
    let wrong = fixture
        .sign_in("ada", "correct horse batter")
        .await
        .unwrap();
    assert_eq!(wrong, Outcome::IsNot(Some(ada)));
    for name in ["", "eve", "ada ", "%"] {
        let nobody = fixture.sign_in(name, PASSWORD).await.unwrap();
        assert_eq!(nobody, Outcome::IsNot(None), "{name}");
    }
}

#[tokio::test]
async fn attempts_are_throttled_for_names_that_nobody_has_likewise() {
    let fixture = Fixture::new().await;
    for name in ["ada", "nobody"] {
        for _ in 0..10 {
            let tried = fixture.sign_in(name, "wrong").await.unwrap();
            assert!(matches!(tried, Outcome::IsNot(_)));
        }
        for password in ["wrong", PASSWORD] {
            let refused = fixture.sign_in(name, password).await;
            let Err(NotSignedIn::Throttled(wait)) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(wait, Duration::from_secs(30));
        }
    }
}

#[tokio::test]
async fn a_session_ends_by_idleness_and_by_age_and_an_open_page_keeps_it() {
    let fixture = Fixture::new().await;
    let (id, session) = fixture.session_of("ada").await;
    let begun = session.signed_in_at;
    let after = |length: SignedDuration| begun.checked_add(length).unwrap();
    let known = |now| fixture.people.session(id, now).unwrap().is_some();
    let short = SignedDuration::from_millis(1);
    // Each use counts anew, until the day is over.
    assert!(known(after(IDLE - short)));
    assert!(known(after(IDLE + IDLE - short * 3)));
    assert!(!known(after(IDLE + IDLE + IDLE)));
    let stream = session.account.stream().unwrap();
    let mut now = after(IDLE);
    while now < after(LASTS - IDLE) {
        now = now.checked_add(IDLE - short).unwrap();
        fixture.people.0.note_seen(now).await;
    }
    assert!(known(now));
    drop(stream);
    fixture.people.0.note_seen(after(LASTS - short)).await;
    assert!(known(after(LASTS - IDLE + short)));
    assert!(!known(after(LASTS)));
}

#[tokio::test]
async fn what_is_over_is_removed_and_what_was_used_is_written_down() {
    let fixture = Fixture::new().await;
    let (id, session) = fixture.session_of("ada").await;
    let begun = session.signed_in_at;
    let soon = begun.checked_add(SignedDuration::from_mins(30)).unwrap();
    assert!(fixture.people.session(id, soon).unwrap().is_some());
    fixture.people.0.note_seen(soon).await;
    let stored = fixture.store.sessions().await.unwrap();
    assert_eq!(stored[0].seen_at_ms, soon.as_millisecond());
    let late = soon.checked_add(IDLE + SWEEP_AFTER).unwrap();
    fixture
        .people
        .0
        .sweep(late.checked_sub(SignedDuration::from_millis(1)).unwrap())
        .await;
    assert_eq!(fixture.store.sessions().await.unwrap().len(), 1);
    fixture.people.0.sweep(late).await;
    assert_eq!(fixture.store.sessions().await.unwrap(), []);
}

#[tokio::test]
async fn whatever_changes_an_account_ends_its_sessions_and_wakes_who_waits() {
    for change in [
        AccountChange::Password("other"),
        AccountChange::Role("operator"),
        AccountChange::Remove,
    ] {
        let fixture = Fixture::new().await;
        let (id, session) = fixture.session_of("ada").await;
        let (other, others) = fixture.session_of("bob").await;
        let mut ended = Box::pin(session.validity.ended(Timestamp::now));
        assert_eq!(ended.as_mut().now_or_never(), None);
        fixture
            .store
            .change_account("ada", change, 1, &by())
            .await
            .unwrap()
            .unwrap();
        fixture.people.0.look_since(Instant::now()).await;
        assert_eq!(ended.now_or_never(), Some(NotValid::Revoked), "{change:?}");
        let now = Timestamp::now();
        assert!(
            fixture.people.session(id, now).unwrap().is_none(),
            "{change:?}"
        );
        assert!(fixture.people.load(&id).await.unwrap().is_none());
        assert!(fixture.people.session(other, now).unwrap().is_some());
        assert_eq!(others.validity.check(now), Ok(()));
    }
}

#[tokio::test]
async fn an_ended_session_is_not_written_again_and_strangers_write_none() {
    let fixture = Fixture::new().await;
    let (id, session) = fixture.session_of("ada").await;
    let record = fixture.people.load(&id).await.unwrap().unwrap();
    assert_eq!(record.data["axum-login.data"]["user_id"], session.person.id);
    fixture.people.delete(&id).await.unwrap();
    assert_eq!(
        session.validity.check(Timestamp::now()),
        Err(NotValid::Revoked)
    );
    fixture.people.save(&record).await.unwrap();
    assert_eq!(fixture.store.sessions().await.unwrap(), []);
    let mut stranger = Record {
        data: [].into(),
        ..record
    };
    assert!(fixture.people.create(&mut stranger).await.is_err());
    assert_eq!(fixture.store.sessions().await.unwrap(), []);
}

#[tokio::test]
async fn an_account_has_so_many_sessions_and_a_restart_keeps_them() {
    let fixture = Fixture::new().await;
    let mut sessions = Vec::new();
    for _ in 0..=SESSIONS_PER_ACCOUNT_MAX {
        sessions.push(fixture.session_of("ada").await);
    }
    let restarted = People::load(fixture.store.clone(), BOUNDS, None)
        .await
        .unwrap();
    let now = Timestamp::now();
    let left = sessions
        .iter()
        .filter(|(id, _)| restarted.session(*id, now).unwrap().is_some());
    assert_eq!(left.count(), SESSIONS_PER_ACCOUNT_MAX as usize);
    let revoked = sessions
        .iter()
        .filter(|(_, it)| it.validity.check(now).is_err());
    assert_eq!(revoked.count(), 1);
}

#[tokio::test]
async fn a_set_up_link_makes_one_admin() {
    let (set_up, key) = SetUp::begin(at(0));
    let fixture = Fixture::empty(Some(set_up)).await;
    let make = |name: &str, key: &str, now| {
        let password = Password::offered(PASSWORD.to_owned());
        let (name, key, people) = (name.to_owned(), key.to_owned(), fixture.people.clone());
        async move { people.set_up(&key, name, password, now, None).await }
    };
    let unknown = make("eve", "0", at(1)).await;
    assert!(matches!(
        unknown,
        Err(NotSignedIn::NotSetUp(NotSetUp::Unknown))
    ));
    let late = make("ada", key.reveal(), at(30 * 60_000)).await;
    assert!(matches!(
        late,
        Err(NotSignedIn::NotSetUp(NotSetUp::Expired))
    ));
    let both = tokio::join!(
        make("ada", key.reveal(), at(1)),
        make("eve", key.reveal(), at(1))
    );
    assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
    let void = make("eve", key.reveal(), at(2)).await;
    assert!(matches!(void, Err(NotSignedIn::NotSetUp(NotSetUp::Void))));
    let accounts = fixture.store.accounts().await.unwrap();
    assert_eq!((accounts.len(), accounts[0].role.as_str()), (1, "admin"));
}

#[tokio::test]
async fn while_the_database_is_gone_sessions_stay_for_30_seconds() {
    let fixture = Fixture::new().await;
    let (id, session) = fixture.session_of("ada").await;
    fixture.store.close().await;
    fixture.people.0.look_since(Instant::now()).await;
    let now = Timestamp::now();
    assert!(fixture.people.session(id, now).unwrap().is_some());
    let known = fixture.people.0.known.load_full();
    fixture.people.0.known.store(Arc::new(Known {
        people: known.people.clone(),
        sessions: known.sessions.clone(),
        version: known.version,
        confirmed: Instant::now() - UNREADABLE_MAX - Duration::from_millis(1),
    }));
    assert!(fixture.people.is_unreadable());
    assert!(fixture.people.session(id, now).is_err());
    assert_eq!(session.validity.check(now), Ok(()));
    fixture.people.0.look_since(Instant::now()).await;
    let what_lasts = session.validity.check(now);
    assert_eq!(what_lasts, Err(NotValid::Unreadable), "it learns of it");
}
