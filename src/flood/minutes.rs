//! The counts of a list's last minutes: the running one, and those that late reports still reach.

use smallvec::SmallVec;

use super::{LATE_MS_MAX, MINUTE_MS};
use crate::time::Instant;

/// One minute's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// Its first instant.
    pub(super) starts: Instant,
    pub(super) count: u32,
    /// The number of its strike within the day; 0: none yet. A day has fewer minutes than this
    /// can number, and grace is shorter still: what is beyond need not be told apart.
    pub(super) strike: u16,
    /// Whether its count has changed since it was last written down.
    pub(super) changed: bool,
}

/// The counts of the last minutes, at most one for each minute from [`LATE_MS_MAX`] ago to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Minutes(SmallVec<[Counted; 1]>);

/// The first instant of the minute of `at`.
pub(super) const fn minute_of(at: Instant) -> Instant {
    Instant(at.0 - at.0 % MINUTE_MS)
}

/// Whether a late report may still reach the minute that starts then.
const fn reachable(starts: Instant, now: Instant) -> bool {
    now.ms_since(starts) < MINUTE_MS + LATE_MS_MAX
}

impl Minutes {
    pub(super) fn at(&self, at: Instant) -> Option<&Counted> {
        let starts = minute_of(at);
        self.0.iter().find(|minute| minute.starts == starts)
    }

    /// The minute of `at`, made if it is new; minutes that no report reaches any more go.
    pub(super) fn reach(&mut self, now: Instant, at: Instant) -> &mut Counted {
        let starts = minute_of(at);
        let known = self.0.iter().position(|minute| minute.starts == starts);
        let place = known.unwrap_or_else(|| {
            self.forget(now);
            if self.0.len() == self.0.capacity() {
                // From the one in place to four, and then to all sixteen: to double them again for
                // one that is going would cost as much once more.
                self.0.reserve_exact(if self.0.len() < 4 { 3 } else { 12 });
            }
            self.0.push(Counted {
                starts,
                count: 0,
                strike: 0,
                changed: false,
            });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.0.retain(|minute| reachable(minute.starts, now));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Counted> {
        self.0.iter_mut()
    }
}
