use super::*;
use crate::access::{Role, Scope, TokenSecret};
use crate::audit::By;

const NOW_MS: i64 = 1_000_000;

/// One of each.
pub(crate) const BOUNDS: PerToken = PerToken {
    waiters: 1,
    permits: 1,
    streams: 1,
    users: 1,
};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

/// A valid token with these rights.
pub(crate) fn token(rights: Rights) -> Arc<Token> {
    let stored = StoredToken {
        rights: serde_json::to_string(&rights).unwrap(),
        ..stored(&TokenSecret::random(), "t", None)
    };
    Arc::new(Token::read(stored, BOUNDS).unwrap().1)
}

/// A valid token that may do little.
pub(crate) fn plain_token() -> Arc<Token> {
    let stored = stored(&TokenSecret::random(), "t", None);
    Arc::new(Token::read(stored, BOUNDS).unwrap().1)
}

fn stored(secret: &TokenSecret, name: &str, expires_at_ms: Option<i64>) -> StoredToken {
    let rights = Rights {
        role: Role::Member,
        scopes: [Scope::Gateway].into(),
        upstreams: [].into(),
        apps: [].into(),
        sites: [].into(),
        lane: None,
        act_for_users: false,
    };
    StoredToken {
        id: format!("{:016x}", rand::random::<u64>()),
        name: name.to_owned(),
        secret_sha256: secret.hash().to_vec(),
        rights: serde_json::to_string(&rights).unwrap(),
        created_at_ms: NOW_MS,
        expires_at_ms,
        last_used_at_ms: None,
    }
}

struct Fixture {
    store: Store,
    tokens: Tokens,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/spillway.db", dir.path().display());
        let store = Store::open(&url).await.unwrap();
        let tokens = Tokens::load(store.clone(), BOUNDS).await.unwrap();
        Self {
            store,
            tokens,
            _dir: dir,
        }
    }

    async fn add(&self, name: &str, expires_at_ms: Option<i64>) -> TokenSecret {
        let secret = TokenSecret::random();
        let token = stored(&secret, name, expires_at_ms);
        self.store
            .add_token(&token, VALID_MAX, &By::system("a test"))
            .await
            .unwrap();
        secret
    }

    async fn find(&self, secret: &TokenSecret, now_ms: i64) -> Result<String, NotValid> {
        let found = self
            .tokens
            .find(secret.reveal().as_bytes(), at(now_ms))
            .await;
        found.map(|token| token.name.clone())
    }
}

#[tokio::test]
async fn a_token_counts_from_its_making_until_it_expires() {
    let fixture = Fixture::new().await;
    let secret = fixture.add("a", Some(NOW_MS + 10)).await;
    assert_eq!(fixture.find(&secret, NOW_MS + 9).await.as_deref(), Ok("a"));
    let expired = NotValid::Expired(at(NOW_MS + 10));
    assert_eq!(fixture.find(&secret, NOW_MS + 10).await, Err(expired));
    let other = TokenSecret::random();
    assert_eq!(fixture.find(&other, NOW_MS).await, Err(NotValid::Unknown));
}

#[tokio::test]
async fn a_revocation_by_another_takes_hold_at_the_next_look() {
    let fixture = Fixture::new().await;
    let (secret, stays) = (fixture.add("a", None).await, fixture.add("b", None).await);
    let held = fixture
        .tokens
        .find(secret.reveal().as_bytes(), at(NOW_MS))
        .await
        .unwrap();
    assert_eq!(held.validity.check(at(NOW_MS)), Ok(()));
    fixture
        .store
        .revoke_token("a", NOW_MS, &By::system("a test"))
        .await
        .unwrap()
        .unwrap();
    fixture.tokens.0.look_since(Instant::now()).await;
    assert_eq!(fixture.find(&secret, NOW_MS).await, Err(NotValid::Unknown));
    let what_lasts = held.validity.check(at(NOW_MS));
    assert_eq!(what_lasts, Err(NotValid::Revoked));
    assert_eq!(fixture.find(&stays, NOW_MS).await.as_deref(), Ok("b"));
}

#[tokio::test]
async fn strangers_ask_the_database_together() {
    let fixture = Fixture::new().await;
    let begun = Instant::now();
    let mut strangers = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let tokens = fixture.tokens.clone();
        strangers.spawn(async move {
            let secret = TokenSecret::random();
            tokens
                .find(secret.reveal().as_bytes(), at(NOW_MS))
                .await
                .map(drop)
        });
    }
    while let Some(found) = strangers.join_next().await {
        assert_eq!(found.unwrap(), Err(NotValid::Unknown));
    }
    // Alone each would have waited its turn: 1,000 × 50 ms.
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_use_is_written_down_at_most_once_a_minute() {
    let fixture = Fixture::new().await;
    let secret = fixture.add("a", None).await;
    for (used_ms, noted_ms) in [
        (NOW_MS, NOW_MS),
        (NOW_MS + 59_999, NOW_MS),
        (NOW_MS + 60_000, NOW_MS + 60_000),
        (NOW_MS + 61_000, NOW_MS + 60_000),
    ] {
        fixture.find(&secret, used_ms).await.unwrap();
        fixture.tokens.0.note_uses().await;
        let kept = fixture.store.tokens().await.unwrap();
        assert_eq!(kept[0].last_used_at_ms, Some(noted_ms), "{used_ms}");
    }
}

#[tokio::test]
async fn tokens_of_an_unreadable_database_count_for_30_s_and_no_longer() {
    let fixture = Fixture::new().await;
    let secret = fixture.add("a", None).await;
    fixture.find(&secret, NOW_MS).await.unwrap();
    fixture.store.close().await;
    fixture.tokens.0.look_since(Instant::now()).await;
    assert!(fixture.find(&secret, NOW_MS).await.is_ok());
    let known = fixture.tokens.0.known.load_full();
    let held = Arc::clone(known.tokens().next().unwrap());
    fixture.tokens.0.known.store(Arc::new(Known {
        by_hash: known.by_hash.clone(),
        version: known.version,
        confirmed: Instant::now() - UNREADABLE_MAX - Duration::from_millis(1),
    }));
    assert_eq!(
        fixture.find(&secret, NOW_MS).await,
        Err(NotValid::Unreadable)
    );
    assert_eq!(held.validity.check(at(NOW_MS)), Ok(()));
    fixture.tokens.0.look_since(Instant::now()).await;
    let what_lasts = held.validity.check(at(NOW_MS));
    assert_eq!(what_lasts, Err(NotValid::Unreadable), "it learns of it");
}

#[tokio::test]
async fn a_damaged_token_lets_nobody_in_and_others_stay() {
    let fixture = Fixture::new().await;
    let (secret, other) = (TokenSecret::random(), fixture.add("b", None).await);
    let damaged = StoredToken {
        rights: "{}".into(),
        ..stored(&secret, "a", None)
    };
    fixture
        .store
        .add_token(&damaged, VALID_MAX, &By::system("a test"))
        .await
        .unwrap();
    assert_eq!(fixture.find(&secret, NOW_MS).await, Err(NotValid::Unknown));
    assert!(fixture.find(&other, NOW_MS).await.is_ok());
}
