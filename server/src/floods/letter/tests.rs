use spillway::{
    Instant,
    flood::{Component, Day, Strike as Engine},
};

use super::*;
use crate::{
    access::SiteLinks,
    gateway::KeySecret,
    outbox::{Carrier, Failure},
    store::StoredMessage,
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn site(zone: &str) -> Site {
    Site {
        site: "s1".into(),
        title: "Orders".into(),
        url: "https://example.org/orders".into(),
        admins: vec!["ann@example.org".into(), "bob@example.org".into()],
        time_zone: zone.into(),
        region: "eu".into(),
    }
}

/// Strike number 20, at the given instant, of a minute that began when it did.
fn strike(list: &str, minute: &str, disabled: &str, day_ends: &str) -> Strike {
    Strike {
        site: "s1".into(),
        list: list.into(),
        component: Component::Action,
        strike: Engine {
            number: 20,
            day: 20_787,
            minute: Instant(0),
            count: 100,
            disables: true,
        },
        day: Day {
            number: 20_787,
            ends: Instant(1),
        },
        at: Instant(0),
        wall_ms: at(disabled).as_millisecond(),
        disabling: Some(Disabling {
            policy: Policy::THIRD,
            minute_at: at(minute),
            day_ends_at: at(day_ends),
        }),
    }
}

fn winter() -> Strike {
    strike(
        "Invoices",
        "2026-11-30T12:19:00Z",
        "2026-11-30T12:19:40Z",
        "2026-11-30T23:00:00Z",
    )
}

#[test]
fn each_admin_gets_a_letter_with_the_figures_in_the_site_s_time_beside_utc() {
    let letters = letters(&winter(), &site("Europe/Berlin"));
    let to: Vec<_> = letters.iter().map(|it| it.recipient.as_str()).collect();
    assert_eq!(to, ["ann@example.org", "bob@example.org"]);
    let letter = &letters[0];
    assert_eq!(
        letter.subject,
        "[Spillway] Orders: action is disabled on Invoices"
    );
    assert_eq!(
        without_link(&letter.body),
        "action is disabled on Invoices

Events of action reached 100 in one minute for the 20th time today, which is too often: action is disabled on Invoices.

Until a person re-enables it, its events are not handled, and they are not kept for later either. What people and timers start goes on, as do the list's other components.

  Component      action
  List           Invoices
  Site           Orders
  Address        https://example.org/orders
  Disabled       2026-11-30 13:19:40 Europe/Berlin (12:19:40 UTC)
  The minute     2026-11-30 13:19 Europe/Berlin (12:19 UTC)
  Its events     100; the limit is 100
  Strikes today  20; the limit is 20
  Policy         100/20/3: a minute with 100 events is a strike, 20 strikes in a day disable, the first 3 stop nothing

See Invoices, re-enable action or pause the list:
(a link that only the reader gets)

Find out first what makes so many events: most often a rule fires itself.
Once re-enabled, the next minute with 100 events disables it again, until the day ends at 2026-12-01 00:00 Europe/Berlin (2026-11-30 23:00 UTC); then strikes are counted from none.
The link is yours alone and needs no password, so do not pass it on. It is good until 2026-12-07 13:19 Europe/Berlin (12:19 UTC).

Spillway wrote this; nobody reads answers to it.
"
    );
}

#[test]
fn on_the_day_of_25_hours_utc_tells_the_hours_apart() {
    let mut strike = strike(
        "Invoices",
        "2026-10-25T01:30:00Z",
        "2026-10-25T01:30:59Z",
        "2026-10-25T23:00:00Z",
    );
    strike.strike.number = 23;
    let disabling = strike.disabling.as_mut().unwrap();
    disabling.policy = Policy::new(1_000, 22, 0).unwrap();
    let body = &letters(&strike, &site("Europe/Berlin"))[0].body;
    for line in [
        "for the 23rd time today",
        "Disabled       2026-10-25 02:30:59 Europe/Berlin (01:30:59 UTC)",
        "until the day ends at 2026-10-26 00:00 Europe/Berlin (2026-10-25 23:00 UTC)",
        "good until 2026-11-01 02:30 Europe/Berlin (01:30 UTC)",
        "1000/22/0: a minute with 1000 events is a strike, 22 strikes in a day disable, each stops",
    ] {
        assert!(body.contains(line), "{line}\n{body}");
    }
}

#[test]
fn a_bare_site_in_utc_is_called_by_its_key() {
    let bare = Site {
        title: " ".into(),
        url: String::new(),
        ..site("UTC")
    };
    let letter = &letters(&winter(), &bare)[0];
    assert!(
        letter.subject.starts_with("[Spillway] s1: "),
        "{}",
        letter.subject
    );
    assert!(
        letter
            .body
            .contains("Disabled       2026-11-30 12:19:40 UTC\n")
    );
    assert!(!letter.body.contains("Address"), "{}", letter.body);
}

#[test]
fn nobody_is_told_of_a_strike_that_disables_nothing_or_twice_of_one() {
    let mut harmless = winter();
    harmless.disabling = None;
    assert_eq!(letters(&harmless, &site("UTC")), []);
    let nobody = Site {
        admins: Vec::new(),
        ..site("UTC")
    };
    assert_eq!(letters(&winter(), &nobody), []);
    let once = |strike: &Strike| letters(strike, &site("UTC"))[0].dedupe.clone();
    let mut other = winter();
    other.strike.number = 21;
    assert_eq!(once(&winter()), once(&winter()));
    assert_ne!(once(&winter()), once(&other));
    // Keys that would read alike if they were only put one behind the other.
    let (mut one, mut two) = (winter(), winter());
    (one.site, one.list) = ("a\",\"b".into(), "c".into());
    (two.site, two.list) = ("a".into(), "b\",\"c".into());
    assert_ne!(once(&one), once(&two));
}

#[test]
fn hostile_names_are_inert() {
    let evil =
        "</script><img src=x onerror=alert(1)>\r\nBcc: eve@example.org\u{202e}\u{1}link\u{1}";
    let site = Site {
        title: evil.into(),
        ..site("Europe/Berlin")
    };
    let mut strike = winter();
    strike.list = evil.into();
    let letter = &letters(&strike, &site)[0];
    let html = letter.html.as_deref().unwrap();
    for text in [&letter.subject, &letter.body, html] {
        assert!(!text.contains(['\r', '\u{202e}']), "{text}");
        assert!(!text.contains("\nBcc"), "{text}");
    }
    assert!(!letter.subject.contains('\n'));
    assert!(letter.subject.chars().count() <= SUBJECT_CHARS_MAX + 1);
    assert!(
        !html.contains("<img") && !html.contains("</script"),
        "{html}"
    );
    // Only the letter's own place is one for the link.
    assert_eq!(letter.body.matches(LINK).count(), 1);
    assert_eq!(html.matches(LINK).count(), 1);
}

/// Keeps what it is handed.
#[derive(Default)]
struct Kept(std::sync::Mutex<Vec<StoredMessage>>);

#[async_trait::async_trait]
impl Carrier for Kept {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        self.0.lock().unwrap().push(message.clone());
        Ok(())
    }
}

