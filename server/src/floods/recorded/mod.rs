//! What is recorded of lists' minutes: what pages show of the last hour, and what a changed policy
//! is tried on.
//!
//! The counts that are written to the file each second ([`super::counts`]) come by here. The last
//! hour of a list stays in memory; minutes with [`RECORDED_FROM`] events or more and the busiest
//! minute of each day go into the database, in batches once a minute ([`keep`]). A crash costs
//! nothing more than it costs the file: what the file brings back comes by again, and the database
//! keeps the higher count.
//!
//! Bounds: [`LISTS_MAX`] hours in memory; in the database [`MINUTES_MAX`] minutes and [`PEAKS_MAX`]
//! days of lists for [`DAYS`] days, the quietest making room. What was left out for want of room is
//! written down, too, so that a preview says what it does not know.

mod due;
mod hour;
mod keep;
mod preview;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use jiff::Timestamp;
use spillway::{
    Instant,
    flood::{Component, ListKey, MINUTE_MS, Minute, MinuteRecord},
};

use super::{Floods, Stored};
use crate::store::FloodMinute;
use due::Due;
use hour::Hour;
pub use hour::MINUTES;
pub use preview::{Fate, NotTried, Outcome, Trial, Tried};

/// Minutes with fewer events are recorded only as the busiest of their day. A tenth of the usual
/// threshold, and a third of the lowest that was ever in use.
pub const RECORDED_FROM: u32 = 10;

/// How long minutes and days are recorded.
pub const DAYS: u64 = 30;

/// The most lists' components whose last hour is remembered, some 300 bytes each.
const LISTS_MAX: usize = 200_000;

/// The most minutes that wait to be written: twice what a minute of 5,000 busy lists takes.
const MINUTES_DUE_MAX: usize = 10_000;

/// The most days' busiest minutes that wait: one for each list that is counted.
const PEAKS_DUE_MAX: usize = 200_000;

/// The most minutes in the database, some 100 bytes each.
pub(super) const MINUTES_MAX: u32 = 500_000;

/// The most days of lists in the database: 30 days of 33,000 lists.
pub(super) const PEAKS_MAX: u32 = 1_000_000;

/// What is recorded in memory, and what of it is to be written.
#[derive(Debug)]
pub(super) struct Recorder {
    hashers: [RandomState; 2],
    lists: HashMap<u128, Known>,
    minutes: Due,
    peaks: Due,
    /// The minute in which was last written.
    written: Instant,
}

/// What is known of a component on a list.
#[derive(Debug, Default)]
struct Known {
    hour: Hour,
    /// The newest day, and the count of its busiest minute.
    day: i32,
    peak: u32,
}

/// A list's events of the last hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastHour {
    /// When the first of the minutes begins, by the wall clock.
    pub from: Timestamp,
    /// When the running one, the last, began.
    pub until: Timestamp,
    /// Of each component with any: the events of the [`MINUTES`] minutes, the running one last.
    pub components: Vec<(Component, [u32; MINUTES])>,
}

/// The busiest minute of a list's day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayPeak {
    /// The component.
    pub component: Component,
    /// The site's date, as days since 1970-01-01.
    pub day: i32,
    /// When the minute began.
    pub at: Timestamp,
    /// Its events.
    pub count: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            lists: HashMap::new(),
            minutes: Due::new(MINUTES_DUE_MAX),
            peaks: Due::new(PEAKS_DUE_MAX),
            written: Instant(0),
        }
    }
}

impl Recorder {
    /// A minute has so many events by now; `day` is the number of its day.
    pub(super) fn note(&mut self, record: &MinuteRecord, day: i32) {
        let minute = Minute {
            starts: record.minute,
            day,
            count: record.count,
        };
        let noted = |minute| FloodMinute {
            key: record.key.clone(),
            component: record.component,
            minute,
        };
        if self.remember(&record.key, record.component, minute) {
            self.peaks.add(i64::from(day), noted(minute));
        }
        if minute.count >= RECORDED_FROM {
            let number = i64::try_from(minute.starts.0 / MINUTE_MS).unwrap_or(i64::MAX);
            self.minutes.add(number, noted(minute));
        }
    }

    /// A minute that is in the database.
    pub(super) fn restore(&mut self, it: &FloodMinute) {
        self.remember(&it.key, it.component, it.minute);
    }

    /// True: it is the busiest of its day, as far as is known.
    fn remember(&mut self, key: &ListKey, component: Component, minute: Minute) -> bool {
        let name = self.name(key, component);
        if self.lists.len() >= LISTS_MAX && !self.lists.contains_key(&name) {
            return true;
        }
        let known = self.lists.entry(name).or_default();
        known.hour.note(minute.starts, minute.count);
        if minute.day > known.day {
            (known.day, known.peak) = (minute.day, 0);
        }
        // What is late, of a day before, is left to the database to compare.
        let busiest = minute.day < known.day || minute.count > known.peak;
        if minute.day == known.day {
            known.peak = known.peak.max(minute.count);
        }
        busiest
    }

    /// Forgets hours that are over. To be called now and then.
    pub(super) fn forget(&mut self, now: Instant) {
        self.lists.retain(|_, known| !known.hour.is_over(now));
    }

    fn hour(&self, key: &ListKey, component: Component, now: Instant) -> Option<[u32; MINUTES]> {
        let known = self.lists.get(&self.name(key, component))?;
        (!known.hour.is_over(now)).then(|| known.hour.until(now))
    }

    /// Names are long and many: 128 bits that nobody can foresee tell them apart.
    fn name(&self, key: &ListKey, component: Component) -> u128 {
        let [high, low] = [0, 1].map(|n: usize| {
            let hash = self.hashers[n].hash_one((&key.site, &key.list, component));
            u128::from(hash)
        });
        high << 64 | low
    }
}

impl Floods {
    /// A list's events by the minute in the last hour, up to a second ago. After a restart, minutes
    /// with less than [`RECORDED_FROM`] events of more than a quarter of an hour ago are missing.
    #[must_use]
    pub fn last_hour(&self, key: &ListKey) -> LastHour {
        let now = self.now();
        let recorder = self.recorder();
        let hours = Component::ALL
            .into_iter()
            .filter_map(|component| Some((component, recorder.hour(key, component, now)?)));
        let until = Instant(now.0 - now.0 % MINUTE_MS);
        let from = Instant(until.0.saturating_sub((MINUTES as u64 - 1) * MINUTE_MS));
        LastHour {
            from: self.clock().timestamp(from),
            until: self.clock().timestamp(until),
            components: hours.collect(),
        }
    }

    /// The busiest minute of each of a list's last [`DAYS`] days, the earliest first, up to a minute
    /// ago.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn day_peaks(&self, key: &ListKey) -> Stored<Vec<DayPeak>> {
        let since = Instant(self.now().0.saturating_sub(DAYS * 86_400_000));
        let peaks = self.inner.store.flood_peaks(key, since).await?;
        let peak = |it: FloodMinute| DayPeak {
            component: it.component,
            day: it.minute.day,
            at: self.clock().timestamp(it.minute.starts),
            count: it.minute.count,
        };
        Ok(peaks.into_iter().map(peak).collect())
    }
}
