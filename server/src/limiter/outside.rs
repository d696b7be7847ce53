//! Permits in the hands of callers that call the upstream themselves: who holds which, and
//! for how long it can be spoken of.
//!
//! All shards share it: names do not say which app's call a permit is for, and the bounds are
//! the upstream's. Its lock is taken last, and held for a look-up.
//!
//! The engine knows permits by number; outside they have names that cannot be guessed
//! ([`PermitId`]) and an owner. A name is remembered until 15 minutes after its lease
//! expired, so that a completion that is repeated, or late, meets the same answer.
//! Permits that run are never forgotten: beyond [`RUNNING_MAX`] none is handed out, and none to
//! an owner who has its part of them, restarts included. Of
//! those that are over at most [`PAST_MAX`] are remembered.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use spillway::{Instant, Permit};

use super::hand_out::NotHandedOut;
use super::permit_id::PermitId;
use super::shards::ShardIndex;
use crate::access::{Full, Good};

/// The most permits that may be out at once, per upstream.
pub const RUNNING_MAX: usize = 100_000;

/// The most permits that are remembered after their end, per upstream; beyond, those that
/// would be forgotten first are.
const PAST_MAX: usize = 100_000;

/// For how long after its expiry a permit's name is known (the permit API's 15 minutes).
const KEPT: Duration = Duration::from_secs(15 * 60);

/// Whose permit it is: the token that took it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner(Cow<'static, str>);

impl Owner {
    /// Whoever asks, where the server is open and there are no tokens.
    pub const OPEN: Self = Self(Cow::Borrowed("open"));

    /// Its name: one that no other owner has.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The token of this id.
    #[must_use]
    pub fn token(id: &str) -> Self {
        Self(Cow::Owned(format!("token:{id}")))
    }
}

/// One permit outside, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Handed {
    pub(super) id: PermitId,
    pub(super) permit: Permit,
    /// Which shard knows the permit now; files outlive shards.
    #[serde(skip)]
    pub(super) shard: ShardIndex,
    pub(super) owner: Owner,
    pub(super) expires_at: Instant,
    /// Whether it was completed or given back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) ended: bool,
}

/// The permits outside as the shards share them. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Holders(Arc<Mutex<Outside>>);

