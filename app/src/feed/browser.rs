//! Listens to the server's stream for as long as the page is open.
//!
//! `EventSource` reconnects by itself, but neither for ever nor with back-off, and it
//! hides how long it waits. So each one is closed at its first error and the next is
//! made here. The server begins every connection with a snapshot; nothing is resumed.
//!
//! A tab that slept notices by its own timer being late (or by being shown again) and
//! makes a new connection rather than trusting one that may have died with the network.
//!
//! Of several tabs one listens and passes on what it hears (see [`super::tabs`]); a tab
//! that hears nothing from it for too long listens for itself.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use leptos::leptos_dom::helpers::{
    TimeoutHandle, set_interval, set_timeout_with_handle, window_event_listener_untyped,
};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Event, EventSource, MessageEvent};

use super::Feed;
use super::poll::get;
use super::tabs::{Message, Tabs};
use crate::connection::{LATE_AFTER_MS, Line, SLEPT_AFTER_MS, STALE_AFTER_MS, retry_pause_ms};
use crate::live::parse;

/// Where the stream is, and where it is said who is signed in.
const URL: &str = "/api/v1/live";
const SESSION_URL: &str = "/api/v1/session";

/// How often ages are counted: often enough for one decimal to move.
pub const TICK: Duration = Duration::from_millis(250);

/// After these what was true before may be so no longer. `visibilitychange` is sent to the
/// document and bubbles up to the window.
pub const WAKES: [&str; 3] = ["online", "pageshow", "visibilitychange"];

/// How long another tab's answer, or its announced attempt, may be overdue before this one
/// listens for itself: timers of hidden tabs are slowed down.
const OVERDUE_MS: u64 = 3_000;

/// Starts to listen, for the life of the page.
pub fn start(feed: Feed) {
    let listener = Rc::new(Listener::new(feed));
    for event in WAKES {
        let listener = Rc::clone(&listener);
        // Dropping the handle does not remove it: the page listens until it is gone.
        let _ = window_event_listener_untyped(event, move |_| listener.check());
    }
    let ticking = Rc::clone(&listener);
    set_interval(move || ticking.tick(), TICK);
    feed.tick(now_ms());
    feed.connecting(now_ms());
    let tabs = Tabs::join(&listener);
    let alone = tabs.is_none();
    let _ = listener.tabs.set(tabs);
    if alone {
        listener.lead();
    }
}

/// The browser's clock, Unix milliseconds. Not the monotonic one: that stands still while
/// the machine sleeps, and a value grows old all the same.
pub fn now_ms() -> u64 {
    js_sys::Date::now() as u64
}

type Handler = Closure<dyn Fn(Event)>;

/// Owns the connection.
pub struct Listener {
    feed: Feed,
    /// Whether this tab has a stream of its own, or is to have one.
    leading: Cell<bool>,
    /// Whether there was a snapshot to apply deltas to.
    synced: Cell<bool>,
    source: RefCell<Option<EventSource>>,
    /// What the stream calls; kept for the page's life, as each new stream needs them.
    handlers: OnceCell<Vec<(&'static str, Handler)>>,
    next: Cell<Option<TimeoutHandle>>,
    attempt: Cell<u32>,
    ticked_ms: Cell<u64>,
    /// Since when an answer of the tab that listens is awaited.
    asked_ms: Cell<Option<u64>>,
    tabs: OnceCell<Option<Tabs>>,
}

impl Listener {
    fn new(feed: Feed) -> Self {
        Self {
            feed,
            leading: Cell::new(false),
            synced: Cell::new(false),
            source: RefCell::default(),
            handlers: OnceCell::new(),
            next: Cell::new(None),
            attempt: Cell::new(0),
            ticked_ms: Cell::new(now_ms()),
            asked_ms: Cell::new(None),
            tabs: OnceCell::new(),
        }
    }

    /// Opens a stream of its own, if there is none yet.
    pub fn lead(self: &Rc<Self>) {
        if !self.leading.replace(true) {
            self.connect();
        }
    }

    /// Takes what the tab that listens passed on.
    pub fn relayed(self: &Rc<Self>, message: Message<'_>) {
        match message {
            // A new tab, or one that missed something: the server begins each connection
            // with a snapshot, and this one goes to all tabs.
            Message::Hello if self.leading.get() && self.synced.get() => self.connect(),
            Message::Hello => {}
            _ if self.leading.get() => {}
            Message::Lost { pause_ms } => self.feed.lost(now_ms(), now_ms() + pause_ms),
            Message::SignedOut => self.feed.signed_out(),
            Message::Event { kind, data } => {
                self.asked_ms.set(None);
                // What cannot be read here could not be read there either.
                let _ = self.take(kind, data);
            }
        }
    }

    fn connect(self: &Rc<Self>) {
        self.disconnect();
        self.feed.connecting(now_ms());
        // An attempt that never gets an answer is given up for the next.
        self.schedule(STALE_AFTER_MS);
        match EventSource::new(URL) {
            Ok(source) => {
                self.attach(&source);
                *self.source.borrow_mut() = Some(source);
            }
            Err(_) => self.fail(),
        }
    }

