//! One stream a browser, however many tabs.
//!
//! HTTP/1.1 lets a browser open six connections to a host; six tabs with a stream each
//! would leave none for anything else. So the tab that holds a Web Lock listens and
//! passes every event on over a `BroadcastChannel`; when it goes, the lock falls to the
//! next. Where a browser has neither (or the page is served over plain HTTP from another
//! host, where locks do not exist), each tab listens for itself.

use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{BroadcastChannel, MessageEvent};

use super::browser::Listener;

/// The name of the lock and of the channel.
const NAME: &str = "spillway-live";

/// What tabs tell each other.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// A tab came, or heard nothing for too long: please send everything.
    Hello,
    /// The listening tab lost its stream and tries again after a pause.
    Lost {
        /// Of so many milliseconds.
        pause_ms: u64,
    },
    /// The listening tab heard that nobody is signed in.
    SignedOut,
    /// The server said something.
    Event {
        /// The event's name.
        kind: &'a str,
        /// Its data.
        data: &'a str,
    },
}

/// The way to the other tabs.
pub struct Tabs {
    channel: BroadcastChannel,
    _on_message: Closure<dyn Fn(MessageEvent)>,
}

impl Tabs {
    /// Joins the other tabs, if the browser lets it. `listener` is told what they say, and
    /// to listen for itself once the lock is its own.
    pub fn join(listener: &Rc<Listener>) -> Option<Self> {
        let locks = Reflect::get(&window().navigator(), &"locks".into()).ok()?;
        let request: Function = Reflect::get(&locks, &"request".into())
            .ok()?
            .dyn_into()
            .ok()?;
        let channel = BroadcastChannel::new(NAME).ok()?;
        let hears = Rc::clone(listener);
        let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let text = event.data().as_string().unwrap_or_default();
            if let Some(message) = Message::read(&text) {
                hears.relayed(message);
            }
        });
        channel.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        let leads = Rc::clone(listener);
        let on_lock = Closure::once_into_js(move |_lock: JsValue| {
            leads.lead();
            // Held until the page is gone: this promise is never settled.
            Promise::new(&mut |_, _| {})
        });
        request.call2(&locks, &NAME.into(), &on_lock).ok()?;
        let tabs = Self {
            channel,
            _on_message: on_message,
        };
        tabs.tell(Message::Hello);
        Some(tabs)
    }

    /// Tells every other tab.
    pub fn tell(&self, message: Message<'_>) {
        // Only a closed channel refuses, and this one is never closed.
        let _ = self
            .channel
            .post_message(&JsValue::from_str(&message.write()));
    }
}

impl<'a> Message<'a> {
    fn write(self) -> String {
        match self {
            Self::Hello => "hello\n".to_owned(),
            Self::Lost { pause_ms } => format!("lost\n{pause_ms}"),
            Self::SignedOut => "signed-out\n".to_owned(),
            Self::Event { kind, data } => format!("{kind}\n{data}"),
        }
    }

    fn read(text: &'a str) -> Option<Self> {
        let (kind, data) = text.split_once('\n')?;
        Some(match kind {
            "hello" => Self::Hello,
            "lost" => Self::Lost {
                pause_ms: data.parse().ok()?,
            },
            "signed-out" => Self::SignedOut,
            kind => Self::Event { kind, data },
        })
    }
}
