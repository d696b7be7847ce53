//! What became of the calls: totals by lane, and the last minute by seconds.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use spillway::{BlockedBy, Dimension, Lane, PerLane, Refusal, Scope, Signal, Verdict};
use spillway_app::live::{self, RECENT_SECONDS, Second};

/// The calls of one workload since the server started.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    lanes: PerLane<Totals>,
    holds: PerLane<Holds>,
    /// By lane and cause: as few as a policy has layers, and a few more.
    causes: Vec<(Lane, Cause, u64)>,
    recent: VecDeque<Second>,
    /// How many answers said that the upstream throttled.
    throttled: u64,
    /// The most that the upstream reported since it was last asked for, per mille.
    reported_permille: Option<u32>,
}

/// Upper bounds of how long calls are held, in seconds, up to the longest hold that clients bear.
pub const HOLD_BOUNDS_S: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// How long calls were held that were let through after a wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Holds {
    /// How many waited up to each of [`HOLD_BOUNDS_S`] and longer than the one before; the last
    /// those that waited longer than all.
    pub counts: [u64; HOLD_BOUNDS_S.len() + 1],
    /// All their waits together.
    pub sum: Duration,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A layer of a budget.
    Layer {
        /// Whose budget.
        scope: Scope,
        /// Which layer.
        dimension: Dimension,
    },
    /// A budget's breaker.
    Breaker {
        /// Whose budget.
        scope: Scope,
    },
    /// The upstream reported that little is left.
    Soft {
        /// Whose budget.
        scope: Scope,
    },
    /// An operator paused background calls.
    Paused,
    /// Others came first.
    Queue,
    /// It never fits.
    Impossible,
    /// As many users as may be are counted.
    Capacity,
    /// It cannot be written down.
    Storage,
}

impl From<&Refusal> for Cause {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Impossible { .. } => Self::Impossible,
            Refusal::Capacity { .. } => Self::Capacity,
            Refusal::Busy(busy) => match busy.blocked_by {
                BlockedBy::Layer { scope, dimension } => Self::Layer { scope, dimension },
                BlockedBy::Breaker { scope } => Self::Breaker { scope },
                BlockedBy::Soft { scope } => Self::Soft { scope },
                BlockedBy::Paused => Self::Paused,
                BlockedBy::Queue => Self::Queue,
            },
        }
    }
}

impl Holds {
    fn count(&mut self, hold: Duration) {
        let seconds = hold.as_secs_f64();
        let place = HOLD_BOUNDS_S.partition_point(|bound| *bound < seconds);
        self.counts[place] += 1;
        self.sum += hold;
    }

    fn add(&mut self, other: &Self) {
        for (own, others) in self.counts.iter_mut().zip(other.counts) {
            *own += others;
        }
        self.sum += other.sum;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    admitted: u64,
    held: u64,
    refused: u64,
    hold: Duration,
}

impl Totals {
    fn add(&mut self, other: Self) {
        self.admitted += other.admitted;
        self.held += other.held;
        self.refused += other.refused;
        self.hold += other.hold;
    }
}

impl Tally {
    /// A call of `lane` was let through, after `hold` if it had to wait, at `unix_s`.
    pub(super) fn admitted(&mut self, lane: Lane, hold: Option<Duration>, unix_s: u64) {
        let totals = self.lanes.get_mut(lane);
        totals.admitted += 1;
        totals.held += u64::from(hold.is_some());
        totals.hold += hold.unwrap_or_default();
        if let Some(hold) = hold {
            self.holds.get_mut(lane).count(hold);
        }
        let second = self.second(unix_s);
        second.admitted += 1;
        second.held += u32::from(hold.is_some());
    }

    /// A call of `lane` was refused at `unix_s` because of `cause`.
    pub(super) fn refused(&mut self, lane: Lane, cause: Cause, unix_s: u64) {
        self.lanes.get_mut(lane).refused += 1;
        self.add_cause(lane, cause, 1);
        self.second(unix_s).refused += 1;
    }

