//! Events that are reported again are answered again, and not counted.
//!
//! Ids are remembered as hashes of 128 bits for at least as long as an event may be reported late,
//! and at most [`IDS_MAX`] of a shard: beyond, the oldest go first.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
};

use spillway::{Instant, flood::LATE_MS_MAX};

use super::{Report, Told};

/// So many ids of a generation are remembered, 40 bytes each: 16 shards and two generations of
/// them stay below 170 MB when all are used, which takes 250 ids a second for every minute.
const IDS_MAX: usize = 131_072;

#[derive(Debug)]
pub(super) struct Ids {
    hashers: [RandomState; 2],
    now: HashMap<u128, Seen>,
    before: HashMap<u128, Seen>,
    /// When the generation that is filled began.
    since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    told: Told,
    struck: bool,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            now: HashMap::new(),
            before: HashMap::new(),
            since: Instant(0),
        }
    }
}

impl Ids {
    /// What an event was answered that has been reported before, and whether it was a strike.
    pub(super) fn seen(&mut self, now: Instant, report: &Report) -> Option<(Told, bool)> {
        self.turn(now);
        let id = self.id(report)?;
        let seen = self.now.get(&id).or_else(|| self.before.get(&id))?;
        Some((seen.told, seen.struck))
    }

    pub(super) fn note(&mut self, now: Instant, report: &Report, told: Told, struck: bool) {
        let Some(id) = self.id(report) else { return };
        if self.now.len() >= IDS_MAX {
            self.begin(now);
        }
        self.now.insert(id, Seen { told, struck });
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

    fn id(&self, report: &Report) -> Option<u128> {
        let id = report.id.as_ref()?;
        let of = (&report.site, &report.list, report.component, id);
        let [high, low] = [0, 1].map(|n: usize| u128::from(hash(&self.hashers[n], of)));
        Some(high << 64 | low)
    }
}

fn hash(hasher: &RandomState, of: impl Hash) -> u64 {
    hasher.hash_one(of)
}

#[cfg(test)]
mod tests {
    use spillway::flood::{Component, Decision, Trigger};

    use super::*;

    fn report(id: Option<&str>, list: &str) -> Report {
        Report {
            site: "s".into(),
            list: list.into(),
            component: Component::Action,
            trigger: Trigger::Event,
            id: id.map(str::to_owned),
            at: None,
        }
    }

    #[test]
    fn an_id_is_known_for_its_list_and_as_long_as_reports_may_be_late() {
        let mut ids = Ids::default();
        let told = Told {
            decision: Decision::Handle,
            count: 7,
            strikes: 1,
        };
        let begin = Instant(1_000_000_000);
        assert_eq!(ids.seen(begin, &report(Some("1"), "l")), None);
        ids.note(begin, &report(Some("1"), "l"), told, true);
        ids.note(begin, &report(None, "l"), told, false);
        assert_eq!(ids.seen(begin, &report(Some("2"), "l")), None);
        assert_eq!(ids.seen(begin, &report(Some("1"), "m")), None);
        assert_eq!(ids.seen(begin, &report(None, "l")), None);
        for late in [0, LATE_MS_MAX, LATE_MS_MAX + 1] {
            let at = begin.plus_ms(late);
            assert_eq!(
                ids.seen(at, &report(Some("1"), "l")),
                Some((told, true)),
                "{late}"
            );
        }
        let over = begin.plus_ms(2 * LATE_MS_MAX + 3);
        assert_eq!(ids.seen(over, &report(Some("1"), "l")), None);
    }

    #[test]
    fn the_oldest_go_first() {
        let mut ids = Ids::default();
        let told = Told {
            decision: Decision::Stop,
            count: 1,
            strikes: 0,
        };
        for n in 0..2 * IDS_MAX + 1 {
            ids.note(Instant(1), &report(Some(&n.to_string()), "l"), told, false);
        }
        assert!(ids.now.len() + ids.before.len() <= 2 * IDS_MAX);
        assert_eq!(ids.seen(Instant(1), &report(Some("0"), "l")), None);
        let newest = (2 * IDS_MAX).to_string();
        assert!(ids.seen(Instant(1), &report(Some(&newest), "l")).is_some());
    }
}