    fn attach(self: &Rc<Self>, source: &EventSource) {
        let handlers = self.handlers.get_or_init(|| {
            let mut all = vec![("error", handler(self, |listener, _| listener.fail()))];
            for kind in ["snapshot", "delta", "heartbeat"] {
                let hear = move |listener: &Rc<Self>, event: Event| listener.hear(kind, &event);
                all.push((kind, handler(self, hear)));
            }
            all
        });
        for (name, handler) in handlers {
            // Fails for no name given here.
            let _ = source.add_event_listener_with_callback(name, handler.as_ref().unchecked_ref());
        }
    }

    fn disconnect(&self) {
        self.synced.set(false);
        if let Some(source) = self.source.borrow_mut().take() {
            source.close();
        }
        if let Some(next) = self.next.take() {
            next.clear();
        }
    }

    /// The stream broke, or could not be opened: says so, and tries again after a pause.
    fn fail(self: &Rc<Self>) {
        self.disconnect();
        let attempt = self.attempt.get();
        self.attempt.set(attempt.saturating_add(1));
        let pause_ms = retry_pause_ms(attempt, js_sys::Math::random());
        self.feed.lost(now_ms(), now_ms() + pause_ms);
        self.tell(Message::Lost { pause_ms });
        self.schedule(pause_ms);
        let listener = Rc::clone(self);
        spawn_local(async move { listener.ask_why().await });
    }

    /// An `EventSource` does not say why it failed: whether anybody is still signed in is asked.
    async fn ask_why(&self) {
        if matches!(get(SESSION_URL).await, Ok((401, _))) {
            self.feed.signed_out();
            self.tell(Message::SignedOut);
        }
    }

    fn schedule(self: &Rc<Self>, after_ms: u64) {
        let listener = Rc::clone(self);
        let again =
            set_timeout_with_handle(move || listener.connect(), Duration::from_millis(after_ms));
        if let Some(before) = self.next.replace(again.ok()) {
            before.clear();
        }
    }

    fn hear(self: &Rc<Self>, kind: &'static str, event: &Event) {
        let data = event
            .dyn_ref::<MessageEvent>()
            .and_then(|event| event.data().as_string())
            .unwrap_or_default();
        match self.take(kind, &data) {
            Some(()) => {
                if let Some(next) = self.next.take() {
                    next.clear();
                }
                self.attempt.set(0);
                self.tell(Message::Event { kind, data: &data });
            }
            // Another version of the server, or a broken line: begin again.
            None => self.fail(),
        }
    }

    /// Shows an event. Before the first snapshot there is nothing a change could change.
    fn take(&self, kind: &str, data: &str) -> Option<()> {
        match kind {
            "snapshot" => {
                self.feed.snapshot(parse(data)?, now_ms());
                self.synced.set(true);
            }
            _ if !self.synced.get() => {}
            // A heartbeat says as of when nothing changed.
            _ => self.feed.delta(parse(data)?, now_ms()),
        }
        Some(())
    }

    fn tick(self: &Rc<Self>) {
        let now_ms = now_ms();
        let slept = now_ms.saturating_sub(self.ticked_ms.replace(now_ms)) > SLEPT_AFTER_MS;
        self.feed.tick(now_ms);
        let connection = self.feed.connection.get_untracked();
        let dead = connection.is_dead(now_ms);
        let overdue = matches!(connection.line, Line::Lost { retry_at_ms, .. } if now_ms > retry_at_ms + OVERDUE_MS);
        match self.leading.get() {
            _ if slept => self.check(),
            // An attempt that is being made has its own end.
            true if dead && self.synced.get() => self.fail(),
            false if dead || overdue => self.ask(),
            _ => {}
        }
    }

    /// Asks the tab that listens how things are; one that doesn't answer is not waited for.
    fn ask(self: &Rc<Self>) {
        match self.asked_ms.get() {
            None => {
                self.asked_ms.set(Some(now_ms()));
                self.tell(Message::Hello);
            }
            Some(asked_ms) if now_ms().saturating_sub(asked_ms) > OVERDUE_MS => self.lead(),
            Some(_) => {}
        }
    }

    /// Something may have happened to the line: makes sure of it now rather than later.
    fn check(self: &Rc<Self>) {
        let connection = self.feed.connection.get_untracked();
        let silent = connection
            .heard_ms
            .is_none_or(|heard_ms| now_ms().saturating_sub(heard_ms) >= LATE_AFTER_MS);
        match (self.leading.get(), connection.line) {
            (true, Line::Lost { .. }) => self.connect(),
            (true, _) if silent => self.connect(),
            (false, _) if silent => self.ask(),
            _ => {}
        }
    }

    fn tell(&self, message: Message<'_>) {
        if let Some(Some(tabs)) = self.tabs.get() {
            tabs.tell(message);
        }
    }
}

fn handler(listener: &Rc<Listener>, handle: impl Fn(&Rc<Listener>, Event) + 'static) -> Handler {
    let listener = Rc::clone(listener);
    Closure::new(move |event| handle(&listener, event))
}
