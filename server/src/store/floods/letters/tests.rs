use std::collections::BTreeSet;

use jiff::{Timestamp, tz::TimeZone};
use proptest::prelude::*;
use spillway::{
    Instant,
    flood::{self, Component, Day, ListKey, Policy},
};

use super::*;
use crate::{
    audit::By,
    floods::Disabling,
    store::{FloodAct, MessageState},
};

const AT_MS: i64 = 1_796_082_000_000;

fn strike(site: &str, list: &str, number: u32, disables: bool) -> FloodAct {
    let at = Instant(u64::try_from(AT_MS).unwrap());
    let day = Day {
        number: 20_787,
        ends: at.plus_ms(3_600_000),
    };
    let when = Timestamp::from_millisecond(AT_MS).unwrap();
    FloodAct::Strike(Strike {
        site: site.into(),
        list: list.into(),
        component: Component::Action,
        strike: flood::Strike {
            number,
            day: day.number,
            minute: at,
            count: 100,
            disables,
        },
        day,
        at,
        wall_ms: AT_MS,
        disabling: disables.then_some(Disabling {
            policy: Policy::THIRD,
            minute_at: when,
            day_ends_at: when,
        }),
    })
}

async fn store() -> (Store, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/a.db", dir.path().display());
    (Store::open(&url).await.unwrap(), dir)
}

async fn tell_of(store: &Store, site: &str, admins: usize) {
    let site = Site {
        site: site.into(),
        title: String::new(),
        url: String::new(),
        admins: (0..admins).map(|n| format!("a{n}@example.org")).collect(),
        time_zone: "UTC".into(),
        region: String::new(),
    };
    assert!(site.check().is_ok_and(|zone| zone == TimeZone::UTC));
    store
        .put_site(&site, &By::system("a test"), AT_MS)
        .await
        .unwrap();
}

async fn letters_of(store: &Store, site: &str, list: &str) -> Vec<FloodLetter> {
    let key = ListKey::new(site, list);
    store.flood_letters(&key, 1_000).await.unwrap()
}

#[tokio::test]
async fn a_full_outbox_costs_the_letter_and_says_so_and_never_the_disablement() {
    let (store, _dir) = store().await;
    tell_of(&store, "s", 2).await;
    store.owe_many_for_tests(OWED_MAX - 1).await;
    store
        .write_floods(&[strike("s", "l", 20, true)])
        .await
        .unwrap();
    let letters = letters_of(&store, "s", "l").await;
    let fates = letters
        .iter()
        .map(|it| (it.message.state, it.message.error.as_deref()));
    let full = "not sent: 10000 messages were owed already, as many as may be";
    assert_eq!(
        fates.collect::<Vec<_>>(),
        [
            (MessageState::Failed, Some(full)),
            (MessageState::Waiting, None)
        ]
    );
    assert_eq!(letters[0].message.settled_at_ms, Some(AT_MS));
    assert_eq!(store.floods_disabled().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_letter_s_list_is_forgotten_with_it() {
    let (store, _dir) = store().await;
    tell_of(&store, "s", 1).await;
    store
        .write_floods(&[strike("s", "l", 20, true)])
        .await
        .unwrap();
    let id = letters_of(&store, "s", "l").await[0].message.id;
    store.begin_sending(id).await.unwrap();
    store
        .settle(id, &crate::store::Settlement::Sent, AT_MS)
        .await
        .unwrap();
    store.forget_settled(AT_MS).await.unwrap();
    assert_eq!(letters_of(&store, "s", "l").await.len(), 1);
    store.forget_settled(AT_MS + 1).await.unwrap();
    let left: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM flood_letters")
        .fetch_one(&store.pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

/// What happens: the list's number, the strike's, and whether it disables.
fn strikes() -> impl Strategy<Value = Vec<(usize, u32, bool)>> {
    prop::collection::vec((0..6_usize, 1..8_u32, any::<bool>()), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is written, in batches of any length, and written again: each admin of a known
    /// site is owed one letter for each disablement, and nobody anything else.
    #[test]
    fn the_letters_owed_are_the_disablements(
        acts in strikes(),
        admins in prop::array::uniform3(0..4_usize),
        batch in 1..9_usize,
        again in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (store, _dir) = store().await;
            // The last site is unknown.
            for (n, admins) in admins[..2].iter().enumerate() {
                tell_of(&store, &format!("s{n}"), *admins).await;
            }
            let named = |list: usize| (format!("s{}", list / 2), format!("l{list}"));
            let written: Vec<_> = acts.iter().map(|(list, number, disables)| {
                let (site, list) = named(*list);
                strike(&site, &list, *number, *disables)
            }).collect();
            for batch in written.chunks(batch) {
                for _ in 0..=usize::from(again) {
                    store.write_floods(batch).await.unwrap();
                }
            }
            // A strike's number is given once: the first to come is the one that is written.
            let mut seen = BTreeSet::new();
            let first: Vec<_> = acts.iter().filter(|(list, number, _)| seen.insert((*list, *number))).collect();
            for list in 0..6 {
                let (site, name) = named(list);
                let disabled = first.iter().filter(|(of, _, disables)| *of == list && *disables).count();
                let people = if list / 2 < 2 { admins[list / 2] } else { 0 };
                let letters = letters_of(&store, &site, &name).await;
                prop_assert_eq!(letters.len(), disabled * people, "{} {}", site, name);
                let ids: BTreeSet<_> = letters.iter().map(|it| &it.message.uid).collect();
                prop_assert_eq!(ids.len(), letters.len());
            }
            let owed = store.messages(1_000).await.unwrap().len();
            let linked: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM flood_letters")
                .fetch_one(&store.pool).await.unwrap();
            prop_assert_eq!(owed, usize::try_from(linked).unwrap());
            Ok(())
        })?;
    }
}
