use serde_json::json;

use super::super::{Actor, ActorKind, action};
use super::*;

fn head() -> Head {
    Head {
        seq: 0,
        hash: EntryHash::before_all("0123"),
    }
}

fn act() -> Act {
    let actor = Actor::named(ActorKind::Token, "00000000000000aa", "bridge");
    let mut by = By::actor(actor).because("why");
    by.client = Some("192.0.2.1".parse().unwrap());
    Act::new(7, &by, action::LANE_PAUSE, "lane:graph/background")
        .was(json!({ "a": 1 }))
        .became(json!({ "a": 2 }))
}

/// Every field counts, and no text can be moved from one field to the next unseen.
#[test]
fn whatever_changes_changes_the_hash() {
    let entry = Entry::after(head(), &act());
    assert_eq!(entry.hash, entry.hash_after(head().hash));
    let changes: [fn(&mut Entry); 13] = [
        |it| it.seq += 1,
        |it| it.at_ms += 1,
        |it| it.actor_kind = "account".to_owned(),
        |it| it.actor_id.push('b'),
        |it| it.actor_name.push('b'),
        |it| it.action.push('b'),
        |it| it.subject.push('b'),
        |it| it.was = None,
        |it| it.became = Some(String::new()),
        |it| it.reason = None,
        |it| it.client = None,
        |it| std::mem::swap(&mut it.was, &mut it.became),
        |it| {
            let moved = it.actor_name.split_off(3);
            it.action.insert_str(0, &moved);
        },
    ];
    for (n, change) in changes.iter().enumerate() {
        let mut changed = entry.clone();
        change(&mut changed);
        assert_ne!(changed.hash_after(head().hash), entry.hash, "{n}");
    }
    let elsewhere = EntryHash::before_all("another database");
    assert_ne!(entry.hash_after(elsewhere), entry.hash);
}

/// The bytes are a promise: rows written today must verify in years.
#[test]
fn the_hash_of_an_entry_stays_what_it_is() {
    let expected = "349e7dd685ee2be53f2a577f9d792ff3b9aee9c71e604dda4e4fd608a223c6ff";
    assert_eq!(Entry::after(head(), &act()).hash.to_string(), expected);
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let actor = Actor::named(ActorKind::Anyone, "", &"é".repeat(1_000));
    let by = By::actor(actor).because(&"x".repeat(100_000));
    let long = "y".repeat(100_000);
    let act = Act::new(1, &by, action::LANE_PAUSE, long.clone()).became(json!(long));
    let entry = Entry::after(head(), &act);
    for (text, max) in [
        (&entry.actor_name, 256),
        (&entry.subject, 1_024),
        (entry.reason.as_ref().unwrap(), 2_048),
    ] {
        assert!(text.len() <= max && text.ends_with('…'), "{}", text.len());
    }
    let became: Value = serde_json::from_str(entry.became.as_ref().unwrap()).unwrap();
    assert_eq!(became["too_long"], 100_002);
}

#[test]
fn a_head_is_read_as_it_is_written() {
    let head = Head {
        seq: 12,
        hash: EntryHash([0xab; 32]),
    };
    let text = head.to_string();
    assert_eq!(text, format!("12:{}", "ab".repeat(32)));
    assert_eq!(text.parse(), Ok(head));
    let long = format!("{text}a");
    for text in ["", "12", "12:ab", "-1:ab", &long, &text.replace("ab", "é")] {
        assert_eq!(text.parse::<Head>(), Err(NoHead), "{text}");
    }
}