fn stored(letter: &NewMessage, created_at_ms: i64) -> StoredMessage {
    StoredMessage {
        id: 1,
        uid: "0".repeat(32),
        kind: letter.kind,
        recipient: letter.recipient.clone(),
        topic: letter.topic.to_owned(),
        subject: letter.subject.clone(),
        body: letter.body.clone(),
        html: letter.html.clone(),
        payload: letter.payload.clone(),
        state: MessageState::Sending,
        created_at_ms,
        not_before_ms: created_at_ms,
        attempts: 1,
        down_since_ms: None,
        error: None,
        settled_at_ms: None,
    }
}

#[tokio::test]
async fn a_letter_gets_its_reader_s_own_link_on_its_way_and_the_same_each_time() {
    let kept = std::sync::Arc::new(Kept::default());
    let dashboard = "https://spillway.example".parse().unwrap();
    let links = SiteLinks::new(&KeySecret::from([1; 32]), &dashboard);
    let linked = Linked::new(std::sync::Arc::clone(&kept) as _, links.clone());
    let strike = winter();
    for letter in letters(&strike, &site("UTC")) {
        let message = stored(&letter, strike.wall_ms);
        linked.carry(&message).await.unwrap();
        linked.carry(&message).await.unwrap();
    }
    let sent = kept.0.lock().unwrap().clone();
    assert_eq!(
        (&sent[0], &sent[2]),
        (&sent[1], &sent[3]),
        "tried again, the same"
    );
    for message in [&sent[0], &sent[2]] {
        let line = message
            .body
            .lines()
            .find(|line| line.starts_with("https://spillway"));
        let (page, query) = line.unwrap().split_once("?key=").unwrap();
        assert_eq!(page, "https://spillway.example/site");
        let (key, list) = query.split_once("&list=").unwrap();
        assert_eq!(list, "Invoices");
        let link = links.read(key, strike.wall_ms + LASTS_MS - 1).unwrap();
        assert_eq!(
            (link.site.as_str(), &link.address),
            ("s1", &message.recipient)
        );
        assert!(links.read(key, strike.wall_ms + LASTS_MS).is_err());
        let html = message.html.as_deref().unwrap();
        assert!(
            html.contains(&line.unwrap().replace('&', "&amp;")),
            "{html}"
        );
        assert!(!html.contains(LINK) && !message.body.contains(LINK));
    }
    // Others' letters are theirs.
    let mut alert = stored(&letters(&strike, &site("UTC"))[0], 0);
    alert.topic = "alerts".into();
    linked.carry(&alert).await.unwrap();
    assert_eq!(kept.0.lock().unwrap().last(), Some(&alert));
}

#[test]
fn numbers_have_their_endings() {
    let said = [1, 2, 3, 4, 11, 12, 13, 20, 21, 22, 23, 101, 111, 1_013].map(ordinal);
    assert_eq!(
        said,
        [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "20th", "21st", "22nd", "23rd",
            "101st", "111th", "1013th"
        ]
    );
}
