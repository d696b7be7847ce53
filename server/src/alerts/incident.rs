//! When trouble begins, is told, and is over: a pure machine, told what is wrong now.
//!
//! ```text
//!            wrong                 wrong for long                right for long
//! (nothing) ──────▶ going on ─────────────────────▶ due, told ─────────────────▶ over, told
//!                      │                               ▲
//!                      └── right for long: forgotten    └── wrong again before: the same incident
//! ```
//!
//! One message when it is told and one when it is over, whatever flaps in between. What is due
//! at the same time is told together, and no more often than so many times within an hour: what
//! comes beyond waits for the oldest of these hours to be over, and is told together then.
//!
//! A step changes nothing: it says what becomes of everything, and the driver goes on from there
//! once that is written down.

mod one;

use std::collections::{BTreeMap, VecDeque};

pub use one::{Incident, Subject, Trouble, Whose};

/// How long an hour is.
const HOUR_MS: i64 = 3_600_000;

/// The most incidents that go on at a time; what else is wrong then begins none.
pub const OPEN_MAX: usize = 500;

/// When something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// After so long in trouble.
    pub tell_after_ms: i64,
    /// So long without trouble, it is over.
    pub over_after_ms: i64,
    /// After the upstream throttled so often although everything fitted.
    pub drift_min: u32,
    /// At most so often within an hour.
    pub per_hour_max: usize,
}

/// What goes on, and when somebody was told of something lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Those of which somebody may still have to be told, the oldest first.
    all: Vec<Incident>,
    told_at_ms: VecDeque<i64>,
}

/// What a step comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What goes on from here.
    pub next: Incidents,
    /// Those that are to be written down.
    pub changed: Vec<Incident>,
    /// Of what somebody is told now, together.
    pub told: Vec<Incident>,
    /// How many troubles began no incident, as too many go on.
    pub left_out: usize,
}

impl Incidents {
    /// What went on when the process ended, and when somebody was told of something before.
    #[must_use]
    pub fn restored(all: Vec<Incident>, told_at_ms: impl IntoIterator<Item = i64>) -> Self {
        Self {
            all,
            told_at_ms: told_at_ms.into_iter().collect(),
        }
    }

    /// Those of which somebody may still have to be told.
    #[must_use]
    pub fn all(&self) -> &[Incident] {
        &self.all
    }

    /// What becomes of it all at `now_ms`, where this is wrong and nothing else.
    #[must_use]
    pub fn step(&self, now_ms: i64, wrong: &BTreeMap<Subject, Trouble>, rules: &Rules) -> Step {
        let mut next = self.clone();
        for incident in next.all.iter_mut().filter(|it| it.ended_at_ms.is_none()) {
            incident.go_on(now_ms, wrong.get(&incident.subject), rules);
        }
        let left_out = next.begin(now_ms, wrong, rules);
        let told = next.tell(now_ms, rules);
        let changed = next.changed_since(self);
        next.all.retain(|incident| !incident.is_settled());
        Step {
            next,
            changed,
            told,
            left_out,
        }
    }

    /// Begins what was not wrong before; how much of it found no room.
    fn begin(&mut self, now_ms: i64, wrong: &BTreeMap<Subject, Trouble>, rules: &Rules) -> usize {
        let goes_on = |all: &[Incident], subject: &Subject| {
            let mut all = all.iter();
            all.any(|it| it.ended_at_ms.is_none() && it.subject == *subject)
        };
        let mut left_out = 0;
        for (subject, trouble) in wrong {
            if trouble.is_wanted || goes_on(&self.all, subject) {
                continue;
            }
            if self.all.len() >= OPEN_MAX {
                left_out += 1;
                continue;
            }
            let mut incident = Incident::of(subject.clone(), now_ms);
            incident.go_on(now_ms, Some(trouble), rules);
            self.all.push(incident);
        }
        left_out
    }

    /// Tells what is due, if it may be told now.
    fn tell(&mut self, now_ms: i64, rules: &Rules) -> Vec<Incident> {
        while self
            .told_at_ms
            .front()
            .is_some_and(|at| now_ms.saturating_sub(*at) >= HOUR_MS)
        {
            self.told_at_ms.pop_front();
        }
        if self.told_at_ms.len() >= rules.per_hour_max || !self.all.iter().any(Incident::is_untold)
        {
            return Vec::new();
        }
        self.told_at_ms.push_back(now_ms);
        let untold = self.all.iter_mut().filter(|it| it.is_untold());
        let told = untold.map(|incident| {
            incident.told_at_ms.get_or_insert(now_ms);
            if incident.ended_at_ms.is_some() {
                incident.end_told_at_ms = Some(now_ms);
            }
            incident.clone()
        });
        told.collect()
    }

    /// Those that are not as they were, but for what every look finds anew.
    fn changed_since(&self, before: &Self) -> Vec<Incident> {
        let known = |incident: &Incident| {
            let mut all = before.all.iter();
            all.any(|it| it.differs_not(incident))
        };
        self.all.iter().filter(|it| !known(it)).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