impl Holders {
    pub(super) fn new(outside: Outside) -> Self {
        Self(Arc::new(Mutex::new(outside)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Outside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All permits outside, of one upstream.
#[derive(Debug)]
pub(super) struct Outside {
    kept_ms: u64,
    /// How many may run of one owner, unless the server is open.
    of_one_max: u32,
    /// How many run of each who has some.
    of_owner: HashMap<Owner, u32>,
    known: HashMap<PermitId, Handed>,
    /// Those that run, by their expiry.
    running: BTreeSet<(Instant, PermitId)>,
    /// Those that ended or expired, by the instant at which they are forgotten.
    past: BTreeSet<(Instant, PermitId)>,
    /// How many have expired.
    expired: u64,
}

impl Outside {
    /// None yet; `engine_ms` tells the engine's milliseconds in wall time. Of one owner at most
    /// `of_one_max` may run.
    pub(super) fn new(engine_ms: impl FnOnce(Duration) -> u64, of_one_max: u32) -> Self {
        Self {
            kept_ms: engine_ms(KEPT),
            of_one_max,
            of_owner: HashMap::new(),
            known: HashMap::new(),
            running: BTreeSet::new(),
            past: BTreeSet::new(),
            expired: 0,
        }
    }

    /// Whether one more may be handed out to `owner` now.
    ///
    /// # Errors
    /// As many are out as may be, of all or of its own.
    pub(super) fn room_for(&mut self, now: Instant, owner: &Owner) -> Result<(), NotHandedOut> {
        self.advance(now);
        if self.running.len() >= RUNNING_MAX {
            return Err(NotHandedOut::TooMany);
        }
        let own = self.of_owner.get(owner).copied().unwrap_or_default();
        if own < self.of_one_max || *owner == Owner::OPEN {
            return Ok(());
        }
        Err(NotHandedOut::Full(Full {
            good: Good::Permits,
            max: self.of_one_max,
        }))
    }

    /// How many run, and how many have expired.
    pub(super) fn counts(&mut self, now: Instant) -> (usize, u64) {
        self.advance(now);
        (self.running.len(), self.expired)
    }

    /// A permit goes outside.
    pub(super) fn insert(&mut self, handed: Handed) {
        if handed.ended {
            self.keep(&handed);
        } else {
            self.running.insert((handed.expires_at, handed.id));
            *self.of_owner.entry(handed.owner.clone()).or_default() += 1;
        }
        self.known.insert(handed.id, handed);
    }

    /// The permit that `owner` holds under this name; others' do not exist for it.
    pub(super) fn find(&mut self, now: Instant, owner: &Owner, id: PermitId) -> Option<&Handed> {
        self.advance(now);
        self.known.get(&id).filter(|handed| handed.owner == *owner)
    }

    /// It was completed or given back.
    pub(super) fn end(&mut self, id: PermitId) {
        let Some(handed) = self.known.get_mut(&id).filter(|handed| !handed.ended) else {
            return;
        };
        handed.ended = true;
        let handed = handed.clone();
        if self.running.remove(&(handed.expires_at, id)) {
            self.stopped(&handed.owner);
            self.keep(&handed);
        }
    }

    /// Its lease lasts longer.
    pub(super) fn extend(&mut self, id: PermitId, expires_at: Instant) {
        let Some(handed) = self.known.get_mut(&id) else {
            return;
        };
        if self.running.remove(&(handed.expires_at, id)) {
            handed.expires_at = expires_at;
            self.running.insert((expires_at, id));
        }
    }

    /// All of a shard's that are known.
    pub(super) fn of(&mut self, shard: ShardIndex, now: Instant) -> Vec<Handed> {
        self.advance(now);
        let of_shard = self.known.values().filter(|handed| handed.shard == shard);
        of_shard.cloned().collect()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.running.first()
            && at <= now
        {
            self.running.remove(&(at, id));
            self.expired += 1;
            if let Some(handed) = self.known.get(&id).cloned() {
                self.stopped(&handed.owner);
                self.keep(&handed);
            }
        }
        while let Some(&(at, id)) = self.past.first()
            && at <= now
        {
            self.forget(at, id);
        }
    }

    /// One of this owner's runs no more.
    fn stopped(&mut self, owner: &Owner) {
        if let Some(own) = self.of_owner.get_mut(owner) {
            *own -= 1;
            if *own == 0 {
                self.of_owner.remove(owner);
            }
        }
    }

    fn keep(&mut self, handed: &Handed) {
        let until = handed.expires_at.plus_ms(self.kept_ms);
        self.past.insert((until, handed.id));
        while let Some(&(at, id)) = self.past.first()
            && self.past.len() > PAST_MAX
        {
            self.forget(at, id);
        }
    }

    fn forget(&mut self, at: Instant, id: PermitId) {
        self.past.remove(&(at, id));
        self.known.remove(&id);
    }
}

/// Permits outside as they are read back: journals speak of them by their numbers.
pub(super) struct Restored {
    outside: Outside,
    ids: HashMap<Permit, PermitId>,
}

impl Restored {
    pub(super) fn new(outside: Outside) -> Self {
        let ids = HashMap::new();
        Self { outside, ids }
    }

    pub(super) fn insert(&mut self, handed: Handed) {
        self.ids.insert(handed.permit, handed.id);
        self.outside.insert(handed);
    }

    pub(super) fn extend(&mut self, permit: Permit, expires_at: Instant) {
        if let Some(id) = self.ids.get(&permit) {
            self.outside.extend(*id, expires_at);
        }
    }

    pub(super) fn end(&mut self, permit: Permit) {
        if let Some(id) = self.ids.get(&permit) {
            self.outside.end(*id);
        }
    }

    /// Whether somebody outside holds it, who will tell its end.
    pub(super) fn holds(&self, permit: Permit) -> bool {
        self.ids.contains_key(&permit)
    }

    pub(super) fn finish(self) -> Outside {
        self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn outside() -> Outside {
        Outside::new(|wall| u64::try_from(wall.as_millis()).unwrap(), 2)
    }

    fn handed(number: u64, expires_at: u64) -> Handed {
        Handed {
            id: PermitId::random(),
            permit: Permit(number),
            shard: 0,
            owner: Owner::OPEN,
            expires_at: Instant(expires_at),
            ended: false,
        }
    }

    fn knows(outside: &mut Outside, at: u64, id: PermitId) -> bool {
        outside.find(Instant(at), &Owner::OPEN, id).is_some()
    }

    #[test]
    fn a_name_is_known_until_15_minutes_after_expiry_and_to_its_owner_alone() {
        let mut outside = outside();
        let (running, ended) = (handed(1, 2 * MINUTE), handed(2, 2 * MINUTE));
        for handed in [&running, &ended] {
            outside.insert(handed.clone());
        }
        outside.end(ended.id);
        for id in [running.id, ended.id] {
            assert!(knows(&mut outside, 17 * MINUTE - 1, id));
            assert!(
                outside
                    .find(Instant(0), &Owner::token("another"), id)
                    .is_none()
            );
        }
        for id in [running.id, ended.id] {
            assert!(!knows(&mut outside, 17 * MINUTE, id));
        }
        assert_eq!((outside.known.len(), outside.past.len()), (0, 0));
    }

    #[test]
    fn a_renewed_permit_is_known_longer_and_an_expired_one_is_not_renewed() {
        let mut outside = outside();
        let it = handed(1, 2 * MINUTE);
        outside.insert(it.clone());
        outside.extend(it.id, Instant(4 * MINUTE));
        assert!(knows(&mut outside, 19 * MINUTE - 1, it.id));
        outside.extend(it.id, Instant(100 * MINUTE));
        assert!(!knows(&mut outside, 19 * MINUTE, it.id));
    }

    #[test]
    fn those_that_run_are_bounded_and_those_that_are_over_are_forgotten_first() {
        let mut outside = outside();
        let first = handed(0, 1);
        outside.insert(first.clone());
        for number in 1..=RUNNING_MAX as u64 {
            outside.insert(handed(number, 2 * MINUTE));
        }
        assert_eq!(
            outside.room_for(Instant(1), &Owner::OPEN),
            Err(NotHandedOut::TooMany)
        );
        let ids: Vec<_> = outside.known.keys().copied().collect();
        for id in ids {
            outside.end(id);
        }
        assert_eq!(outside.room_for(Instant(1), &Owner::OPEN), Ok(()));
        assert!(!knows(&mut outside, 1, first.id));
        assert_eq!(outside.known.len(), PAST_MAX);
    }
    #[test]
    fn one_owner_has_only_its_part_until_some_end_or_expire() {
        let mut outside = outside();
        let (one, other) = (Owner::token("one"), Owner::token("other"));
        let mut of = |number, expires_at| {
            let handed = Handed {
                owner: one.clone(),
                ..handed(number, expires_at)
            };
            outside.insert(handed.clone());
            handed.id
        };
        let (first, _expires) = (of(1, 2 * MINUTE), of(2, MINUTE));
        let full = outside.room_for(Instant(0), &one).unwrap_err();
        assert!(full.to_string().contains("max_permits_per_token"), "{full}");
        assert_eq!(outside.room_for(Instant(0), &other), Ok(()));
        assert_eq!(outside.room_for(Instant(MINUTE), &one), Ok(()), "expired");
        for _ in 0..2 {
            outside.end(first);
        }
        assert_eq!(outside.room_for(Instant(MINUTE), &one), Ok(()));
        assert!(outside.of_owner.is_empty());
    }
}
