//! A state as sign, word and colour together.

use leptos::prelude::*;

use super::icon::{Icon, Sign};
use super::wording::Zone;

/// What a pill says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The class that colours it.
    pub class: &'static str,
    /// Its sign.
    pub icon: Icon,
    /// Its word.
    pub word: String,
    /// What follows the word, in lighter type, with the punctuation between them.
    pub more: String,
}

impl Label {
    /// A pill in a zone's colour and sign.
    #[must_use]
    pub fn zone(zone: Zone, word: impl Into<String>) -> Self {
        Self {
            class: zone.class(),
            icon: Icon::of(zone),
            word: word.into(),
            more: String::new(),
        }
    }

    /// A pill for what is held back on purpose; no trouble.
    #[must_use]
    pub fn held(word: impl Into<String>) -> Self {
        Self {
            class: "quiet",
            icon: Icon::Held,
            word: word.into(),
            more: String::new(),
        }
    }
}

/// Draws a [`Label`].
#[component]
pub fn Pill(
    /// What to say.
    #[prop(into)]
    label: Signal<Label>,
) -> impl IntoView {
    let icon = Signal::derive(move || label.with(|label| label.icon));
    let more = move || {
        let more = label.with(|label| label.more.clone());
        (!more.is_empty()).then(|| view! { <span class="more">{more}</span> })
    };
    view! {
        <span class=move || label.with(|label| format!("pill {}", label.class))>
            <Sign icon=icon/>
            <span>
                {move || label.with(|label| label.word.clone())}
                {more}
            </span>
        </span>
    }
}
