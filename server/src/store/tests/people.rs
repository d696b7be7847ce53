//! Accounts and sessions.

use super::*;

fn account(id: u8, name: &str, role: &str) -> StoredAccount {
    StoredAccount {
        id: format!("{id:016x}"),
        name: name.to_owned(),
        role: role.to_owned(),
        password_hash: Some(format!("hash of {name}")),
        oidc_subject: None,
        created_at_ms: i64::from(id),
        disabled_at_ms: None,
    }
}

fn session(id: u8, account: u8, seen_at_ms: i64) -> StoredSession {
    StoredSession {
        id_sha256: vec![id; 32],
        handle: format!("{id:016x}"),
        account: format!("{account:016x}"),
        signed_in_at_ms: i64::from(id),
        seen_at_ms,
    }
}

#[tokio::test]
async fn accounts_are_kept_by_a_name_of_their_own_and_their_number_is_bounded() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    let (ada, bob) = (account(1, "ada", "admin"), account(2, "bob", "viewer"));
    store.add_account(&ada, 2, &by()).await.unwrap();
    let taken = store
        .add_account(&account(3, "ADA", "viewer"), 2, &by())
        .await;
    assert!(matches!(taken, Err(Error::AccountNameTaken)), "{taken:?}");
    store.add_account(&bob, 2, &by()).await.unwrap();
    let many = store
        .add_account(&account(4, "cem", "viewer"), 2, &by())
        .await;
    assert!(matches!(many, Err(Error::TooManyAccounts(2))), "{many:?}");
    assert_eq!(store.accounts().await.unwrap(), [ada, bob]);
    assert!(!format!("{:?}", store.accounts().await.unwrap()).contains("hash of"));
}

#[tokio::test]
async fn the_first_account_is_made_once_whatever_becomes_of_it() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    assert!(!store.had_accounts().await.unwrap());
    let both = tokio::join!(
        async {
            store
                .add_first_account(&account(1, "ada", "admin"), &by())
                .await
                .unwrap()
        },
        async {
            store
                .add_first_account(&account(2, "eve", "admin"), &by())
                .await
                .unwrap()
        },
    );
    assert!(both.0 != both.1, "one of two wins: {both:?}");
    let first = store.accounts().await.unwrap().remove(0);
    store
        .add_account(&account(3, "cem", "admin"), 9, &by())
        .await
        .unwrap();
    let removed = store
        .change_account(&first.id, AccountChange::Remove, 5, &by())
        .await;
    assert_eq!(removed.unwrap().unwrap().name, first.name);
    assert!(store.had_accounts().await.unwrap());
    let late = store
        .add_first_account(&account(4, "eve", "admin"), &by())
        .await;
    assert!(!late.unwrap());
}

#[tokio::test]
async fn an_account_is_never_deleted_nor_another_s() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store
        .add_account(&account(1, "ada", "admin"), 9, &by())
        .await
        .unwrap();
    store
        .add_account(&account(2, "bob", "viewer"), 9, &by())
        .await
        .unwrap();
    store
        .change_account("bob", AccountChange::Remove, 5, &by())
        .await
        .unwrap();
    for (statement, why) in [
        ("DELETE FROM accounts", "not deleted"),
        (
            "UPDATE accounts SET id = '00000000000000ff'",
            "stays who it is",
        ),
        ("UPDATE accounts SET removed_at_ms = NULL", "is final"),
        (
            "UPDATE accounts SET role = 'king' WHERE name = 'ada'",
            "CHECK",
        ),
    ] {
        let error = sqlx::query(statement)
            .execute(&store.pool)
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{statement}: {error}");
    }
    store
        .add_account(&account(3, "bob", "viewer"), 9, &by())
        .await
        .unwrap();
}

