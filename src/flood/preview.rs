//! What a policy would have done to recorded minutes.

use std::collections::BTreeMap;

use super::{event::ListKey, policy::Policy};
use crate::time::Instant;

/// The recorded count of one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minute {
    /// The list.
    pub key: ListKey,
    /// Its first instant.
    pub starts: Instant,
    /// The number of its day in the site's time zone.
    pub day: i32,
    /// The events that came in it.
    pub count: u32,
}

/// What a policy would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// How high lists' busiest minutes went.
    pub peaks: Peaks,
    /// The lists with a strike, by the events stopped, most first.
    pub stopped: Vec<Stopped>,
    /// The events recorded.
    pub events: u64,
}

/// Quantiles over lists of their busiest minute's count, by nearest rank; 0 without lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peaks {
    /// Half of the lists stay at or below.
    pub p50: u32,
    /// 90 % do.
    pub p90: u32,
    /// 99 % do.
    pub p99: u32,
    /// 99.9 % do.
    pub p999: u32,
    /// All do.
    pub max: u32,
}

/// A list that the policy would have struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The list.
    pub key: ListKey,
    /// Its strikes, over all days.
    pub strikes: u32,
    /// Its events that would not have been handled, those after its disablement included.
    pub events: u64,
    /// The first instant of the minute in which it would have been disabled, if it would.
    pub disabled: Option<Instant>,
}

/// What `policy` would have done to these minutes of one component, at most one for each list and
/// instant, in any order. Nobody re-enables.
#[must_use]
pub fn preview(recorded: Vec<Minute>, policy: Policy) -> Preview {
    let mut by_list: BTreeMap<ListKey, Vec<(Instant, i32, u32)>> = BTreeMap::new();
    for minute in recorded {
        let minutes = by_list.entry(minute.key).or_default();
        minutes.push((minute.starts, minute.day, minute.count));
    }
    let mut told = Preview::default();
    let mut peaks = Vec::with_capacity(by_list.len());
    for (key, mut minutes) in by_list {
        minutes.sort_unstable();
        peaks.push(minutes.iter().map(|minute| minute.2).max().unwrap_or(0));
        told.events += minutes
            .iter()
            .map(|minute| u64::from(minute.2))
            .sum::<u64>();
        told.stopped.extend(replay(key, &minutes, policy));
    }
    told.stopped
        .sort_by(|a, b| (b.events, b.strikes, &a.key).cmp(&(a.events, a.strikes, &b.key)));
    told.peaks = Peaks::of(peaks);
    told
}

fn replay(key: ListKey, minutes: &[(Instant, i32, u32)], policy: Policy) -> Option<Stopped> {
    let mut stopped = Stopped {
        key,
        strikes: 0,
        events: 0,
        disabled: None,
    };
    let mut today = (i32::MIN, 0);
    for &(starts, day, count) in minutes {
        if stopped.disabled.is_some() {
            stopped.events += u64::from(count);
            continue;
        }
        if count < policy.per_minute() {
            continue;
        }
        if today.0 != day {
            today = (day, 0);
        }
        today.1 += 1;
        stopped.strikes += 1;
        let disables = today.1 >= policy.strikes_per_day();
        if disables {
            stopped.disabled = Some(starts);
        }
        if disables || today.1 > policy.grace() {
            stopped.events += u64::from(count - policy.per_minute());
        }
    }
    (stopped.strikes > 0).then_some(stopped)
}

impl Peaks {
    fn of(mut peaks: Vec<u32>) -> Self {
        peaks.sort_unstable();
        let at = |permille: usize| {
            let rank = (peaks.len() * permille).div_ceil(1000).max(1);
            peaks.get(rank - 1).copied().unwrap_or(0)
        };
        Self {
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p999: at(999),
            max: at(1000),
        }
    }
}
