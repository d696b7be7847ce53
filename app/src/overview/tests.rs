//! The page as the server renders it.

use std::sync::Arc;

use leptos::prelude::*;

use super::fixture::{overview, state};
use super::*;
use crate::live::{Change, House, HousePart, Pause, PauseScope, State, UserState};
use crate::{Asked, Backend, SharedBackend};

struct Fixed(State);

impl Backend for Fixed {
    fn state(&self) -> State {
        self.0.clone()
    }

    fn user(&self, _: &str, _: &str, _: &str) -> Option<UserState> {
        None
    }

    fn gateway_url(&self) -> String {
        "http://127.0.0.1:3001".to_owned()
    }
}

fn rendered(state: State) -> String {
    Owner::new_root(None).with(|| {
        provide_context::<SharedBackend>(Arc::new(Fixed(state)));
        provide_context(Asked::Overview);
        Feed::provide();
        Overview().to_html()
    })
}

#[test]
fn every_layer_of_app_and_closest_user_is_a_meter_with_its_numbers() {
    let html = rendered(overview());
    assert_eq!(html.matches("role=\"meter\"").count(), 6);
    let meter = "aria-valuemin=\"0\" aria-valuemax=\"800\" aria-valuenow=\"688\" \
                 aria-valuetext=\"688 of 800 this hour, 301 of them background, whose share is 400. Near\" \
                 aria-label=\"App note-bridge: Hour\"";
    assert!(html.contains(meter), "{html}");
    assert!(html.contains("aria-label=\"User ana@contoso.example: Hour\""));
}

#[test]
fn the_served_page_says_when_it_was_true_and_claims_nothing_more() {
    let html = rendered(overview());
    assert!(html.contains("<time datetime=\"2026-11-30T14:03:27.250Z\">14:03:27 UTC</time>"));
    assert!(html.contains("Snapshot") && !html.contains(">Live<"));
}

#[test]
fn users_closest_to_a_limit_are_listed_with_state_and_wait() {
    let html = rendered(overview());
    let text = [
        "400 of 400 this hour",
        "Full",
        "in 11 min",
        "At its share",
        "5 of 14 users",
    ];
    for text in text {
        assert!(html.contains(text), "{text} in {html}");
    }
}

#[test]
fn pauses_are_there_with_whose_they_are_and_their_ends() {
    let mut state = overview();
    let until = "2026-11-30T15:03:27.250Z".to_owned();
    let user = Pause {
        scope: PauseScope::User,
        app: "note-bridge".to_owned(),
        user: "<script>\u{202e}".to_owned(),
        until: until.clone(),
        ..Pause::default()
    };
    let all = Pause {
        until,
        ..Pause::default()
    };
    state.upstreams[0].pauses = vec![all, user];
    let html = rendered(state);
    for text in [
        "Background calls paused",
        "All of graph",
        "<time datetime=\"2026-11-30T15:03:27.250Z\">15:03:27 UTC</time>",
        "another <!>60 min",
        "User &lt;script&gt;\\u{202e}",
    ] {
        assert!(html.contains(text), "{text} in {html}");
    }
    assert!(!html.contains("<script>\u{202e}"));
    assert!(!rendered(overview()).contains("Background calls paused"));
}

#[test]
fn the_policy_of_the_page_allows_no_inline_style() {
    assert!(!rendered(overview()).contains("style=\""));
}

#[test]
fn every_table_has_its_body() {
    let html = rendered(overview());
    assert_eq!(
        html.matches("<table").count(),
        html.matches("<tbody").count()
    );
}

#[test]
fn no_data_yet_says_what_to_do() {
    let html = rendered(state(Vec::new()));
    assert!(html.contains("No calls yet.") && html.contains("http://127.0.0.1:3001/graph/"));
    assert!(!html.contains("role=\"meter\"") && !html.contains("cannot be reached"));
}

#[test]
fn names_are_text_and_never_markup() {
    let layers = super::fixture::onenote((120, 0), (399, 0), (0, 0));
    let html = rendered(state(vec![super::fixture::budget("<script>@x", layers)]));
    assert!(!html.contains("<script>@x") && html.contains("&lt;script&gt;@x"));
}

#[test]
fn what_was_changed_and_how_spillway_is_stands_below_and_names_are_texts() {
    let part = |name: &str, said: &str, is_trouble| HousePart {
        name: name.to_owned(),
        said: said.to_owned(),
        is_trouble,
    };
    let mut state = overview();
    assert!(!rendered(state.clone()).contains("Spillway itself"));
    state.house = Some(House {
        parts: vec![
            part("Database", "answers", false),
            part("Journal of graph", "9 s not on disk", true),
        ],
        throttled: 3,
        changes: vec![Change {
            at: "2026-11-30T13:41:00Z".to_owned(),
            who: "<b>noor</b>\u{202e}".to_owned(),
            what: "paused graph/background".to_owned(),
            why: "quarter close".to_owned(),
        }],
        more_changes: 2,
        attention: Vec::new(),
        unknown: String::new(),
    });
    let html = rendered(state.clone());
    for part in [
        "3 upstream 429s",
        "&lt;b&gt;noor&lt;/b&gt;\\u{202e}",
        "paused graph/background",
        "13:41:00 UTC",
        "\u{201c}quarter close\u{201d}",
        "and 2 more",
        "pill clear",
        "answers",
        "9 s not on disk",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    state.house = Some(House {
        unknown: "What was changed is not known.".to_owned(),
        ..House::default()
    });
    let html = rendered(state);
    assert!(html.contains("What was changed is not known."), "{html}");
    assert!(html.contains("No upstream 429"));
}