#[tokio::test]
async fn whatever_changes_an_account_ends_its_sessions_and_no_others() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    for (id, name, role) in [
        (1, "ada", "admin"),
        (2, "bob", "admin"),
        (3, "cem", "viewer"),
    ] {
        store
            .add_account(&account(id, name, role), 9, &by())
            .await
            .unwrap();
    }
    let changes = [
        AccountChange::Password("other"),
        AccountChange::Role("viewer"),
        AccountChange::Remove,
    ];
    for (n, change) in (10..).zip(changes) {
        store.add_session(&session(n, 1, 5), "{}", 9).await.unwrap();
        store
            .add_session(&session(n + 10, 3, 5), "{}", 9)
            .await
            .unwrap();
        let before = store.people_version().await.unwrap();
        store
            .change_account("ADA", change, 7, &by())
            .await
            .unwrap()
            .unwrap();
        assert_ne!(store.people_version().await.unwrap(), before, "{change:?}");
        let left = store.sessions().await.unwrap();
        assert!(
            left.iter().all(|it| it.account == account(3, "", "").id),
            "{change:?}"
        );
    }
    assert_eq!(
        store
            .change_account("ada", AccountChange::Remove, 8, &by())
            .await
            .unwrap(),
        None
    );
    for change in [AccountChange::Role("operator"), AccountChange::Remove] {
        let last = store.change_account("bob", change, 8, &by()).await;
        assert!(matches!(last, Err(Error::LastAdmin)), "{last:?}");
    }
    let late = store.add_session(&session(9, 1, 5), "{}", 9).await;
    assert!(matches!(late, Err(Error::NoSuchAccount)), "{late:?}");
}

#[tokio::test]
async fn sessions_are_kept_bounded_noted_and_ended() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store
        .add_account(&account(1, "ada", "admin"), 9, &by())
        .await
        .unwrap();
    for id in 1..=3 {
        store
            .add_session(&session(id, 1, i64::from(id)), "{}", 3)
            .await
            .unwrap();
    }
    let version = store.people_version().await.unwrap();
    store
        .note_session_seen(&session(1, 1, 0).handle, 9)
        .await
        .unwrap();
    store
        .keep_session_data(&[1; 32], "{\"a\":1}")
        .await
        .unwrap();
    assert_eq!(
        store.people_version().await.unwrap(),
        version,
        "nobody comes or goes"
    );
    assert_eq!(
        store.session_data(&[1; 32]).await.unwrap().as_deref(),
        Some("{\"a\":1}")
    );
    // The second was not seen for longest.
    store.add_session(&session(4, 1, 4), "{}", 3).await.unwrap();
    let handles = |all: Vec<StoredSession>| {
        all.into_iter()
            .map(|it| it.id_sha256[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(handles(store.sessions().await.unwrap()), [1, 3, 4]);

    store.end_session(&[4; 32]).await.unwrap();
    store.keep_session_data(&[4; 32], "{}").await.unwrap();
    assert_eq!(
        store.session_data(&[4; 32]).await.unwrap(),
        None,
        "what ended stays so"
    );
    let handle = session(3, 1, 0).handle;
    assert!(
        !store
            .end_session_of("0000000000000002", &handle)
            .await
            .unwrap()
    );
    assert!(
        store
            .end_session_of("0000000000000001", &handle)
            .await
            .unwrap()
    );
    assert_eq!(handles(store.sessions().await.unwrap()), [1]);
    store.end_old_sessions(0, 8).await.unwrap();
    assert_eq!(handles(store.sessions().await.unwrap()), [1]);
    store.end_old_sessions(0, 9).await.unwrap();
    assert_eq!(store.sessions().await.unwrap(), []);
}

/// Nothing of a password gets into the log of who did what, and nobody changes in secret.
#[tokio::test]
async fn what_becomes_of_accounts_is_audited() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store
        .add_first_account(&account(1, "ada", "admin"), &by())
        .await
        .unwrap();
    store
        .add_account(&account(2, "bob", "viewer"), 9, &by())
        .await
        .unwrap();
    for change in [
        AccountChange::Password("other hash of bob"),
        AccountChange::Role("operator"),
        AccountChange::Remove,
    ] {
        store
            .change_account("bob", change, 5, &by())
            .await
            .unwrap()
            .unwrap();
    }
    store
        .change_account("ada", AccountChange::Remove, 5, &by())
        .await
        .unwrap_err();
    let found = store.audit(&AuditQuery::default(), 9).await.unwrap();
    assert!(!format!("{found:?}").contains("hash of"), "{found:?}");
    let bob = |role: &str| Some(serde_json::json!({ "name": "bob", "role": role }).to_string());
    let found: Vec<_> = found
        .into_iter()
        .rev()
        .skip(1)
        .map(|it| (it.action, it.subject, it.was, it.became))
        .collect();
    let subject = "account:0000000000000002";
    let expected = [
        ("account.create", None, bob("viewer")),
        ("account.password", None, None),
        ("account.role", bob("viewer"), bob("operator")),
        ("account.remove", bob("operator"), None),
    ]
    .map(|(action, was, became)| (action.to_owned(), subject.to_owned(), was, became));
    assert_eq!(found, expected);
}
