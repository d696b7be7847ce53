//! The log on a real file, and what somebody with that file can do to it unseen.

use sqlx::sqlite::SqliteConnectOptions;

use super::super::tests::Fixture;
use super::*;
use crate::audit::{Actor, Broken, By, Chain, action};

fn act(at_ms: i64, action: &'static str, by: &By) -> Act {
    Act::new(at_ms, by, action, format!("subject:{at_ms}"))
}

/// Five acts: three of one token's, two of the system's.
async fn five(store: &Store) {
    let token = By::actor(Actor::named(ActorKind::Token, "aa", "bridge"));
    let system = By::system("a test");
    for (at_ms, action, by) in [
        (10, action::LANE_PAUSE, &token),
        (20, action::LANE_RESUME, &token),
        (30, action::SERVER_START, &system),
        (40, action::BREAKER_OPEN, &token),
        (50, action::SERVER_START, &system),
    ] {
        store.record(&act(at_ms, action, by)).await.unwrap();
    }
}

async fn check(store: &Store) -> Result<Head, Broken> {
    let mut chain = Chain::of(&store.instance().await.unwrap().id, None);
    let entries = store.audit_after(i64::MIN).await.unwrap();
    entries.iter().try_for_each(|entry| chain.follow(entry))?;
    chain.end()
}

/// What somebody with the file can do: triggers do not stop who can drop them.
async fn tamper(store: &Store, statement: &str) {
    let triggers = "DROP TRIGGER audit_rows_follow_each_other;
        DROP TRIGGER audit_rows_are_never_changed; DROP TRIGGER audit_rows_are_never_deleted;";
    for statement in [triggers, statement] {
        sqlx::raw_sql(statement).execute(&store.pool).await.unwrap();
    }
}

#[tokio::test]
async fn entries_follow_each_other_and_can_be_filtered() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    assert_eq!(check(&store).await.unwrap().seq, 0);
    five(&store).await;
    let head = check(&store).await.unwrap();
    assert_eq!((head.seq, head), (5, store.audit_head().await.unwrap()));

    let all = AuditQuery::default();
    let filters = [
        (all.clone(), vec![5, 4, 3, 2, 1]),
        (
            AuditQuery {
                actor: Some("aa".into()),
                ..all.clone()
            },
            vec![4, 2, 1],
        ),
        (
            AuditQuery {
                actor: Some("bridge".into()),
                ..all.clone()
            },
            vec![4, 2, 1],
        ),
        (
            AuditQuery {
                actor_kind: Some(ActorKind::System),
                ..all.clone()
            },
            vec![5, 3],
        ),
        (
            AuditQuery {
                action: Some("lane.".into()),
                ..all.clone()
            },
            vec![2, 1],
        ),
        (
            AuditQuery {
                action: Some("lane.p".into()),
                ..all.clone()
            },
            vec![1],
        ),
        (
            AuditQuery {
                action: Some(String::new()),
                ..all.clone()
            },
            vec![5, 4, 3, 2, 1],
        ),
        (
            AuditQuery {
                subject: Some("subject:30".into()),
                ..all.clone()
            },
            vec![3],
        ),
        (
            AuditQuery {
                from_ms: Some(20),
                until_ms: Some(50),
                ..all.clone()
            },
            vec![4, 3, 2],
        ),
        (
            AuditQuery {
                before_seq: Some(3),
                ..all.clone()
            },
            vec![2, 1],
        ),
        (
            AuditQuery {
                actor: Some("' OR 1 = 1 --".into()),
                ..all.clone()
            },
            vec![],
        ),
    ];
    for (query, expected) in filters {
        let found = store.audit(&query, 10).await.unwrap();
        let found: Vec<_> = found.iter().map(|entry| entry.seq).collect();
        assert_eq!(found, expected, "{query:?}");
    }
    let newest = store.audit(&all, 1).await.unwrap();
    assert_eq!((newest.len(), newest[0].seq), (1, 5));
}

#[tokio::test]
async fn an_entry_is_never_changed_deleted_or_replaced() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    five(&store).await;
    let replace = "INSERT OR REPLACE INTO audit SELECT 2, 0, actor_kind, '', '', action, '',
        NULL, NULL, NULL, NULL, hash FROM audit WHERE seq = 1";
    for statement in [
        "UPDATE audit SET reason = 'another'",
        "UPDATE audit SET seq = seq + 100",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE seq = 5",
        replace,
        &replace.replace("SELECT 2", "SELECT 9"),
    ] {
        let error = sqlx::query(statement).execute(&store.pool).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{statement}: {error}");
    }
    assert_eq!(check(&store).await.unwrap().seq, 5);
}

