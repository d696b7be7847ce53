//! Who paused or forced what, and why: shown beside it for as long as it is in force.
//!
//! The engine needs none of it, so it is kept here: written with what it is about, and in the
//! header of every file. The audit log has it for ever.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use spillway::{BudgetView, Instant, Key, Whose, policy::BreakerRules};
use spillway_app::live;

use super::Inner;
use super::view::{self, text};

/// The most notes of forced breakers, far more than people force at a time. The oldest is
/// forgotten for the newest.
const FORCED_MAX: usize = 1_000;

/// Who did it, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What people call whoever did it.
    pub who: String,
    /// In its own words.
    pub reason: String,
    /// When, Unix milliseconds.
    pub at_ms: i64,
}

/// The notes of an upstream. What is in force no more may still have one: it is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(super) struct Notes {
    pauses: BTreeMap<Whose, Note>,
    forced: BTreeMap<Key, Note>,
}

/// As they are written: JSON's names are texts.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default)]
    pauses: Vec<(Whose, Note)>,
    #[serde(default)]
    forced: Vec<(Key, Note)>,
}

impl Notes {
    pub(super) fn is_empty(&self) -> bool {
        self.pauses.is_empty() && self.forced.is_empty()
    }

    pub(super) fn of_pause(&self, whose: &Whose) -> Option<&Note> {
        self.pauses.get(whose)
    }

    /// A pause begins, or ends where there is no note.
    pub(super) fn pause(&mut self, whose: &Whose, note: Option<&Note>) {
        match note {
            Some(note) => drop(self.pauses.insert(whose.clone(), note.clone())),
            None => drop(self.pauses.remove(whose)),
        }
    }

    /// Forgets pauses but those that are in force.
    pub(super) fn keep_pauses(&mut self, in_force: &BTreeMap<Whose, Instant>) {
        self.pauses.retain(|whose, _| in_force.contains_key(whose));
    }

    /// Whose breakers were forced.
    pub(super) fn forced(&self) -> Vec<Key> {
        self.forced.keys().cloned().collect()
    }

    /// A breaker is forced, or reset where there is no note.
    pub(super) fn force(&mut self, key: &Key, note: Option<&Note>) {
        let Some(note) = note else {
            self.forced.remove(key);
            return;
        };
        self.forced.insert(key.clone(), note.clone());
        if self.forced.len() > FORCED_MAX {
            let oldest = self.forced.iter().min_by_key(|(_, note)| note.at_ms);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.inspect(|key| drop(self.forced.remove(key)));
        }
    }

    /// Takes over what a file's header says, in which workloads had these positions.
    pub(super) fn read(&mut self, header: Self, positions: &[Option<usize>]) {
        self.pauses.extend(header.pauses);
        for (mut key, note) in header.forced {
            if let Some(workload) = positions.get(key.workload).copied().flatten() {
                key.workload = workload;
                self.force(&key, Some(&note));
            }
        }
    }
}

impl Inner {
    /// A budget as it is shown, with who forced its breaker, and what the upstream's report is
    /// measured against. Takes the lock of the budget's shard for a moment.
    pub(super) fn shown(&self, budget: &BudgetView) -> live::Budget {
        let shown = view::shown(budget, &self.clock);
        let mut breaker = self.signed(&budget.key, shown.breaker);
        if breaker.reported_permille.is_some() {
            breaker.soft_permille = self.unusual_soft_permille(&budget.key);
        }
        live::Budget { breaker, ..shown }
    }

    fn unusual_soft_permille(&self, key: &Key) -> Option<u32> {
        let core = self.shards.lock(self.shards.of(&key.app));
        let soft = core.engine.policy(key.workload)?.breakers().soft_permille;
        (soft != BreakerRules::DEFAULT.soft_permille).then(|| soft.into())
    }

    /// A breaker with who forced it, if somebody did.
    pub(super) fn signed(&self, key: &Key, mut breaker: live::Breaker) -> live::Breaker {
        if breaker.reason == Some(live::BreakerReason::Forced) {
            breaker.by = self.notes().forced.get(key).map(live::SetBy::from);
        }
        breaker
    }
}

impl From<&Note> for live::SetBy {
    fn from(note: &Note) -> Self {
        let at = Timestamp::from_millisecond(note.at_ms);
        Self {
            who: note.who.clone(),
            reason: note.reason.clone(),
            at: at.map_or_else(|_| String::new(), text),
        }
    }
}

impl From<Written> for Notes {
    fn from(written: Written) -> Self {
        Self {
            pauses: written.pauses.into_iter().collect(),
            forced: written.forced.into_iter().collect(),
        }
    }
}

impl From<Notes> for Written {
    fn from(notes: Notes) -> Self {
        Self {
            pauses: notes.pauses.into_iter().collect(),
            forced: notes.forced.into_iter().collect(),
        }
    }
}
