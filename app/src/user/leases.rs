//! The leases that a user holds: calls that were granted and are not over.

use leptos::prelude::*;

use super::facts::{Cell, Facts};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{LaneName, Lease, UserState};
use crate::overview::Icon;
use crate::overview::pill::Label;
use crate::overview::wording::{count, plural};

const COLUMNS: [&str; 6] = [
    "Permit",
    "Lane",
    "Weight",
    "Granted",
    "Expires unless renewed",
    "Note",
];

/// The table.
#[component]
pub fn Leases(
    /// The user.
    user: Memo<UserState>,
) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let rows = Memo::new(move |_| {
        let now_ms = clock_ms.get();
        user.with(|user| user.leases.iter().map(|it| row(it, now_ms)).collect())
    });
    view! {
        <Facts
            title="Leases"
            beside=Signal::derive(move || user.with(how_many))
            columns=&COLUMNS
            rows=rows
            nothing="No call of this user runs now. A lease appears here with its grant and leaves with the end of its call, or when it expires."
        />
    }
    .erase()
}

/// `2 calls run`, `100 of 240 shown, the oldest first`.
fn how_many(user: &UserState) -> String {
    let (shown, all) = (user.leases.len() as u64, user.leases_total);
    match all {
        _ if all > shown => [
            &count(shown),
            " of ",
            &count(all),
            " shown, the oldest first",
        ]
        .concat(),
        1 => "1 call runs".to_owned(),
        _ => plural(all, "call") + " run",
    }
}

fn row(lease: &Lease, now_ms: i64) -> Vec<Cell> {
    let age = instant::ms_since(now_ms, &lease.granted_at).map(|ms| instant::age(ms) + " ago");
    let left = instant::ms_until(now_ms, &lease.expires_at);
    let left = left.map(|ms| ["in ", &instant::wait(ms)].concat());
    let lane = match lease.lane {
        LaneName::Foreground => "Foreground",
        LaneName::Background => "Background",
    };
    vec![
        // A number is a name here: no separators.
        Cell::text(lease.permit.to_string()),
        Cell::text(lane),
        Cell::text(count(lease.weight)),
        Cell::at(age.unwrap_or_default(), &lease.granted_at),
        Cell::at(left.unwrap_or_default(), &lease.expires_at),
        note(lease),
    ]
}

fn note(lease: &Lease) -> Cell {
    let label = |class, icon, word: &str| Label {
        class,
        icon,
        word: word.to_owned(),
        more: String::new(),
    };
    let probe = label("near", Icon::Trying, "Probe");
    let lingering = label("near", Icon::Near, "Lingering");
    let more = "its connection broke; it counts until it expires";
    match (lease.lingering, lease.probe) {
        (true, probe) => Cell {
            more: [if probe { "a probe; " } else { "" }, more].concat(),
            ..Cell::label(Some(lingering))
        },
        (false, true) => Cell {
            more: "the upstream is tried with it; not renewed".to_owned(),
            ..Cell::label(Some(probe))
        },
        (false, false) => Cell::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::fixture::{NOW, lease, user};

    #[test]
    fn a_lease_says_its_age_and_its_end() {
        let texts: Vec<_> = row(&lease(4_711), NOW)
            .into_iter()
            .map(|it| it.text)
            .collect();
        assert_eq!(
            texts,
            ["4711", "Foreground", "1", "8 s ago", "in 112 s", ""]
        );
        let late = row(&lease(1), NOW + 200_000);
        assert_eq!(late[4].text, "in 0 s");
    }

    #[test]
    fn what_is_special_has_a_word() {
        let said = |probe, lingering| {
            let cell = note(&Lease {
                probe,
                lingering,
                ..lease(1)
            });
            cell.label.map(|label| label.word)
        };
        assert_eq!(said(false, false), None);
        assert_eq!(said(true, false).as_deref(), Some("Probe"));
        assert_eq!(said(true, true).as_deref(), Some("Lingering"));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut user = user(Vec::new());
        assert_eq!(how_many(&user), "1 call runs");
        user.leases_total = 240;
        assert_eq!(how_many(&user), "1 of 240 shown, the oldest first");
    }
}