#[tokio::test]
async fn what_somebody_with_the_file_does_is_found() {
    for (statement, expected) in [
        (
            "UPDATE audit SET reason = 'x' WHERE seq = 3",
            Broken::Changed { seq: 3 },
        ),
        (
            "UPDATE audit SET at_ms = 11 WHERE seq = 1",
            Broken::Changed { seq: 1 },
        ),
        (
            "UPDATE audit SET was = '' WHERE seq = 5",
            Broken::Changed { seq: 5 },
        ),
        (
            "UPDATE audit SET hash = zeroblob(32) WHERE seq = 2",
            Broken::Changed { seq: 2 },
        ),
        (
            "DELETE FROM audit WHERE seq = 2",
            Broken::Missing {
                missing: 2,
                found: 3,
            },
        ),
        (
            "DELETE FROM audit WHERE seq = 1",
            Broken::Missing {
                missing: 1,
                found: 2,
            },
        ),
        (
            "DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2",
            Broken::Changed { seq: 2 },
        ),
        (
            "UPDATE audit SET seq = 99 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3;
             UPDATE audit SET seq = 3 WHERE seq = 99",
            Broken::Changed { seq: 2 },
        ),
        (
            "UPDATE instance SET id = '0123456789abcdef0123456789abcdef'",
            Broken::Changed { seq: 1 },
        ),
    ] {
        let Fixture { store, _dir, .. } = Fixture::new().await;
        five(&store).await;
        tamper(&store, statement).await;
        assert_eq!(check(&store).await, Err(expected), "{statement}");
    }
}

/// The command line acts beside a running server: both append to one chain.
#[tokio::test]
async fn several_processes_append_to_one_chain() {
    let fixture = Fixture::new().await;
    let stores = [
        fixture.store.clone(),
        Store::open(&fixture.url).await.unwrap(),
    ];
    let writers = (0..40).map(|n| {
        let store = stores[n % 2].clone();
        tokio::spawn(async move {
            let act = act(n as i64, action::LANE_PAUSE, &By::system("a test"));
            store.record(&act).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(check(&fixture.store).await.unwrap().seq, 40);
}

#[tokio::test]
async fn what_cannot_be_audited_is_not_done() {
    let fixture = Fixture::new().await;
    let by = By::system("a test");
    let store = &fixture.store;
    let refused = store.audited(|| Err::<((), Act), _>("no")).await;
    assert!(
        matches!(refused, Err(NotAudited::NotDone("no"))),
        "{refused:?}"
    );
    assert_eq!(check(store).await.unwrap().seq, 0);
    let done = store.audited(|| Ok::<_, ()>((7, act(1, action::LANE_PAUSE, &by))));
    assert_eq!(done.await.unwrap(), 7);
    assert_eq!(check(store).await.unwrap().seq, 1);

    store.close().await;
    let mut called = false;
    let unwritable = store.audited(|| {
        called = true;
        Ok::<_, ()>(((), act(1, action::LANE_PAUSE, &by)))
    });
    let unwritable = unwritable.await;
    assert!(
        matches!(unwritable, Err(NotAudited::Unwritable(_))),
        "{unwritable:?}"
    );
    assert!(!called);
}

/// The file was made by somebody else: whatever it holds, nothing panics.
#[tokio::test]
async fn an_entry_of_another_form_is_an_error() {
    let Fixture { store, url, _dir } = Fixture::new().await;
    five(&store).await;
    let anew = "DROP TABLE audit; CREATE TABLE audit (seq, at_ms, actor_kind, actor_id, actor_name,
        action, subject, was, became, reason, client, hash);
        INSERT INTO audit VALUES (1, 'x', 2, 3, 4, 5, 6, 7, 8, 9, 10, x'00')";
    sqlx::raw_sql(anew).execute(&store.pool).await.unwrap();
    assert!(store.audit_after(0).await.is_err());
    assert!(store.audit(&AuditQuery::default(), 1).await.is_err());
    let options: SqliteConnectOptions = url.parse().unwrap();
    assert!(options.get_filename().exists());
    let failed = store
        .record(&act(1, action::LANE_PAUSE, &By::system("a test")))
        .await;
    assert!(failed.is_err(), "nothing is chained to what is none");
}
