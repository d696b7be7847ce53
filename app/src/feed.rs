//! The one source of everything live on the page.
//!
//! The server renders the first [`State`] and writes it into the page; the browser reads
//! it from there, so that hydration shows exactly what was served. Then the stream's
//! events go through [`Feed`], which is in the root context: every component reads the
//! same signals, on the server and in the browser.

#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod tabs;

use leptos::prelude::*;
use serde::Serialize;

use crate::connection::{Connection, Freshness, Line};
use crate::instant;
use crate::live::{Delta, State};

/// The live state and how current it is.
#[derive(Clone, Copy)]
pub struct Feed {
    /// What the page shows.
    pub state: RwSignal<State>,
    /// The line to the server.
    pub connection: RwSignal<Connection>,
    /// The browser's clock, Unix milliseconds, some four times a second; 0 on the server.
    pub now_ms: RwSignal<u64>,
    /// Whether the page runs, rather than being as it was served.
    pub mounted: RwSignal<bool>,
    /// How current the page is.
    pub freshness: Memo<Freshness>,
    /// What the server's clock says, Unix milliseconds: when the state was true, and what
    /// has passed here since it came. It stands still while the page does, and while the
    /// values are old: they are then shown as they were.
    pub clock_ms: Memo<i64>,
    /// `14 s old`, for what is not current.
    pub age: Memo<String>,
    /// Where clients send their calls.
    pub gateway_url: StoredValue<String>,
    /// What came while the reader wanted a standstill.
    held: StoredValue<Option<State>>,
}

/// What the server writes into the page.
#[derive(Default, Serialize)]
struct Served {
    state: State,
    gateway_url: String,
}

#[cfg(feature = "hydrate")]
crate::live::structs! { Served { state gateway_url } }

impl Feed {
    /// Puts the feed into the context, filled with what the server served.
    pub fn provide() -> Self {
        let served = served();
        let connection = RwSignal::new(Connection::SERVED);
        let now_ms = RwSignal::new(0);
        let age = move || {
            let age = connection.with(|it| it.age_ms(now_ms.get()))?;
            Some(format!("{} old", instant::duration(age)))
        };
        let state = RwSignal::new(served.state);
        let freshness = Memo::new(move |_| connection.with(|it| it.freshness(now_ms.get())));
        let clock_ms = Memo::new(move |before: Option<&i64>| {
            let as_of = state.with(|it| instant::unix_ms(&it.as_of).unwrap_or_default());
            let stands = freshness.get().is_old() || freshness.get() == Freshness::Paused;
            let passed = connection.with(|it| it.age_ms(now_ms.get())).unwrap_or(0);
            match before {
                Some(before) if stands => as_of.max(*before),
                _ => as_of.saturating_add_unsigned(passed),
            }
        });
        let feed = Self {
            state,
            connection,
            clock_ms,
            now_ms,
            mounted: RwSignal::new(false),
            freshness,
            age: Memo::new(move |_| age().unwrap_or_default()),
            gateway_url: StoredValue::new(served.gateway_url),
            held: StoredValue::new(None),
        };
        provide_context(feed);
        feed
    }

    /// The feed of this page.
    ///
    /// # Panics
    /// Outside of [`crate::App`], which provides it.
    #[must_use]
    pub fn expect() -> Self {
        expect_context()
    }

    /// Begins to listen; does nothing on the server.
    pub fn start(self) {
        #[cfg(feature = "hydrate")]
        Effect::new(move |_| {
            self.mounted.set(true);
            browser::start(self);
        });
    }

    /// Time passed.
    pub fn tick(self, now_ms: u64) {
        self.now_ms.set(now_ms);
    }

    /// A connection is being made. After a loss the page keeps saying so until one stands.
    pub fn connecting(self, now_ms: u64) {
        self.connection.update(|it| {
            if it.line == Line::Served {
                it.line = Line::Connecting;
                it.heard_ms = Some(now_ms);
            }
        });
    }

    /// The connection is gone; the next attempt starts at `retry_at_ms`.
    pub fn lost(self, now_ms: u64, retry_at_ms: u64) {
        self.connection.update(|it| {
            let since_ms = match it.line {
                Line::Lost { since_ms, .. } => since_ms,
                _ => now_ms,
            };
            it.line = Line::Lost {
                since_ms,
                retry_at_ms,
            };
        });
    }

    /// The server sent everything.
    pub fn snapshot(self, state: State, now_ms: u64) {
        let restarted =
            self.current(|old| !old.started_at.is_empty() && old.started_at != state.started_at);
        if restarted {
            self.connection.update(|it| it.restarted_ms = Some(now_ms));
        }
        self.change(move |shown| *shown = state);
        self.heard(now_ms);
    }

    /// The server sent what changed.
    pub fn delta(self, delta: Delta, now_ms: u64) {
        self.change(move |shown| shown.apply(delta));
        self.heard(now_ms);
    }

    /// The server spoke.
    pub fn heard(self, now_ms: u64) {
        self.connection.update(|it| {
            it.line = Line::Open;
            it.heard_ms = Some(now_ms);
        });
        self.now_ms.set(now_ms);
    }

