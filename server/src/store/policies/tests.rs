//! Versions on a real file.

use super::super::tests::Fixture;
use super::*;
use crate::audit::{Actor, ActorKind};
use crate::store::AuditQuery;

const PLACE: PolicyPlace<'static> = PolicyPlace {
    upstream: "graph",
    workload: "onenote",
};

fn change(base: i64, document: &str) -> NewPolicy<'_> {
    NewPolicy {
        place: PLACE,
        base,
        document,
        action: action::POLICY_CHANGE,
    }
}

fn by() -> By {
    By::actor(Actor::named(ActorKind::Token, "aa", "bridge")).because("why")
}

async fn newest(store: &Store) -> (i64, String) {
    let newest = store.policy(PLACE).await.unwrap().unwrap();
    (newest.version, newest.document)
}

#[tokio::test]
async fn a_policy_is_seeded_once_and_survives() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.policy(PLACE).await.unwrap(), None);
    let seeded = fixture.store.seed_policy(PLACE, "{\"a\":1}", 7).await;
    let seeded = seeded.unwrap();
    assert_eq!((seeded.version, seeded.created_at_ms), (1, 7));

    let fixture = fixture.reopened().await;
    let kept = fixture.store.seed_policy(PLACE, "{\"a\":2}", 8).await;
    assert_eq!(kept.unwrap(), seeded, "the database rules, not the seed");
    let other = PolicyPlace {
        workload: "other",
        ..PLACE
    };
    assert_eq!(fixture.store.policy(other).await.unwrap(), None);
}

#[tokio::test]
async fn where_the_configuration_rules_it_becomes_the_newest_version() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    for (document, version) in [("1", 1), ("2", 2), ("2", 2), ("1", 3)] {
        let adopted = store.adopt_policy(PLACE, document, 7).await.unwrap();
        assert_eq!((adopted.version, &*adopted.document), (version, document));
    }
    let acts = store.audit(&AuditQuery::default(), 10).await.unwrap();
    let acts: Vec<_> = acts.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(acts, ["policy.adopt", "policy.adopt", "policy.seed"]);
}

#[tokio::test]
async fn versions_are_appended_and_one_of_two_writers_wins() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    let early = store.change_policies(&[change(1, "1")], &by(), 7).await;
    assert!(matches!(early, Err(Error::NoPolicy(_))), "{early:?}");
    store.seed_policy(PLACE, "1", 7).await.unwrap();
    let changed = store.change_policies(&[change(1, "2")], &by(), 8).await;
    let changed = changed.unwrap().remove(0);
    assert_eq!((changed.version, changed.reason.as_str()), (2, "why"));
    assert_eq!(changed.author, "token bridge (aa)");
    for base in [1, 3] {
        let late = store.change_policies(&[change(base, "3")], &by(), 9).await;
        let Err(Error::Conflict { newest, .. }) = late else {
            panic!("{late:?}");
        };
        assert_eq!(*newest, changed);
    }
    assert_eq!(newest(&store).await, (2, "2".to_owned()));
    // What it says already is not made again.
    let same = store.change_policies(&[change(2, "2")], &by(), 10).await;
    assert_eq!(same.unwrap(), [changed]);
    assert_eq!(store.policies_made().await.unwrap(), 2);
    let old = store.policy_version(PLACE, 1).await.unwrap().unwrap();
    assert_eq!(old.document, "1");
    for none in [0, 3, -1, i64::MAX] {
        assert_eq!(store.policy_version(PLACE, none).await.unwrap(), None);
    }
}

#[tokio::test]
async fn several_are_changed_all_or_none() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    let other = PolicyPlace {
        workload: "other",
        ..PLACE
    };
    store.seed_policy(PLACE, "1", 7).await.unwrap();
    store.seed_policy(other, "1", 7).await.unwrap();
    let of_other = |base| NewPolicy {
        place: other,
        ..change(base, "2")
    };
    let late = store
        .change_policies(&[change(1, "2"), of_other(9)], &by(), 8)
        .await;
    assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
    assert_eq!(store.policies_made().await.unwrap(), 2);
    assert_eq!(
        store.audit_head().await.unwrap().seq,
        2,
        "nor is it audited"
    );
    let both = store
        .change_policies(&[change(1, "2"), of_other(1)], &by(), 8)
        .await;
    assert_eq!(both.unwrap().len(), 2);
    assert_eq!(store.audit_head().await.unwrap().seq, 4);
}

/// Each says what it followed: none is lost, whoever is first.
#[tokio::test]
async fn of_many_at_once_one_wins_each_version() {
    let fixture = Fixture::new().await;
    fixture.store.seed_policy(PLACE, "0", 7).await.unwrap();
    let stores = [
        fixture.store.clone(),
        Store::open(&fixture.url).await.unwrap(),
    ];
    let writers = (1..=20).map(|n| {
        let store = stores[n % 2].clone();
        tokio::spawn(async move {
            let document = n.to_string();
            store
                .change_policies(&[change(1, &document)], &by(), 8)
                .await
        })
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => assert!(matches!(error, Error::Conflict { .. }), "{error:?}"),
        }
    }
    assert_eq!((won, newest(&fixture.store).await.0), (1, 2));
}

#[tokio::test]
async fn a_version_is_never_changed_or_deleted() {
    let Fixture { store, _dir, .. } = Fixture::new().await;
    store.seed_policy(PLACE, "1", 7).await.unwrap();
    for statement in ["UPDATE policies SET document = ''", "DELETE FROM policies"] {
        let error = sqlx::query(statement).execute(&store.pool).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}
