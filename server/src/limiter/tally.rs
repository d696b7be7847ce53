//! What became of the calls: totals by lane, and the last minute by seconds.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use spillway::{Lane, PerLane};
use spillway_app::live::{self, RECENT_SECONDS, Second};

/// The calls of one workload since the server started.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    lanes: PerLane<Totals>,
    recent: VecDeque<Second>,
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
        let second = self.second(unix_s);
        second.admitted += 1;
        second.held += u32::from(hold.is_some());
    }

    /// A call of `lane` was refused at `unix_s`.
    pub(super) fn refused(&mut self, lane: Lane, unix_s: u64) {
        self.lanes.get_mut(lane).refused += 1;
        self.second(unix_s).refused += 1;
    }

    /// Counts what another shard's has counted as well.
    pub(super) fn add(&mut self, other: &Self) {
        for lane in Lane::ALL {
            self.lanes.get_mut(lane).add(*other.lanes.get(lane));
        }
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

    /// What a lane's calls became; who waits now is not known here.
    pub(super) fn lane(&self, lane: Lane) -> live::Lane {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_kept_and_gaps_are_filled() {
        let mut tally = Tally::default();
        tally.admitted(Lane::Foreground, None, 1_000);
        tally.refused(Lane::Background, 1_003);
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
}