    /// Stops or resumes what is shown; what came meanwhile is shown at once on resuming.
    pub fn toggle_pause(self) {
        let now_ms = self.now_ms.get_untracked();
        let pause = self.connection.with_untracked(|it| it.paused_ms.is_none());
        if pause {
            self.held.set_value(Some(self.state.get_untracked()));
        } else if let Some(held) = self.held.try_update_value(Option::take).flatten() {
            self.state.set(held);
        }
        self.connection
            .update(|it| it.paused_ms = pause.then_some(now_ms));
    }

    /// Reads the newest state, shown or held.
    fn current<T>(self, read: impl FnOnce(&State) -> T) -> T {
        self.held.with_value(|held| match held {
            Some(held) => read(held),
            None => self.state.with_untracked(read),
        })
    }

    fn change(self, change: impl FnOnce(&mut State)) {
        let paused = self.held.with_value(Option::is_some);
        if paused {
            self.held.update_value(|held| {
                if let Some(held) = held {
                    change(held);
                }
            });
        } else {
            self.state.update(change);
        }
    }
}

/// What the page is served with. In the browser it is read from the page; only a page
/// without it starts empty, and the stream fills it.
#[cfg(not(feature = "hydrate"))]
fn served() -> Served {
    let served = from_backend();
    // Plain data: it can always be written.
    SharedValue::new_str(|| serde_json::to_string(&served).unwrap_or_default());
    served
}

#[cfg(feature = "hydrate")]
fn served() -> Served {
    let text = SharedValue::new_str(String::new).into_inner();
    crate::live::parse(&text).unwrap_or_default()
}

#[cfg(not(feature = "hydrate"))]
fn from_backend() -> Served {
    #[cfg(feature = "ssr")]
    if let Some(backend) = use_context::<crate::SharedBackend>() {
        return Served {
            state: backend.state(),
            gateway_url: backend.gateway_url(),
        };
    }
    Served::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(at: &str, as_of: &str) -> State {
        State {
            as_of: as_of.to_owned(),
            started_at: at.to_owned(),
            ..State::default()
        }
    }

    fn with_feed(test: impl FnOnce(Feed)) {
        let owner = Owner::new_root(None);
        owner.with(|| test(Feed::provide()));
    }

    #[test]
    fn a_restart_is_news_and_a_lost_line_is_not() {
        with_feed(|feed| {
            feed.connecting(1_000);
            feed.snapshot(started("a", "1"), 1_100);
            feed.lost(2_000, 2_500);
            feed.snapshot(started("a", "2"), 3_000);
            assert!(
                !feed
                    .connection
                    .with_untracked(|it| it.restart_is_news(3_000))
            );
            feed.lost(4_000, 4_500);
            feed.snapshot(started("b", "3"), 5_000);
            assert!(
                feed.connection
                    .with_untracked(|it| it.restart_is_news(5_000))
            );
            assert_eq!(feed.freshness.get_untracked(), Freshness::Live);
        });
    }

    #[test]
    fn a_loss_counts_from_its_beginning() {
        with_feed(|feed| {
            feed.lost(2_000, 2_500);
            feed.lost(2_600, 3_600);
            let line = feed.connection.with_untracked(|it| it.line);
            assert_eq!(
                line,
                Line::Lost {
                    since_ms: 2_000,
                    retry_at_ms: 3_600
                }
            );
        });
    }

    #[test]
    fn the_servers_clock_goes_on_between_its_words_and_stands_still_with_the_page() {
        with_feed(|feed| {
            let clock = || feed.clock_ms.get_untracked();
            feed.snapshot(started("a", "1970-01-01T00:01:00Z"), 5_000);
            assert_eq!(clock(), 60_000);
            feed.tick(5_750);
            assert_eq!(clock(), 60_750);
            feed.toggle_pause();
            feed.tick(9_000);
            assert_eq!(clock(), 60_750);
            feed.toggle_pause();
            feed.snapshot(started("a", "1970-01-01T00:01:05Z"), 10_000);
            feed.lost(10_250, 11_000);
            feed.tick(10_500);
            assert_eq!(clock(), 65_000);
        });
    }

    #[test]
    fn a_standstill_shows_the_newest_when_it_ends() {
        with_feed(|feed| {
            feed.snapshot(started("a", "1"), 1_000);
            feed.toggle_pause();
            feed.delta(started("a", "1").delta_to(&started("a", "2")), 9_000);
            feed.tick(9_000);
            let shown = || feed.state.with_untracked(|it| it.as_of.clone());
            assert_eq!(
                (shown(), feed.freshness.get_untracked()),
                ("1".to_owned(), Freshness::Paused)
            );
            assert_eq!(feed.age.get_untracked(), "8.0 s old");
            feed.toggle_pause();
            assert_eq!(
                (shown(), feed.freshness.get_untracked()),
                ("2".to_owned(), Freshness::Live)
            );
        });
    }
}
