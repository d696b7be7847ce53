//! Sites spread over shards, so that events of different sites rarely wait for each other.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use spillway::flood::{Component, Guard, Policy, Settings};

use super::{days::Days, ids::Ids};

/// As many as two dozen cores keep from waiting for one another; a few more cost nothing.
const SHARDS: usize = 16;

/// The most lists counted at a time, over all shards: 100,000 active ones are to fit into 100 MB.
const LISTS_MAX: usize = 200_000;

#[derive(Debug)]
pub(super) struct Shards {
    all: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) guard: Guard,
    pub(super) days: Days,
    pub(super) ids: Ids,
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
                ids: Ids::default(),
            })
        };
        Self {
            all: (0..SHARDS).map(|_| shard()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The site's.
    pub(super) fn of(&self, site: &str) -> MutexGuard<'_, Shard> {
        let place = self.hasher.hash_one(site) % self.all.len() as u64;
        lock(&self.all[usize::try_from(place).unwrap_or(0)])
    }

    /// All of them, one after another.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.all.iter().map(lock)
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
