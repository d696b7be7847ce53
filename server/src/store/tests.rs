use super::*;
use crate::audit::By;

mod people;

pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) url: String,
    pub(super) _dir: tempfile::TempDir,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("spillway.db").display());
        Self {
            store: Store::open(&url).await.unwrap(),
            url,
            _dir: dir,
        }
    }

    pub(super) async fn reopened(self) -> Self {
        self.store.close().await;
        Self {
            store: Store::open(&self.url).await.unwrap(),
            ..self
        }
    }
}

fn by() -> By {
    By::system("a test")
}

fn token(id: u8, name: &str, expires_at_ms: Option<i64>) -> StoredToken {
    StoredToken {
        id: format!("{id:016x}"),
        name: name.to_owned(),
        secret_sha256: vec![id; 32],
        rights: "{}".to_owned(),
        created_at_ms: 100,
        expires_at_ms,
        last_used_at_ms: None,
    }
}

#[tokio::test]
async fn an_identity_is_made_once_and_the_first_service_is_remembered() {
    let fixture = Fixture::new().await;
    let fresh = fixture.store.instance().await.unwrap();
    assert_eq!(fresh.id.len(), 32);
    assert!(!fresh.served);
    fixture.store.mark_served(5).await.unwrap();
    fixture.store.mark_served(9).await.unwrap();

    let fixture = fixture.reopened().await;
    let again = fixture.store.instance().await.unwrap();
    assert_eq!(
        again,
        Instance {
            served: true,
            ..fresh
        }
    );
    let at: i64 = sqlx::query_scalar("SELECT served_at_ms FROM instance")
        .fetch_one(&fixture.store.pool)
        .await
        .unwrap();
    assert_eq!(at, 5, "the first note stays");
}

#[tokio::test]
async fn tokens_are_kept_listed_and_revoked_by_name_or_id() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    let (first, second) = (token(1, "first", None), token(2, "second", Some(500)));
    let empty = store.tokens_version().await.unwrap();
    for token in [&first, &second] {
        store.add_token(token, 10, &by()).await.unwrap();
    }
    assert_eq!(
        store.tokens().await.unwrap(),
        [first.clone(), second.clone()]
    );
    let both = store.tokens_version().await.unwrap();
    assert_ne!(both, empty);

    store.note_token_use(&first.id, 200).await.unwrap();
    assert_eq!(
        store.tokens_version().await.unwrap(),
        both,
        "a use changes nothing"
    );
    assert_eq!(store.tokens().await.unwrap()[0].last_used_at_ms, Some(200));

    let revoked = store
        .revoke_token("first", 300, &by())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(revoked.id, first.id);
    assert_eq!(store.revoke_token("first", 301, &by()).await.unwrap(), None);
    let revoked = store
        .revoke_token(&second.id, 300, &by())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(revoked.id, second.id);
    assert_eq!(store.tokens().await.unwrap(), []);
    assert_ne!(store.tokens_version().await.unwrap(), both);
}

#[tokio::test]
async fn a_name_is_one_valid_token_s_and_their_number_is_bounded() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store
        .add_token(&token(1, "a", Some(50)), 2, &by())
        .await
        .unwrap();
    // It had expired when the next was made, and is in nobody's way.
    store
        .add_token(&token(2, "a", None), 2, &by())
        .await
        .unwrap();
    let taken = store.add_token(&token(3, "a", None), 2, &by()).await;
    assert!(matches!(taken, Err(Error::NameTaken)), "{taken:?}");
    store
        .add_token(&token(4, "b", None), 2, &by())
        .await
        .unwrap();
    let many = store.add_token(&token(5, "c", None), 2, &by()).await;
    assert!(matches!(many, Err(Error::TooMany(2))), "{many:?}");
    store.revoke_token("a", 200, &by()).await.unwrap().unwrap();
    store
        .add_token(&token(6, "a", None), 2, &by())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_a_token_may_never_changes_and_a_revocation_is_final() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store
        .add_token(&token(1, "a", None), 2, &by())
        .await
        .unwrap();
    store.revoke_token("a", 200, &by()).await.unwrap().unwrap();
    for (statement, why) in [
        ("UPDATE tokens SET rights = ''", "never changes"),
        (
            "UPDATE tokens SET secret_sha256 = zeroblob(32)",
            "never changes",
        ),
        ("UPDATE tokens SET expires_at_ms = NULL", "never changes"),
        ("UPDATE tokens SET revoked_at_ms = NULL", "is final"),
        ("DELETE FROM tokens", "not deleted"),
    ] {
        let error = sqlx::query(statement)
            .execute(&store.pool)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{statement}: {error}");
    }
}

