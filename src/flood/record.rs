//! What must survive a restart. The driver keeps it; [`Guard`] tells what changed and takes it back.

use super::{
    event::{Component, Day, ListKey},
    guard::Guard,
    pause::Pause,
};
use crate::time::Instant;

/// Since when a component is disabled on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Disabled {
    /// When the strike came in.
    pub since: Instant,
    /// The strike's number within its day.
    pub strike: u32,
}

/// A strike, written down before its event was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StrikeRecord {
    /// The list.
    pub key: ListKey,
    /// The component.
    pub component: Component,
    /// The day it counts for.
    pub day: Day,
    /// Its number within the day, from 1.
    pub number: u32,
    /// The first instant of its minute.
    pub minute: Instant,
    /// The events counted in the minute when it came in.
    pub count: u32,
    /// When it came in.
    pub at: Instant,
}

/// A minute's count, written down at least each second.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MinuteRecord {
    /// The list.
    pub key: ListKey,
    /// The component.
    pub component: Component,
    /// The first instant of the minute.
    pub minute: Instant,
    /// The events counted in it.
    pub count: u32,
    /// When it was written down.
    pub at: Instant,
}

/// Restoring: strikes, disablements and re-enablements in the order in which they were written
/// down, so that what a re-enablement undid stays undone; minutes after them; pauses whenever.
impl Guard {
    /// Hands over the counts that changed since this or [`Guard::counts`] was last called.
    pub fn changed(&mut self, now: Instant, take: impl FnMut(MinuteRecord)) {
        self.hand_over(now, false, take);
    }

    /// Hands over all counts that reports can still reach.
    pub fn counts(&mut self, now: Instant, take: impl FnMut(MinuteRecord)) {
        self.hand_over(now, true, take);
    }

    fn hand_over(&mut self, now: Instant, all: bool, mut take: impl FnMut(MinuteRecord)) {
        for (site, list, component, state) in self.states_mut() {
            if !std::mem::take(&mut state.changed) && !all {
                continue;
            }
            // Those that no report reaches any more need no record.
            state.minutes.forget(now);
            for minute in state.minutes.iter_mut() {
                if !std::mem::take(&mut minute.changed) && !all {
                    continue;
                }
                take(MinuteRecord {
                    key: ListKey::new(site, list),
                    component,
                    minute: minute.starts,
                    count: minute.count,
                    at: now,
                });
            }
        }
    }

    /// The component was re-enabled on the list at `at`.
    pub fn restore_enabled(&mut self, key: &ListKey, component: Component, at: Instant) {
        self.state(key, component).restore_enabled(at);
    }

    /// The component is disabled on the list.
    pub fn restore_disabled(&mut self, key: &ListKey, component: Component, disabled: Disabled) {
        self.state(key, component).disabled = Some(disabled);
    }

    /// A strike that was written down.
    pub fn restore_strike(&mut self, now: Instant, record: &StrikeRecord) {
        self.state(&record.key, record.component)
            .restore_strike(now, record);
    }

    /// A count that was written down.
    pub fn restore_minute(&mut self, now: Instant, record: &MinuteRecord) {
        self.state(&record.key, record.component)
            .restore_minute(now, record);
    }

    /// The list is paused, or was lately.
    pub fn restore_list_pause(&mut self, key: &ListKey, pause: Pause) {
        self.list(key).pauses.restore(pause);
    }

    /// The site is paused, or was lately.
    pub fn restore_site_pause(&mut self, site: &str, pause: Pause) {
        self.site(site).pauses.restore(pause);
    }
}
