//! What was asked for lately, so that other limits can be tried on it.
//!
//! Of each call: when, by whom under a keyed hash, its lane and weight, how long it could wait
//! and how long it ran. The key is random, in memory alone, and gone with the process: nobody
//! learns a name from what is here. Each shard keeps its apps' last [`CALLS_MAX`] calls.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher as _, RandomState},
};

use spillway::{Call, Instant, Lane, Permit};

/// The most calls that a shard keeps: five minutes of a hundred calls a second of one app.
const CALLS_MAX: usize = 32_768;

/// For how long calls are kept: longer than any rush that one wants to see again, in engine time.
pub(super) const KEPT_MS: u64 = 15 * 60_000;

/// One call that asked to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// When.
    pub(super) at: Instant,
    pub(super) workload: usize,
    /// Whose, by keyed hashes of their keys.
    pub(super) app: u64,
    pub(super) tenant: u64,
    pub(super) user: u64,
    pub(super) lane: Lane,
    pub(super) weight: u32,
    /// How long it could wait.
    pub(super) hold_ms: u64,
    pub(super) fate: Fate,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits, or runs: how long it will run is not known.
    Open,
    /// It was refused, or its caller left.
    Refused,
    /// It went, and ran for so many milliseconds.
    Ran(u64),
}

/// The number of a call that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenNumber(u64);

/// The last calls of one shard.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Hashes keys; the same for all shards of an upstream.
    names: RandomState,
    calls: VecDeque<Seen>,
    /// The number of the first of them.
    first: u64,
    /// Since when a permit's call runs, and its number.
    running: HashMap<Permit, (SeenNumber, Instant)>,
}

impl Traffic {
    pub(super) fn new(names: RandomState) -> Self {
        Self {
            names,
            calls: VecDeque::new(),
            first: 0,
            running: HashMap::new(),
        }
    }

    /// What stands for a name in calls; the same in all shards of an upstream.
    pub(super) fn name(&self, name: &str) -> u64 {
        self.names.hash_one(name)
    }

    /// A call asks.
    pub(super) fn asked(&mut self, at: Instant, call: &Call, hold_ms: u64) -> SeenNumber {
        self.forget(at);
        let number = SeenNumber(self.first + self.calls.len() as u64);
        self.calls.push_back(Seen {
            at,
            workload: call.workload,
            app: self.name(&call.app),
            tenant: self.name(&call.tenant),
            user: self.name(&call.user),
            lane: call.lane,
            weight: call.weight,
            hold_ms,
            fate: Fate::Open,
        });
        number
    }

    /// It may not go.
    pub(super) fn refused(&mut self, number: SeenNumber) {
        self.end(number, Fate::Refused);
    }

    /// It goes.
    pub(super) fn granted(&mut self, number: SeenNumber, permit: Permit, at: Instant) {
        self.running.insert(permit, (number, at));
    }

    /// A call that went is over.
    pub(super) fn ended(&mut self, permit: Permit, at: Instant) {
        if let Some((number, since)) = self.running.remove(&permit) {
            self.end(number, Fate::Ran(at.ms_since(since)));
        }
    }

    /// What was asked in the last [`KEPT_MS`], oldest first.
    pub(super) fn recent(&self, now: Instant) -> impl Iterator<Item = Seen> {
        let calls = self.calls.iter().copied();
        calls.filter(move |call| now.ms_since(call.at) < KEPT_MS)
    }

    fn end(&mut self, number: SeenNumber, fate: Fate) {
        let position = number.0.checked_sub(self.first);
        let position = position.and_then(|position| usize::try_from(position).ok());
        if let Some(call) = position.and_then(|position| self.calls.get_mut(position)) {
            call.fate = fate;
        }
    }

    /// Makes room for one more.
    fn forget(&mut self, now: Instant) {
        let is_old = |call: &Seen| now.ms_since(call.at) >= KEPT_MS;
        while self.calls.len() >= CALLS_MAX || self.calls.front().is_some_and(is_old) {
            self.calls.pop_front();
            self.first += 1;
        }
        // Calls whose permits expire say nothing of their end.
        if self.running.len() > 2 * CALLS_MAX {
            let first = self.first;
            self.running.retain(|_, (number, _)| number.0 >= first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(user: &str) -> Call {
        Call {
            workload: 0,
            app: "a".to_owned(),
            tenant: String::new(),
            user: user.to_owned(),
            lane: Lane::Foreground,
            weight: 2,
        }
    }

    #[test]
    fn calls_are_kept_with_what_became_of_them_and_nobody_s_name() {
        let mut traffic = Traffic::new(RandomState::new());
        let ann = traffic.asked(Instant(5), &call("ann"), 7);
        let ben = traffic.asked(Instant(6), &call("ben"), 0);
        let again = traffic.asked(Instant(7), &call("ann"), 0);
        traffic.granted(ann, Permit(1), Instant(8));
        traffic.refused(ben);
        traffic.ended(Permit(1), Instant(108));
        traffic.ended(Permit(1), Instant(200));
        traffic.granted(again, Permit(2), Instant(9));
        let seen: Vec<_> = traffic.recent(Instant(300)).collect();
        let fates: Vec<_> = seen.iter().map(|it| it.fate).collect();
        assert_eq!(fates, [Fate::Ran(100), Fate::Refused, Fate::Open]);
        assert_eq!(
            (seen[0].user, seen[0].hold_ms, seen[0].weight),
            (seen[2].user, 7, 2)
        );
        assert_ne!(seen[0].user, seen[1].user);
        assert!(!format!("{traffic:?}").contains("ann"));
        // Another process makes other numbers of the same names.
        let mut other = Traffic::new(RandomState::new());
        other.asked(Instant(5), &call("ann"), 7);
        assert_ne!(other.calls[0].user, seen[0].user);
    }

    #[test]
    fn it_is_bounded_in_number_and_in_time() {
        let mut traffic = Traffic::new(RandomState::new());
        let first = traffic.asked(Instant(0), &call("ann"), 0);
        for n in 0..2 * CALLS_MAX as u64 + 1 {
            let number = traffic.asked(Instant(1), &call("ann"), 0);
            traffic.granted(number, Permit(n), Instant(1));
        }
        assert_eq!(traffic.calls.len(), CALLS_MAX);
        // What is forgotten is nobody else now.
        traffic.refused(first);
        assert!(traffic.calls.iter().all(|call| call.fate == Fate::Open));
        traffic.asked(Instant(1), &call("ann"), 0);
        assert!(
            traffic.running.len() <= CALLS_MAX + 1,
            "{}",
            traffic.running.len()
        );
        traffic.asked(Instant(KEPT_MS + 1), &call("ann"), 0);
        assert_eq!(traffic.calls.len(), 1);
        assert_eq!(traffic.recent(Instant(3 * KEPT_MS)).count(), 0);
    }
}