    /// The upstream's answer says something of its limits.
    pub(super) fn heard(&mut self, signal: &Signal) {
        self.throttled += u64::from(signal.verdict == Verdict::Throttled);
        self.reported_permille = self.reported_permille.max(reported_permille(signal));
    }

    /// How many answers said that the upstream throttled: 429 and the like.
    #[must_use]
    pub const fn throttled(&self) -> u64 {
        self.throttled
    }

    /// The most that the upstream reported of a limit since this was last asked, per mille.
    pub(super) const fn take_reported(&mut self) -> Option<u32> {
        self.reported_permille.take()
    }

    /// Counts what another shard's has counted as well.
    pub(super) fn add(&mut self, other: &Self) {
        for lane in Lane::ALL {
            self.lanes.get_mut(lane).add(*other.lanes.get(lane));
            self.holds.get_mut(lane).add(other.holds.get(lane));
        }
        for (lane, cause, count) in &other.causes {
            self.add_cause(*lane, *cause, *count);
        }
        self.throttled += other.throttled;
        let mut seconds: BTreeMap<_, Second> = BTreeMap::new();
        for second in self.recent.iter().chain(&other.recent) {
            let sum = seconds.entry(second.at).or_default();
            sum.at = second.at;
            sum.admitted += second.admitted;
            sum.held += second.held;
            sum.refused += second.refused;
        }
        self.recent = seconds.into_values().collect();
    }

    /// The last full seconds before `unix_s`, oldest first, those without calls included.
    pub(super) fn recent(&mut self, unix_s: u64) -> Vec<Second> {
        self.second(unix_s);
        self.recent
            .iter()
            .filter(|second| second.at < unix_s)
            .copied()
            .collect()
    }

    /// How long calls of a lane were held.
    #[must_use]
    pub fn holds(&self, lane: Lane) -> &Holds {
        self.holds.get(lane)
    }

    /// What calls have been refused for.
    pub fn causes(&self) -> impl Iterator<Item = Cause> {
        self.causes.iter().map(|(_, cause, _)| *cause)
    }

    /// How many calls of a lane were refused because of `cause`.
    #[must_use]
    pub fn refused_for(&self, lane: Lane, cause: Cause) -> u64 {
        let known = |(of, why, _): &&(Lane, Cause, u64)| *of == lane && *why == cause;
        self.causes
            .iter()
            .find(known)
            .map_or(0, |(.., count)| *count)
    }

    fn add_cause(&mut self, lane: Lane, cause: Cause, more: u64) {
        let known = self
            .causes
            .iter_mut()
            .find(|(of, why, _)| *of == lane && *why == cause);
        match known {
            Some((.., count)) => *count += more,
            None => self.causes.push((lane, cause, more)),
        }
    }

    /// What a lane's calls became; who waits now is not known here.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> live::Lane {
        let totals = self.lanes.get(lane);
        let hold_ms = u64::try_from(totals.hold.as_millis()).unwrap_or(u64::MAX);
        live::Lane {
            admitted: totals.admitted,
            held: totals.held,
            refused: totals.refused,
            hold_ms_mean: hold_ms.checked_div(totals.admitted).unwrap_or(0),
            ..live::Lane::default()
        }
    }

    /// The entry of `unix_s`; seconds since the last one are filled in, at most as many as are kept.
    fn second(&mut self, unix_s: u64) -> &mut Second {
        let kept = RECENT_SECONDS as u64;
        let last = self.recent.back().map_or(0, |second| second.at);
        // A wall clock that was set back goes on counting in the last second.
        let next = (last + 1).max(unix_s.saturating_sub(kept));
        for at in next..=unix_s {
            self.recent.push_back(Second {
                at,
                ..Second::default()
            });
        }
        while self.recent.len() > RECENT_SECONDS + 1 {
            self.recent.pop_front();
        }
        let newest = self.recent.len() - 1;
        &mut self.recent[newest]
    }
}

