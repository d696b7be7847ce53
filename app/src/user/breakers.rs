//! The breakers that a user's calls must pass: its own, its tenant's, its app's.

use leptos::prelude::*;

use super::facts::{Cell, Facts};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Budget, Scope, UserState};
use crate::overview::pill::Label;
use crate::overview::wording::{Zone, capital, plural};
use crate::overview::{breaker, name};

const COLUMNS: [&str; 5] = [
    "Of",
    "State",
    "Why, and what next",
    "Since",
    "Upstream said",
];

/// What the upstream's own limits of the app are of.
const GLOBAL: &str = "App, all workloads";

/// The table.
#[component]
pub fn Breakers(
    /// The user.
    user: Memo<UserState>,
) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let rows = Memo::new(move |_| {
        let now_ms = clock_ms.get();
        // Its own first: they come widest first.
        let rows = |user: &UserState| {
            let own = user.budgets.iter().rev().map(|it| (scope(it), it));
            let global = user.global.iter().map(|it| (GLOBAL, it));
            own.chain(global)
                .map(|(of, it)| row(of, it, now_ms))
                .collect()
        };
        user.with(rows)
    });
    view! {
        <Facts
            title="Breakers"
            beside=Signal::stored("what the upstream said, or an operator".to_owned())
            columns=&COLUMNS
            rows=rows
        />
    }
    .erase()
}

fn scope(budget: &Budget) -> &'static str {
    match budget.scope {
        Scope::User => "User",
        Scope::Tenant => "Tenant",
        Scope::App => "App",
    }
}

fn row(of: &str, budget: &Budget, now_ms: i64) -> Vec<Cell> {
    let breaker = &budget.breaker;
    let label = breaker::label(breaker).unwrap_or_else(|| Label::zone(Zone::Clear, "Closed"));
    let said = breaker::explanation(breaker, now_ms);
    let said = said.trim_start_matches([':', ' ']).to_owned();
    let drift = breaker::drift(breaker)
        .map(|drift| [drift, " (", &plural(u64::from(breaker.drift), "time"), ")"].concat());
    let by = breaker.by.as_ref().map(|by| {
        let (who, reason) = (name::in_words(&by.who), name::in_words(&by.reason));
        ["By ", &who, ": ", &reason].concat()
    });
    let since = breaker.since.as_deref().unwrap_or_default();
    let for_long = instant::ms_since(now_ms, since).map(|ms| ["for ", &instant::age(ms)].concat());
    let report = breaker
        .reported_permille
        .map(|permille| [&(permille / 10).to_string(), " % used"].concat());
    let reported_at = breaker.reported_at.as_deref().unwrap_or_default();
    let age = instant::ms_since(now_ms, reported_at).map(|ms| instant::age(ms) + " ago");
    vec![
        Cell::text(of),
        Cell::label(Some(label)),
        Cell {
            text: match said.as_str() {
                "" => "Calls pass".to_owned(),
                _ => capital(said),
            },
            more: by.or(drift).unwrap_or_default(),
            ..Cell::default()
        },
        Cell::at(for_long.unwrap_or_default(), since),
        Cell {
            text: report.unwrap_or_default(),
            more: age.unwrap_or_default(),
            ..Cell::default()
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Breaker, BreakerState};
    use crate::overview::fixture::{NOW, throttled, tripped};

    fn texts(breaker: Breaker) -> Vec<String> {
        let cells = row("User", &tripped("ana@x", breaker), NOW).into_iter();
        let text = |cell: Cell| {
            let label = cell.label.map(|label| label.word).unwrap_or_default();
            [label, cell.text, cell.more].concat()
        };
        cells.map(text).collect()
    }

    #[test]
    fn an_open_one_says_why_since_when_and_what_next() {
        let open = Breaker {
            since: Some("2026-11-30T14:03:19.250Z".to_owned()),
            reported_permille: Some(1_250),
            reported_at: Some("2026-11-30T14:03:23.000Z".to_owned()),
            drift: 2,
            ..throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"))
        };
        assert_eq!(
            texts(open),
            [
                "User",
                "Open",
                "Upstream throttles, next try in 12 sthrottled though room was left: someone else uses the quota, or the limit is lower (2 times)",
                "for 8 s",
                "125 % used4 s ago"
            ]
        );
    }

    #[test]
    fn a_closed_one_says_that_calls_pass() {
        assert_eq!(
            texts(Breaker::default()),
            ["User", "Closed", "Calls pass", "", ""]
        );
    }
}
