//! Presets: limits that vendors publish, each with its source.

use crate::call::Scope;
use crate::policy::{Dimension, Error, Layer, Policy, Share};

/// A workload known by name: its limits, and which calls belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// OneNote behind Microsoft Graph.
    OneNote,
}

const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };
const HOUR: Dimension = Dimension::Rate {
    window_ms: 3_600_000,
};

impl Preset {
    /// All presets.
    pub const ALL: [Self; 1] = [Self::OneNote];

    /// The preset called `name` in configuration.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its name in configuration and in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneNote => "onenote",
        }
    }

    /// Its limits.
    ///
    /// # Errors
    /// None for the presets as they stand; a test makes each.
    pub fn policy(self) -> Result<Policy, Error> {
        match self {
            Self::OneNote => onenote(),
        }
    }

    /// The longest `Retry-After` in whole seconds that this vendor's SDKs obey: they stop
    /// retrying, or retry too early, from 180 s on (JavaScript 3.0.7, .NET and Python Kiota handlers).
    #[must_use]
    pub const fn retry_after_s_max(self) -> u32 {
        match self {
            Self::OneNote => 179,
        }
    }

    /// Whether a call to `path` (with its version prefix, without query) is limited by this workload.
    #[must_use]
    pub fn claims(self, path: &str) -> bool {
        match self {
            Self::OneNote => is_onenote(path),
        }
    }
}

/// 120 a minute, 400 an hour and 5 at once for each user; 240, 800 and 20 for the app.
///
/// Source: "OneNote service limits", Microsoft Graph throttling limits
/// (`includes/throttling-onenote.md` of microsoftgraph/microsoft-graph-docs-contrib). The
/// right-hand column is headed "app-only context"; it is read as a cap on the app over all
/// its users, the careful reading.
fn onenote() -> Result<Policy, Error> {
    let layers = [
        (Scope::User, MINUTE, 120),
        (Scope::User, HOUR, 400),
        (Scope::User, Dimension::Concurrency, 5),
        (Scope::App, MINUTE, 240),
        (Scope::App, HOUR, 800),
        (Scope::App, Dimension::Concurrency, 20),
    ];
    let layers = layers
        .into_iter()
        .map(|(scope, dimension, limit)| Layer::new(scope, dimension, limit));
    Policy::new(layers.collect::<Result<_, _>>()?, Share::HALF)
}

/// `…/{me | users/ID | groups/ID | sites/ID | users('ID')}/onenote/…`: OneNote is the only
/// Graph resource with a segment of that name, and Graph matches segments without regard to case.
fn is_onenote(path: &str) -> bool {
    path.split('/')
        .any(|segment| segment.eq_ignore_ascii_case("onenote"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_legal_and_found_by_name() {
        for preset in Preset::ALL {
            assert!(preset.policy().is_ok(), "{}", preset.name());
            assert_eq!(Preset::named(preset.name()), Some(preset));
        }
        assert_eq!(Preset::named("evernote"), None);
    }

    #[test]
    fn onenote_paths_are_claimed_and_others_are_not() {
        for path in [
            "/v1.0/me/onenote/notebooks",
            "/beta/users/u1/onenote/pages",
            "/v1.0/sites/s/OneNote/sections",
        ] {
            assert!(Preset::OneNote.claims(path), "{path}");
        }
        for path in [
            "/v1.0/me",
            "/v1.0/me/drive/root:/onenotes.txt",
            "/v1.0/users/onenote-fan",
        ] {
            assert!(!Preset::OneNote.claims(path), "{path}");
        }
    }
}
