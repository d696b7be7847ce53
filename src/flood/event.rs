//! What is asked, and what is answered.

use std::fmt;

use crate::time::Instant;

/// What would handle the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Component {
    /// A rule that does something.
    Action,
    /// A rule that tells somebody.
    Alert,
    /// A rule that numbers items.
    ItemId,
    /// A rule that sums up.
    Summary,
}

/// What caused the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Trigger {
    /// Something changed in the list. Only these are counted.
    Event,
    /// A person asked for it: always handled.
    Manual,
    /// A time came: always handled.
    Timer,
}

/// A list. Its name repeats across sites.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ListKey {
    /// The site's key.
    pub site: String,
    /// The list's key within the site.
    pub list: String,
}

/// A day of the site's time zone, worked out by the driver for the event's instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Day {
    /// Days from 1970-01-01 to this local date.
    pub number: i32,
    /// The first instant that is no longer of this day.
    pub ends: Instant,
}

/// One event of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The site's key.
    pub site: &'a str,
    /// The list's key within the site.
    pub list: &'a str,
    /// What would handle it.
    pub component: Component,
    /// What caused it.
    pub trigger: Trigger,
    /// When it happened: now, or up to [`super::LATE_MS_MAX`] ago for one that was handled before
    /// it could be reported.
    pub at: Instant,
    /// The day of `at` in the site's time zone.
    pub day: Day,
}

/// What to do with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Decision {
    /// Handle it.
    Handle,
    /// Do not: the list has reached its threshold in this minute.
    Stop,
    /// Do not: the component is disabled on this list until a person re-enables it.
    Disabled,
    /// Do not: the list or its site is paused for bulk work.
    Paused,
}

/// What is answered to one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What to do with it.
    pub decision: Decision,
    /// The events counted in its minute so far, this one included if it was counted.
    pub count: u32,
    /// The strikes of its day so far.
    pub strikes: u32,
    /// What must be durable before the event is answered.
    pub strike: Option<Strike>,
}

/// A minute has reached the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Its number within the day, from 1.
    pub number: u32,
    /// The day's number, see [`Day::number`].
    pub day: i32,
    /// The minute's first instant.
    pub minute: Instant,
    /// The events counted in the minute with this one.
    pub count: u32,
    /// Whether it disabled the component; each such strike owes one mail.
    pub disables: bool,
}

/// Why an event was not looked at. Nothing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCounted {
    /// It happened too long ago: its minute is no longer kept.
    #[error("the event happened more than 15 minutes ago; report events within that time")]
    TooLate,
    /// As many lists are being counted as may be.
    #[error("as many lists are being counted as may be; try again in a minute")]
    Full,
}

impl Component {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Action, Self::Alert, Self::ItemId, Self::Summary];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Alert => "alert",
            Self::ItemId => "item_id",
            Self::Summary => "summary",
        }
    }

    pub(super) const fn position(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Decision {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handle => "handle",
            Self::Stop => "stop",
            Self::Disabled => "disabled",
            Self::Paused => "paused",
        }
    }
}

impl ListKey {
    /// The list `list` of the site `site`.
    #[must_use]
    pub fn new(site: impl Into<String>, list: impl Into<String>) -> Self {
        Self {
            site: site.into(),
            list: list.into(),
        }
    }
}
