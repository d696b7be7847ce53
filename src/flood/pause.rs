//! Pauses for bulk work, of a list or of a site.

use smallvec::SmallVec;

use super::LATE_MS_MAX;
use crate::time::Instant;

/// From when until when events are neither handled nor counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pause {
    /// The first instant that is paused.
    pub since: Instant,
    /// The first instant that no longer is.
    pub until: Instant,
}

/// The most pauses kept: one that runs, and ended ones that late reports still reach. Whoever pauses and resumes more
/// often than that within [`LATE_MS_MAX`] has the oldest two taken as one.
const KEPT: usize = 16;

/// The pause in force and those that ended lately, by their start.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses(SmallVec<[Pause; 1]>);

impl Pauses {
    pub(super) fn covers(&self, at: Instant) -> bool {
        self.0
            .iter()
            .any(|pause| pause.since <= at && at < pause.until)
    }

    pub(super) fn in_force(&self, now: Instant) -> Option<Pause> {
        self.0
            .iter()
            .find(|pause| pause.since <= now && now < pause.until)
            .copied()
    }

    /// Paused until then; a pause in force gets the new end.
    pub(super) fn pause(&mut self, now: Instant, until: Instant) {
        self.forget(now);
        let running = self.0.iter_mut().find(|pause| now < pause.until);
        if let Some(pause) = running {
            pause.until = until;
        } else {
            self.0.push(Pause { since: now, until });
        }
        if self.0.len() > KEPT {
            let oldest = self.0.remove(0);
            self.0[0].since = oldest.since;
        }
    }

    /// Ends the pause in force. False if there was none.
    pub(super) fn resume(&mut self, now: Instant) -> bool {
        let running = self
            .0
            .iter_mut()
            .find(|pause| pause.since <= now && now < pause.until);
        let Some(pause) = running else { return false };
        pause.until = now;
        true
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.0
            .retain(|pause| now.ms_since(pause.until) <= LATE_MS_MAX);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn restore(&mut self, pause: Pause) {
        self.0.push(pause);
        self.0.sort_by_key(|pause| pause.since);
    }
}
