//! Events that are reported again are answered again, and not counted.
//!
//! Ids are remembered as digests of 128 bits for at least as long as an event may be reported late,
//! and at most [`IDS_MAX`] of a shard: beyond, the oldest go first. What is new is handed over each
//! second, to be written to a file ([`super::id_file`]).

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};
use spillway::{Instant, flood::LATE_MS_MAX};

use super::{Report, Told};

/// So many ids of a generation are remembered, 48 bytes each: 16 shards and two generations of
/// them stay below 200 MB when all are used, which takes 250 ids a second for every minute.
pub(super) const IDS_MAX: usize = 131_072;

#[derive(Debug, Default)]
pub(super) struct Ids {
    now: HashMap<u128, Seen>,
    before: HashMap<u128, Seen>,
    /// When the generation that is filled began.
    since: Instant,
    /// What was noted since it was last handed over.
    new: Vec<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    told: Told,
    struck: bool,
}

/// An id that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// See [`digest`].
    pub(super) id: u128,
    /// When it was answered.
    pub(super) at: Instant,
    /// What it was answered.
    pub(super) told: Told,
    /// Whether its event was a strike.
    pub(super) struck: bool,
}

/// What tells the event of a report from all others, also after a restart; none: it has no id.
pub(super) fn digest(report: &Report<'_>) -> Option<u128> {
    let id = report.id.as_ref()?;
    let mut digest = Sha256::new();
    // Keys have no control characters, so that none can be read as two.
    let component = report.component.name();
    for part in [&*report.site, &*report.list, component, "", &**id] {
        digest.update(part);
        digest.update([0]);
    }
    let digest: [u8; 32] = digest.finalize().into();
    digest
        .first_chunk()
        .map(|first| u128::from_le_bytes(*first))
}

impl Ids {
    /// What an event was answered that has been reported before, and whether it was a strike.
    pub(super) fn seen(&mut self, now: Instant, id: u128) -> Option<(Told, bool)> {
        self.turn(now);
        let seen = self.now.get(&id).or_else(|| self.before.get(&id))?;
        Some((seen.told, seen.struck))
    }

    pub(super) fn note(&mut self, known: Known) {
        self.restore(known.at, known);
        if self.new.len() >= IDS_MAX {
            // They cannot be written: the file is told of the newest, as memory is.
            self.new.clear();
        }
        self.new.push(known);
    }

    /// One that was read from the file.
    pub(super) fn restore(&mut self, now: Instant, known: Known) {
        self.turn(now);
        if self.now.len() >= IDS_MAX {
            self.begin(now);
        }
        let Known { told, struck, .. } = known;
        self.now.insert(known.id, Seen { told, struck });
    }

    /// Hands over what is new.
    pub(super) fn take_new(&mut self) -> Vec<Known> {
        std::mem::take(&mut self.new)
    }

    /// A generation is filled for as long as a report may be late, and kept as long again.
    fn turn(&mut self, now: Instant) {
        if now.ms_since(self.since) > LATE_MS_MAX {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Instant) {
        self.before = std::mem::take(&mut self.now);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use spillway::flood::{Component, Decision, Trigger};

    use super::*;

    const TOLD: Told = Told {
        decision: Decision::Handle,
        count: 7,
        strikes: 1,
    };

    fn report<'a>(id: Option<&'a str>, list: &'a str) -> Report<'a> {
        Report {
            site: "s".into(),
            list: list.into(),
            component: Component::Action,
            trigger: Trigger::Event,
            id: id.map(Into::into),
            at: None,
        }
    }

    fn known(id: u128, at: Instant) -> Known {
        Known {
            id,
            at,
            told: TOLD,
            struck: true,
        }
    }

    #[test]
    fn an_id_is_that_of_its_list_and_component() {
        assert_eq!(digest(&report(None, "l")), None);
        let alert = Report {
            component: Component::Alert,
            ..report(Some("1"), "l")
        };
        let ids = [
            report(Some("1"), "l"),
            report(Some("2"), "l"),
            report(Some("1"), "m"),
            alert,
        ];
        let mut ids = ids.map(|report| digest(&report).unwrap()).to_vec();
        assert_eq!(digest(&report(Some("1"), "l")), Some(ids[0]));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn an_id_is_known_as_long_as_reports_may_be_late() {
        let mut ids = Ids::default();
        let begin = Instant(1_000_000_000);
        assert_eq!(ids.seen(begin, 1), None);
        ids.note(known(1, begin));
        assert_eq!(
            (ids.take_new(), ids.take_new()),
            (vec![known(1, begin)], vec![])
        );
        assert_eq!(ids.seen(begin, 2), None);
        for late in [0, LATE_MS_MAX, LATE_MS_MAX + 1] {
            let at = begin.plus_ms(late);
            assert_eq!(ids.seen(at, 1), Some((TOLD, true)), "{late}");
        }
        let over = begin.plus_ms(2 * LATE_MS_MAX + 3);
        assert_eq!(ids.seen(over, 1), None);
    }

    #[test]
    fn the_oldest_go_first() {
        let mut ids = Ids::default();
        let newest = 2 * IDS_MAX as u128;
        for id in 0..=newest {
            ids.note(known(id, Instant(1)));
        }
        assert!(ids.now.len() + ids.before.len() <= 2 * IDS_MAX);
        assert!(ids.new.len() <= IDS_MAX);
        assert_eq!(ids.seen(Instant(1), 0), None);
        assert!(ids.seen(Instant(1), newest).is_some());
    }
}
