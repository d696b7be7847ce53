//! The page's small signs. They never stand alone: a word is always beside them.

use leptos::prelude::*;

use crate::erase::Erase;

use super::wording::Zone;

/// What a sign means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// All is well: a tick.
    Clear,
    /// Take care: an exclamation mark.
    Near,
    /// Nothing passes: a cross.
    Full,
    /// Held back on purpose: two bars.
    Held,
    /// The overview: a house.
    Home,
}

impl Icon {
    /// The sign of a zone.
    #[must_use]
    pub fn of(zone: Zone) -> Self {
        match zone {
            Zone::Clear => Self::Clear,
            Zone::Near => Self::Near,
            Zone::Full => Self::Full,
        }
    }

    /// SVG path data within 24 by 24.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Clear => "M5 12l5 5 9-10",
            Self::Near => "M12 4v9M12 18v.5",
            Self::Full => "M6 6l12 12M18 6L6 18",
            Self::Held => "M9 6v12M15 6v12",
            Self::Home => "M3 11l9-7 9 7v9h-6v-6H9v6H3z",
        }
    }
}

/// Draws a sign; screen readers skip it.
#[component]
pub fn Sign(
    /// Which.
    #[prop(into)]
    icon: Signal<Icon>,
) -> impl IntoView {
    view! {
        <svg class="sign" viewBox="0 0 24 24" aria-hidden="true">
            <path d=move || icon.get().path()></path>
        </svg>
    }
    .erase()
}
