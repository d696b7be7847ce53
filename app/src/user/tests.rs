//! The page as the server renders it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::live::{BreakerState, State, UserState};
use crate::overview::fixture::{onenote, throttled, tripped, user};
use crate::{App, Asked, Backend, SharedBackend};

struct Nobody;

impl Backend for Nobody {
    fn state(&self) -> State {
        State::default()
    }

    fn user(&self, _: &str, _: &str, _: &str) -> Option<UserState> {
        None
    }

    fn gateway_url(&self) -> String {
        "http://127.0.0.1:3001".to_owned()
    }
}

fn rendered(user: UserState) -> String {
    Owner::new_root(None).with(|| {
        provide_context::<SharedBackend>(Arc::new(Nobody));
        provide_context(Asked::User(Box::new(user)));
        App().to_html()
    })
}

#[test]
fn every_limit_breaker_queue_and_lease_is_there_with_its_values() {
    let mut ana = user(onenote((61, 12), (201, 96), (1, 0)));
    let open = throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
    let mut app = tripped("", open);
    app.layers = onenote((70, 0), (300, 0), (3, 0));
    ana.budgets.insert(0, app);
    ana.background.waiting = 7;
    let html = rendered(ana);
    assert_eq!(html.matches("role=\"meter\"").count(), 6);
    for text in [
        "aria-label=\"User ana@x: Hour\"",
        "aria-label=\"App note-bridge: Hour\"",
        "Graph throttles the app note-bridge; all its users are hit.",
        "Upstream throttles, next try in 12 s",
        ">4711<",
        "8 s ago",
        "in 112 s",
        "<time datetime=\"2026-11-30T14:05:19.250Z\">14:05:19 UTC</time>",
        "tenant x, app note-bridge",
        "Snapshot",
        "<a href=\"/\"",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn who_has_nothing_on_the_way_is_told_so() {
    let mut ana = user(onenote((0, 0), (0, 0), (0, 0)));
    ana.leases.clear();
    ana.leases_total = 0;
    let html = rendered(ana);
    assert!(html.contains("Nothing of ana@x is counted now."), "{html}");
    assert!(html.contains("No call of this user runs now."), "{html}");
}

#[test]
fn a_name_cannot_break_out_of_the_page() {
    let mut odd = user(Vec::new());
    odd.user = "<script>\u{202e}".to_owned();
    let html = rendered(odd);
    assert!(
        !html.contains("<script>\u{202e}") && !html.contains('\u{202e}'),
        "{html}"
    );
}
