//! Sites spread over shards, so that events of different sites rarely wait for each other.

use std::{
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use spillway::flood::{Component, Guard, Policy, Settings};

use super::{days::Days, ids::Ids, places::Places};

/// As many as two dozen cores keep from waiting for one another; a few more cost nothing.
pub(super) const SHARDS: usize = 16;

/// The most lists counted at a time, over all shards: 100,000 active ones are to fit into 100 MB.
const LISTS_MAX: usize = 200_000;

#[derive(Debug)]
pub(super) struct Shards {
    all: Box<[Mutex<Shard>]>,
    /// As many, of which each has ids of any site: what is read from the file does not tell whose.
    ids: Box<[Mutex<Ids>]>,
    hasher: RandomState,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) guard: Guard,
    pub(super) days: Days,
    pub(super) places: Places,
}

impl Shards {
    pub(super) fn new() -> Self {
        let shard = || {
            let settings = Settings {
                // Names are not spread evenly.
                lists_max: LISTS_MAX / SHARDS * 2,
                seed: rand::random(),
            };
            Mutex::new(Shard {
                guard: Guard::new(settings, [Policy::default(); Component::ALL.len()]),
                days: Days::default(),
                places: Places::default(),
            })
        };
        Self {
            all: (0..SHARDS).map(|_| shard()).collect(),
            ids: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The site's.
    pub(super) fn of(&self, site: &str) -> MutexGuard<'_, Shard> {
        lock(&self.all[self.place(site)])
    }

    /// The ids among which this one is. Who holds both locks has taken this one first.
    pub(super) fn ids(&self, id: u128) -> MutexGuard<'_, Ids> {
        lock(&self.ids[self.place(id)])
    }

    /// All ids, some after others.
    pub(super) fn each_ids(&self) -> impl Iterator<Item = MutexGuard<'_, Ids>> {
        self.ids.iter().map(lock)
    }

    fn place(&self, of: impl Hash) -> usize {
        let place = self.hasher.hash_one(of) % SHARDS as u64;
        usize::try_from(place).unwrap_or(0)
    }

    /// All of them, one after another.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.all.iter().map(lock)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
