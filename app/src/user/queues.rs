//! The user's calls that wait until there is room.

use leptos::prelude::*;

use super::facts::{Cell, Facts};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Queue, UserState};
use crate::overview::wording::count;

const COLUMNS: [&str; 3] = ["Lane", "Waiting", "Longest"];

/// The table.
#[component]
pub fn Queues(
    /// The user.
    user: Memo<UserState>,
) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let rows = Memo::new(move |_| {
        let now_ms = clock_ms.get();
        user.with(|user| {
            vec![
                row("Foreground", &user.foreground, now_ms),
                row("Background", &user.background, now_ms),
            ]
        })
    });
    view! {
        <Facts
            title="Waiting calls"
            beside=Signal::stored("held until there is room".to_owned())
            columns=&COLUMNS
            rows=rows
        />
    }
    .erase()
}

fn row(lane: &str, queue: &Queue, now_ms: i64) -> Vec<Cell> {
    let since = queue.since.as_deref().unwrap_or_default();
    let longest = instant::ms_since(now_ms, since).map(instant::age);
    vec![
        Cell::text(lane),
        Cell::text(count(queue.waiting)),
        Cell::at(longest.unwrap_or_default(), since),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::fixture::NOW;

    #[test]
    fn the_first_that_waits_has_its_age_and_instant() {
        let queue = Queue {
            waiting: 1_200,
            since: Some("2026-11-30T14:03:19.250Z".to_owned()),
        };
        let cells = row("Foreground", &queue, NOW);
        assert_eq!(
            (
                cells[1].text.as_str(),
                cells[2].text.as_str(),
                cells[2].at.as_str()
            ),
            ("1,200", "8 s", "2026-11-30T14:03:19.250Z")
        );
        let none = row("Foreground", &Queue::default(), NOW);
        assert_eq!((none[1].text.as_str(), &none[2]), ("0", &Cell::default()));
    }
}
