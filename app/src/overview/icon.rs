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
    /// One call is tried: a disc cut in halves.
    Trying,
    /// More and more passes: an arrow upwards.
    Rising,
    /// What the upstream reported: the gauges' diamond.
    Report,
    /// Held back on purpose: two bars.
    Held,
    /// The overview: a house.
    Home,
    /// What may be used: a gate.
    Limits,
    /// Floods: waves.
    Flood,
    /// Trouble that somebody is told of: a bell.
    Alerts,
    /// What is one's own: sliders.
    Settings,
    /// What was done: lines.
    Log,
    /// What lets programs in: a key.
    Key,
    /// Who has an account: a head and shoulders.
    People,
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
            Self::Trying => "M5 12a7 7 0 1 1 14 0a7 7 0 1 1-14 0M12 5v14",
            Self::Rising => "M12 20V5M6 11l6-6 6 6",
            Self::Report => "M12 4l7 8-7 8-7-8z",
            Self::Log => "M5 6h14M5 12h14M5 18h9",
            Self::Key => "M4 16a4 4 0 1 0 8 0a4 4 0 1 0-8 0M11 13l9-9M16 8l3 3",
            Self::People => "M8 8a4 4 0 1 0 8 0a4 4 0 1 0-8 0M4 21c0-5 4-7 8-7s8 2 8 7",
            Self::Held => "M9 6v12M15 6v12",
            Self::Alerts => "M6 17h12l-2-3v-4a4 4 0 0 0-8 0v4zM10 20h4",
            Self::Settings => {
                "M4 7h9M19 7h1M13 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0M4 17h1M11 17h9M5 17a3 3 0 1 0 6 0a3 3 0 1 0-6 0"
            }
            Self::Flood => {
                "M3 7c3-3 6 3 9 0s6 3 9 0M3 13c3-3 6 3 9 0s6 3 9 0M3 19c3-3 6 3 9 0s6 3 9 0"
            }
            Self::Limits => "M3 4h18M6 4v16M18 4v16M6 13h12",
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
