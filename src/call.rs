//! What asks to go upstream: a call, its keys and its lane.

use std::fmt;

/// Whose budget is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Scope {
    /// One user of an app.
    User,
    /// The app within one tenant.
    Tenant,
    /// One application registration.
    App,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Self; 3] = [Self::User, Self::Tenant, Self::App];
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Tenant => "tenant",
            Self::App => "app",
        })
    }
}

/// Who waits for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Lane {
    /// A person waits.
    Foreground,
    /// A job.
    Background,
}

impl Lane {
    /// Both lanes, the better one first.
    pub const ALL: [Self; 2] = [Self::Foreground, Self::Background];
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
        })
    }
}

/// One value for each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PerLane<T> {
    /// The foreground's.
    pub foreground: T,
    /// The background's.
    pub background: T,
}

impl<T> PerLane<T> {
    /// The value of `lane`.
    #[must_use]
    pub const fn get(&self, lane: Lane) -> &T {
        match lane {
            Lane::Foreground => &self.foreground,
            Lane::Background => &self.background,
        }
    }

    /// The value of `lane`, to change it.
    pub const fn get_mut(&mut self, lane: Lane) -> &mut T {
        match lane {
            Lane::Foreground => &mut self.foreground,
            Lane::Background => &mut self.background,
        }
    }
}

impl PerLane<u64> {
    /// Both lanes together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.foreground.saturating_add(self.background)
    }

    pub(crate) const fn add(&mut self, more: Self) {
        self.foreground = self.foreground.saturating_add(more.foreground);
        self.background = self.background.saturating_add(more.background);
    }

    pub(crate) const fn take(&mut self, less: Self) {
        self.foreground = self.foreground.saturating_sub(less.foreground);
        self.background = self.background.saturating_sub(less.background);
    }
}

/// One call that wants to go upstream, and the keys it is charged to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    /// Which of the engine's workloads, by its position.
    pub workload: usize,
    /// The application's key.
    pub app: String,
    /// The tenant's key, empty where there is none.
    pub tenant: String,
    /// The user's key.
    pub user: String,
    /// Who waits for it.
    pub lane: Lane,
    /// What it costs in rate layers, at least 1. In a concurrency layer every call costs 1.
    pub weight: u32,
}

/// The right to make one upstream call. Numbers are never reused within a database's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Permit(pub u64);

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "permit {}", self.0)
    }
}