/// What a signal says of how full a limit is, per mille.
fn reported_permille(signal: &Signal) -> Option<u32> {
    let of_limit = || {
        let left = signal.remaining?;
        let limit = left.limit.filter(|limit| *limit > 0)?;
        let used = limit.saturating_sub(left.remaining);
        u32::try_from(used.saturating_mul(1_000) / limit).ok()
    };
    signal.percentage_permille.or_else(of_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_upstream_says_is_counted_and_its_worst_report_is_told_once() {
        let signal = |status, headers: &[(&str, &[u8])]| {
            spillway::signal::read(&spillway::signal::Answer {
                status,
                headers,
                body: b"",
                unix_ms: 0,
            })
        };
        let mut tally = Tally::default();
        tally.heard(&signal(200, &[]));
        assert_eq!((tally.throttled(), tally.take_reported()), (0, None));
        tally.heard(&signal(429, &[]));
        tally.heard(&signal(200, &[("x-ms-throttle-limit-percentage", b"0.9")]));
        tally.heard(&signal(200, &[("x-ms-throttle-limit-percentage", b"0.8")]));
        let mut all = Tally::default();
        all.add(&tally);
        assert_eq!(all.throttled(), 1);
        assert_eq!(
            (tally.take_reported(), tally.take_reported()),
            (Some(900), None)
        );
    }

    #[test]
    fn a_minute_is_kept_and_gaps_are_filled() {
        let mut tally = Tally::default();
        tally.admitted(Lane::Foreground, None, 1_000);
        tally.refused(Lane::Background, Cause::Queue, 1_003);
        let recent = tally.recent(1_004);
        let seen: Vec<_> = recent
            .iter()
            .map(|second| (second.at, second.admitted, second.refused))
            .collect();
        assert_eq!(
            seen[seen.len() - 4..],
            [(1_000, 1, 0), (1_001, 0, 0), (1_002, 0, 0), (1_003, 0, 1)]
        );
        assert_eq!(tally.recent(9_000).len(), RECENT_SECONDS);
    }

    #[test]
    fn the_mean_hold_is_over_all_admitted() {
        let mut tally = Tally::default();
        tally.admitted(Lane::Background, Some(Duration::from_millis(300)), 5);
        tally.admitted(Lane::Background, None, 5);
        let lane = tally.lane(Lane::Background);
        assert_eq!((lane.admitted, lane.held, lane.hold_ms_mean), (2, 1, 150));
        assert_eq!(tally.lane(Lane::Foreground), live::Lane::default());
    }

    #[test]
    fn holds_are_counted_in_the_first_bound_that_they_do_not_pass() {
        let mut tally = Tally::default();
        for hold_ms in [1, 50, 51, 60_000, 60_001] {
            let hold = Duration::from_millis(hold_ms);
            tally.admitted(Lane::Foreground, Some(hold), 5);
        }
        tally.admitted(Lane::Foreground, None, 5);
        let mut all = Tally::default();
        all.add(&tally);
        let counts = all.holds(Lane::Foreground).counts;
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(all.holds(Lane::Background).counts, [0; 11]);
    }

    #[test]
    fn refusals_are_told_apart_by_lane_and_cause() {
        let minute = Cause::Layer {
            scope: Scope::User,
            dimension: Dimension::Rate { window_ms: 60_000 },
        };
        let mut one = Tally::default();
        one.refused(Lane::Foreground, minute, 5);
        one.refused(Lane::Foreground, Cause::Queue, 5);
        let mut other = Tally::default();
        other.refused(Lane::Foreground, minute, 6);
        other.refused(Lane::Background, minute, 6);
        one.add(&other);
        assert_eq!(one.refused_for(Lane::Foreground, minute), 2);
        assert_eq!(one.refused_for(Lane::Background, minute), 1);
        assert_eq!(one.refused_for(Lane::Foreground, Cause::Queue), 1);
        assert_eq!(one.refused_for(Lane::Background, Cause::Queue), 0);
        assert_eq!(one.lane(Lane::Foreground).refused, 3);
    }
}
