//! Asks for the page's user once a second, for as long as somebody sees the page.
//!
//! The stream tells every browser the same and cannot carry what only one page shows; a
//! stream for each user that is looked at would soon use up the six connections that a
//! browser opens to a host. A question a second holds none of them, and costs the server
//! one computation for all who look at the same user.
//!
//! How old the values are is told from the last answer, whatever became of later
//! questions. A page that nobody sees asks nothing, and asks at once when it is seen again.

use std::cell::Cell;
use std::rc::Rc;

use leptos::leptos_dom::helpers::{set_interval, window_event_listener_untyped};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, RequestInit, Response};

use super::Feed;
use super::browser::{TICK, WAKES, now_ms};
use crate::connection::{STALE_AFTER_MS, retry_pause_ms};
use crate::live::{UserState, parse};

/// How often it is asked while all is well.
const EVERY_MS: u64 = 1_000;

/// What stands before a page's path where its values are.
const API: &str = "/api/v1";

/// Starts to ask, for the life of the page.
pub fn start(feed: Feed) {
    feed.tick(now_ms());
    feed.connecting(now_ms());
    let poller = Rc::new(Poller {
        feed,
        asking: Cell::new(false),
        due_ms: Cell::new(0),
        attempt: Cell::new(0),
    });
    for event in WAKES {
        let poller = Rc::clone(&poller);
        // Dropping the handle does not remove it: the page listens until it is gone.
        let _ = window_event_listener_untyped(event, move |_| {
            poller.due_ms.set(0);
            poller.tick();
        });
    }
    poller.tick();
    set_interval(move || poller.tick(), TICK);
}

struct Poller {
    feed: Feed,
    /// Whether a question is on its way.
    asking: Cell<bool>,
    /// When the next is due.
    due_ms: Cell<u64>,
    /// How many have failed in a row.
    attempt: Cell<u32>,
}

/// Why there is no answer.
enum Failed {
    /// The address means nobody any more: the configuration changed.
    Gone,
    /// Nobody is signed in any more.
    SignedOut,
    /// For now.
    Unanswered,
}

impl Poller {
    fn tick(self: &Rc<Self>) {
        self.feed.tick(now_ms());
        if self.asking.get() || document().hidden() || now_ms() < self.due_ms.get() {
            return;
        }
        self.asking.set(true);
        let poller = Rc::clone(self);
        spawn_local(async move {
            let answer = ask().await;
            poller.asking.set(false);
            poller.take(answer);
        });
    }

    fn take(&self, answer: Result<UserState, Failed>) {
        let now_ms = now_ms();
        match answer {
            Ok(user) => {
                self.attempt.set(0);
                self.due_ms.set(now_ms + EVERY_MS);
                self.feed.user(user, now_ms);
            }
            // The server says best what there is instead.
            Err(Failed::Gone) => {
                self.due_ms.set(u64::MAX);
                let _ = location().reload();
            }
            Err(failed) => {
                let attempt = self.attempt.get();
                self.attempt.set(attempt.saturating_add(1));
                let next_ms = now_ms + retry_pause_ms(attempt, js_sys::Math::random());
                self.due_ms.set(next_ms);
                self.feed.lost(now_ms, next_ms);
                if matches!(failed, Failed::SignedOut) {
                    self.feed.signed_out();
                }
            }
        }
    }
}

async fn ask() -> Result<UserState, Failed> {
    let url = url().map_err(|_| Failed::Unanswered)?;
    let (status, text) = get(&url).await.map_err(|_| Failed::Unanswered)?;
    match status {
        200 => parse(&text).ok_or(Failed::Unanswered),
        404 => Err(Failed::Gone),
        401 => Err(Failed::SignedOut),
        _ => Err(Failed::Unanswered),
    }
}

fn url() -> Result<String, JsValue> {
    let location = location();
    Ok([API, &location.pathname()?, &location.search()?].concat())
}

/// The status and the text of what is there.
pub async fn get(url: &str) -> Result<(u16, String), JsValue> {
    let options = RequestInit::new();
    // A question that gets no answer is given up for the next.
    options.set_signal(Some(&AbortSignal::timeout_with_u32(STALE_AFTER_MS as u32)));
    let response = JsFuture::from(window().fetch_with_str_and_init(url, &options)).await?;
    let response: Response = response.dyn_into()?;
    let text = JsFuture::from(response.text()?).await?;
    Ok((response.status(), text.as_string().unwrap_or_default()))
}
