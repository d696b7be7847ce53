//! The one source of everything live on the page.
//!
//! The server renders what is true first and writes it into the page; the browser reads it
//! from there, so that hydration shows exactly what was served. Then what the server says
//! goes through [`Feed`], which is in the root context: every component reads the same
//! signals, on the server and in the browser.
//!
//! The overview listens to the stream, which tells all browsers the same. The page of one
//! user asks for that user once a second while somebody sees it ([`poll`]): see there why.

#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod poll;
mod served;
#[cfg(feature = "hydrate")]
mod tabs;

use crate::connection::{Connection, Freshness, Line};
use crate::instant;
use crate::live::{Delta, State, UserState};
use crate::pages::Page;
use crate::visitor::Visitor;
use leptos::prelude::*;
use served::served;

/// What a page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Everything, or of a page without it the instants alone.
    pub state: State,
    /// The one user that the page is about.
    pub user: UserState,
}

/// The live state and how current it is.
#[derive(Clone, Copy)]
pub struct Feed {
    /// What the page shows.
    pub shown: RwSignal<Shown>,
    /// Which page it is.
    pub page: Page,
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
    /// Who looks at the page.
    pub visitor: StoredValue<Visitor>,
    /// What came while the reader wanted a standstill.
    held: StoredValue<Option<Shown>>,
}

impl From<UserState> for Shown {
    fn from(user: UserState) -> Self {
        Self {
            state: State {
                as_of: user.as_of.clone(),
                started_at: user.started_at.clone(),
                time_scale: user.time_scale,
                upstreams: Vec::new(),
                house: None,
            },
            user,
        }
    }
}

impl Feed {
    /// Puts the feed into the context, filled with what the server served.
    pub fn provide() -> Self {
        Self::filled(served())
    }

    /// The same for a page that the server alone renders, and that shows this.
    #[cfg(feature = "ssr")]
    pub fn of_snapshot(shown: Shown, visitor: Visitor) -> Self {
        Self::filled(served::Served {
            page: Page::Workload,
            shown,
            visitor,
            ..served::Served::default()
        })
    }

    fn filled(served: served::Served) -> Self {
        let connection = RwSignal::new(Connection::SERVED);
        let now_ms = RwSignal::new(0);
        let age = move || {
            let age = connection.with(|it| it.age_ms(now_ms.get()))?;
            Some(format!("{} old", instant::duration(age)))
        };
        let shown = RwSignal::new(served.shown);
        let freshness = Memo::new(move |_| connection.with(|it| it.freshness(now_ms.get())));
        let clock_ms = Memo::new(move |before: Option<&i64>| {
            let as_of = shown.with(|it| instant::unix_ms(&it.state.as_of).unwrap_or_default());
            let stands = freshness.get().is_old() || freshness.get() == Freshness::Paused;
            let passed = connection.with(|it| it.age_ms(now_ms.get())).unwrap_or(0);
            match before {
                Some(before) if stands => as_of.max(*before),
                _ => as_of.saturating_add_unsigned(passed),
            }
        });
        let feed = Self {
            shown,
            page: served.page,
            connection,
            clock_ms,
            now_ms,
            mounted: RwSignal::new(false),
            freshness,
            age: Memo::new(move |_| age().unwrap_or_default()),
            gateway_url: StoredValue::new(served.gateway_url),
            visitor: StoredValue::new(served.visitor),
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
            match self.page {
                Page::Overview => browser::start(self),
                Page::User => poll::start(self),
                // The server renders the others alone.
                _ => {}
            }
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

    /// The server says that nobody is signed in: that is why the line is lost.
    pub fn signed_out(self) {
        self.connection.update(|it| {
            // A line that came back meanwhile knows better.
            it.signed_out = matches!(it.line, Line::Lost { .. });
        });
    }

    /// The server sent everything.
    pub fn snapshot(self, state: State, now_ms: u64) {
        let user = UserState::default();
        self.replace(Shown { state, user }, now_ms);
    }

    /// The server said everything about the page's user.
    pub fn user(self, user: UserState, now_ms: u64) {
        self.replace(user.into(), now_ms);
    }

    fn replace(self, newer: Shown, now_ms: u64) {
        let started_at = self.current(|old| old.state.started_at.clone());
        if !started_at.is_empty() && started_at != newer.state.started_at {
            self.connection.update(|it| it.restarted_ms = Some(now_ms));
        }
        self.change(move |shown| *shown = newer);
        self.heard(now_ms);
    }

    /// The server sent what changed.
    pub fn delta(self, delta: Delta, now_ms: u64) {
        self.change(move |shown| shown.state.apply(delta));
        self.heard(now_ms);
    }

    /// The server spoke.
    pub fn heard(self, now_ms: u64) {
        self.connection.update(|it| {
            it.line = Line::Open;
            it.signed_out = false;
            it.heard_ms = Some(now_ms);
        });
        self.now_ms.set(now_ms);
    }

    /// Stops or resumes what is shown; what came meanwhile is shown at once on resuming.
    pub fn toggle_pause(self) {
        let now_ms = self.now_ms.get_untracked();
        let pause = self.connection.with_untracked(|it| it.paused_ms.is_none());
        if pause {
            self.held.set_value(Some(self.shown.get_untracked()));
        } else if let Some(held) = self.held.try_update_value(Option::take).flatten() {
            self.shown.set(held);
        }
        self.connection
            .update(|it| it.paused_ms = pause.then_some(now_ms));
    }

    /// Reads the newest, shown or held.
    fn current<T>(self, read: impl FnOnce(&Shown) -> T) -> T {
        self.held.with_value(|held| match held {
            Some(held) => read(held),
            None => self.shown.with_untracked(read),
        })
    }

    fn change(self, change: impl FnOnce(&mut Shown)) {
        let paused = self.held.with_value(Option::is_some);
        if paused {
            self.held.update_value(|held| {
                if let Some(held) = held {
                    change(held);
                }
            });
        } else {
            self.shown.update(change);
        }
    }
}

#[cfg(test)]
mod tests;
