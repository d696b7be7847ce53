//! The keys of a running page, shown under `?`.
//!
//! They are single characters, so whoever dictates or types by accident can switch them off, for
//! good (WCAG 2.2, 2.1.4). They are of no use before the page runs, and are not offered there.

use leptos::prelude::*;

use crate::erase::Erase;
use crate::feed::Feed;

/// The button and what it opens.
#[component]
pub fn Keys() -> impl IntoView {
    let feed = Feed::expect();
    let on = RwSignal::new(true);
    listen(feed, on);
    view! {
        <button
            type="button"
            class="quiet keys"
            class:absent=move || !feed.mounted.get()
            popovertarget="keys"
            aria-label="Keys"
        >
            "?"
        </button>
        <dialog id="keys" popover="auto" aria-label="Keys">
            <h2>"Keys"</h2>
            <dl>
                <dt><kbd>"?"</kbd></dt>
                <dd>"Show or hide this"</dd>
                <dt><kbd>"p"</kbd></dt>
                <dd>"Pause or resume updates"</dd>
                <dt><kbd>"o"</kbd></dt>
                <dd>"Go to the overview"</dd>
                <dt><kbd>"Esc"</kbd></dt>
                <dd>"Close this"</dd>
            </dl>
            <label class="mark">
                <input
                    type="checkbox"
                    prop:checked=move || on.get()
                    on:change=move |event| keep(on, event_target_checked(&event))
                />
                "Keys work in this browser"
            </label>
            <button type="button" popovertarget="keys" popovertargetaction="hide">"Close"</button>
        </dialog>
    }
    .erase()
}

#[cfg(feature = "hydrate")]
use browser::{keep, listen};

#[cfg(not(feature = "hydrate"))]
fn listen(_: Feed, _: RwSignal<bool>) {}

#[cfg(not(feature = "hydrate"))]
fn keep(_: RwSignal<bool>, _: bool) {}

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::ev;
    use leptos::leptos_dom::helpers::window_event_listener;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use web_sys::{Element, HtmlElement, KeyboardEvent, Storage};

    use crate::feed::Feed;
    use crate::pages::OVERVIEW_PATH;

    /// Under which the browser remembers that they are off.
    const OFF: &str = "keys-off";

    /// What is typed there is a text.
    const TYPED: &str = "input, select, textarea";

    pub fn listen(feed: Feed, on: RwSignal<bool>) {
        Effect::new(move |_| on.set(!is_off()));
        let listening = window_event_listener(ev::keydown, move |event| {
            if on.get_untracked() && is_bare(&event) {
                act(feed, &event.key());
            }
        });
        on_cleanup(move || listening.remove());
    }

    /// Switches them on or off, in all pages of this browser from now on.
    pub fn keep(on: RwSignal<bool>, wanted: bool) {
        on.set(wanted);
        if let Some(storage) = storage() {
            // Where nothing can be stored they are off until the page is left.
            let _ = match wanted {
                true => storage.remove_item(OFF),
                false => storage.set_item(OFF, "1"),
            };
        }
    }

    fn act(feed: Feed, key: &str) {
        match key {
            "?" => {
                let dialog = document().get_element_by_id("keys");
                let dialog = dialog.and_then(|it| it.dyn_into::<HtmlElement>().ok());
                let _ = dialog.map(|it| it.toggle_popover());
            }
            "p" => feed.toggle_pause(),
            "o" => {
                let _ = window().location().assign(OVERVIEW_PATH);
            }
            _ => {}
        }
    }

    /// Whether it is a key of the page: nothing else is held, and no text is being typed.
    fn is_bare(event: &KeyboardEvent) -> bool {
        let target = event.target().and_then(|it| it.dyn_into::<Element>().ok());
        let is_typed = target.is_some_and(|it| it.matches(TYPED).unwrap_or(false));
        !(event.ctrl_key() || event.alt_key() || event.meta_key() || is_typed)
    }

    fn is_off() -> bool {
        storage().is_some_and(|it| matches!(it.get_item(OFF), Ok(Some(_))))
    }

    fn storage() -> Option<Storage> {
        window().local_storage().ok().flatten()
    }
}