#[tokio::test]
async fn what_cannot_be_a_database_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text");
    std::fs::write(
        &text,
        "this is not a database, and it is long enough to be read as one".repeat(20),
    )
    .unwrap();
    let missing = dir.path().join("missing/spillway.db");
    for (path, reason) in [
        (dir.path(), "is a directory"),
        (&text, "file is not a database"),
        (&missing, "No such file or directory"),
    ] {
        let error = Store::open(&format!("sqlite://{}", path.display()))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), format!("cannot open {}", path.display()));
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.to_string().starts_with(reason), "{source}");
        assert!(source.source().is_none(), "nothing is said twice");
    }
}

#[tokio::test]
async fn its_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new().await;
    fixture.store.mark_served(1).await.unwrap();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(fixture._dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{entry:?}");
        names.push(entry.file_name());
    }
    assert!(names.len() >= 2, "the write-ahead log is there: {names:?}");
}

#[test]
fn only_an_address_that_allows_it_makes_a_database() {
    for (url, makes) in [
        ("sqlite://a.db", true),
        ("sqlite://mode=ro/a.db", true),
        ("sqlite://a.db?mode=rwc", true),
        ("sqlite://a.db?mode=rw", false),
        ("sqlite://a.db?cache=private&mode=ro", false),
    ] {
        assert_eq!(may_make(url), makes, "{url}");
    }
}

#[tokio::test]
async fn a_database_that_can_only_be_read_is_refused_at_once() {
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    let error = Store::open(&format!("{}?mode=ro", fixture.url))
        .await
        .unwrap_err();
    let OpenError::Write {
        source: Error::Database { source, .. },
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(source.to_string(), "attempt to write a readonly database");
}

/// What is made and taken away leaves an entry, in the same transaction: what fails leaves none.
#[tokio::test]
async fn tokens_and_policies_are_audited_where_they_change() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    let place = PolicyPlace {
        upstream: "graph",
        workload: "onenote",
    };
    let read = |entries: Vec<crate::audit::Entry>| {
        let entries = entries.into_iter().rev();
        let entries = entries.map(|it| (it.action, it.subject, it.was, it.became));
        entries.collect::<Vec<_>>()
    };
    store.seed_policy(place, "{\"a\":1}", 7).await.unwrap();
    store.seed_policy(place, "{\"a\":2}", 8).await.unwrap();
    store
        .add_token(&token(1, "a", Some(50)), 2, &by())
        .await
        .unwrap();
    store
        .add_token(&token(2, "a", None), 2, &by())
        .await
        .unwrap();
    store
        .add_token(&token(3, "a", None), 2, &by())
        .await
        .unwrap_err();
    store.revoke_token("none", 9, &by()).await.unwrap();
    store.revoke_token("a", 9, &by()).await.unwrap();
    let shown = |expires_at_ms: Option<i64>| {
        let token =
            serde_json::json!({ "name": "a", "rights": {}, "expires_at_ms": expires_at_ms });
        Some(token.to_string())
    };
    let seeded = serde_json::json!({ "version": 1, "policy": { "a": 1 } }).to_string();
    let (first, second) = ("token:0000000000000001", "token:0000000000000002");
    let expected = [
        ("policy.seed", "policy:graph/onenote", None, Some(seeded)),
        ("token.create", first, None, shown(Some(50))),
        ("token.revoke", first, shown(Some(50)), None),
        ("token.create", second, None, shown(None)),
        ("token.revoke", second, shown(None), None),
    ]
    .map(|(action, subject, was, became)| (action.to_owned(), subject.to_owned(), was, became));
    let found = store.audit(&AuditQuery::default(), 100).await.unwrap();
    let names = store.names(&found).await.unwrap();
    let called = [first, second].map(|it| (it.to_owned(), "a".to_owned()));
    assert_eq!(names, called.into(), "revoked ones, too");
    assert_eq!(store.names(&[]).await.unwrap(), [].into());
    assert_eq!(read(found), expected);
}
