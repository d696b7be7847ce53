//! What a policy would have done to recorded minutes.

use super::{event::ListKey, policy::Policy};
use crate::time::Instant;

/// The recorded count of one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute {
    /// Its first instant.
    pub starts: Instant,
    /// The number of its day in the site's time zone.
    pub day: i32,
    /// The events that came in it.
    pub count: u32,
}

/// What was recorded of a component on one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The list.
    pub key: ListKey,
    /// Its minutes, each at most once, the earliest first.
    pub minutes: Vec<Minute>,
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
    /// 95 % do.
    pub p95: u32,
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

/// What policies would have done to one component's recorded minutes, each list having its own.
/// Nobody re-enables.
#[must_use]
pub fn preview(recorded: &[Recorded], policy: impl Fn(&ListKey) -> Policy) -> Preview {
    let mut told = Preview {
        peaks: Peaks::of(recorded.iter().map(Recorded::peak).collect()),
        ..Preview::default()
    };
    for list in recorded {
        let counts = list.minutes.iter().map(|minute| u64::from(minute.count));
        told.events += counts.sum::<u64>();
        told.stopped.extend(replay(list, policy(&list.key)));
    }
    told.stopped
        .sort_by(|a, b| (b.events, b.strikes, &a.key).cmp(&(a.events, a.strikes, &b.key)));
    told
}

impl Recorded {
    /// The count of its busiest minute.
    #[must_use]
    pub fn peak(&self) -> u32 {
        let counts = self.minutes.iter().map(|minute| minute.count);
        counts.max().unwrap_or(0)
    }
}

fn replay(list: &Recorded, policy: Policy) -> Option<Stopped> {
    let mut stopped = Stopped {
        key: list.key.clone(),
        strikes: 0,
        events: 0,
        disabled: None,
    };
    let mut today = (i32::MIN, 0);
    for &Minute { starts, day, count } in &list.minutes {
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
            p95: at(950),
            p99: at(990),
            p999: at(999),
            max: at(1000),
        }
    }
}
