use std::collections::BTreeMap;

use super::*;
use crate::alerts::{
    hook::hook,
    incident::{Incidents, Rules, Trouble},
};

const START_MS: i64 = 1_796_104_800_000;
const LINK: &str = "https://spillway.example.org/alerts";

const RULES: Rules = Rules {
    tell_after_ms: 0,
    over_after_ms: 1,
    drift_min: 3,
    per_hour_max: 1_000,
};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\r\nBcc: eve@example.org\u{202e}gpj";

fn app(name: &str) -> Subject {
    Subject::Breaker {
        upstream: "graph".into(),
        workload: "onenote".into(),
        whose: Whose {
            scope: Scope::App,
            app: name.into(),
            tenant: String::new(),
        },
    }
}

/// What is told of this trouble, and then of its end.
fn told(wrong: BTreeMap<Subject, Trouble>) -> (Vec<Incident>, Vec<Incident>) {
    let begun = Incidents::default().step(START_MS, &wrong, &RULES);
    let nothing = BTreeMap::new();
    let right = begun.next.step(START_MS + 60_000, &nothing, &RULES);
    let over = right.next.step(START_MS + 120_000, &nothing, &RULES);
    (begun.told, over.told)
}

fn throttled(subject: Subject) -> BTreeMap<Subject, Trouble> {
    let trouble = Trouble {
        is_full: true,
        reason: Some(BreakerReason::Throttled),
        until_ms: Some(START_MS + 30_000),
        drift: 1,
        ..Trouble::default()
    };
    BTreeMap::from([(subject, trouble)])
}

#[test]
fn a_mail_says_what_since_when_who_is_hit_why_and_what_happens_next() {
    let (open, over) = told(throttled(app("note-bridge")));
    let open = words(&open, LINK);
    assert_eq!(
        open.subject,
        "[Spillway] Breaker open: app note-bridge at graph/onenote"
    );
    assert_eq!(
        open.text,
        "Breaker open: app note-bridge at graph/onenote
  Since 2026-12-01 06:00:00 UTC.
  The upstream said that it throttles.
  It throttled once although everything fitted the limits here: another program uses the same \
quota, or the upstream's limit is lower than the one that is set.
  All calls of this app to onenote are refused while it is open.
  At 2026-12-01 06:00:30 UTC one call may try again; if that passes, calls come back step by step \
by themselves.

All of it: https://spillway.example.org/alerts
Times are UTC. Spillway wrote this; nobody reads answers to it.
"
    );
    let over = words(&over, LINK);
    assert_eq!(
        over.subject,
        "[Spillway] Over: Breaker open: app note-bridge at graph/onenote"
    );
    assert!(
        over.text
            .contains("From 2026-12-01 06:00:00 UTC to 2026-12-01 06:01:00 UTC.")
    );
    assert!(over.text.contains("nobody has to do anything"));
}

#[test]
fn hostile_names_are_text_and_stay_on_their_line() {
    let (open, _) = told(throttled(app(HOSTILE)));
    let words = words(&open, LINK);
    assert!(
        !words.subject.contains(['\r', '\n', '\u{202e}']),
        "{:?}",
        words.subject
    );
    assert!(words.subject.chars().count() <= SUBJECT_CHARS_MAX + 1);
    assert!(!words.text.contains("\nBcc"), "{}", words.text);
    assert!(!words.text.contains(['\r', '\u{202e}']));
    assert!(!words.html.contains("<img"), "{}", words.html);
    assert!(!words.html.contains(['\r', '\u{202e}']));
    let hook = hook(&open, &words, LINK, START_MS);
    let hook: serde_json::Value = serde_json::from_str(&hook).unwrap();
    assert_eq!(hook["incidents"][0]["app"], HOSTILE);
    assert_eq!(hook["text"], words.text);
}

#[test]
fn many_are_one_message_that_counts_what_it_leaves_out() {
    let wrong = (0..43).flat_map(|n| throttled(app(&format!("a{n:02}"))));
    let (open, _) = told(wrong.collect());
    let words = words(&open, LINK);
    assert_eq!(
        words.subject,
        "[Spillway] Breaker open: app a00 at graph/onenote and 42 more"
    );
    assert!(
        words.text.contains("And 13 more, which the page shows."),
        "{}",
        words.text
    );
}

#[test]
fn limits_of_all_calls_are_the_upstreams() {
    let (open, _) = told(throttled(Subject::Breaker {
        upstream: "graph".into(),
        workload: crate::config::GLOBAL.into(),
        whose: Whose {
            scope: Scope::Tenant,
            app: "a".into(),
            tenant: "contoso".into(),
        },
    }));
    let words = words(&open, LINK);
    assert_eq!(
        words.subject,
        "[Spillway] Breaker open: tenant contoso of app a at graph"
    );
    assert!(
        words
            .text
            .contains("All calls of this tenant to this upstream are refused")
    );
}

#[test]
fn mail_that_does_not_go_out_says_what_the_server_said() {
    let trouble = Trouble {
        is_full: true,
        error: Some("connecting: refused\r\nby <nobody>".into()),
        ..Trouble::default()
    };
    let (open, _) = told(BTreeMap::from([(Subject::Mail, trouble)]));
    let words = words(&open, LINK);
    assert!(
        words
            .text
            .contains("What was said last: “connecting: refused\\u{d}\\u{a}by <nobody>”.")
    );
}
