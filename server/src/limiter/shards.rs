//! The cores of one upstream, each behind its own lock: apps that are in different shards
//! never wait for each other.
//!
//! No budget crosses apps, so an app's calls, breakers, pauses and views are its shard's
//! alone; who deals with an app asks [`Shards::of`]. All shards together share the bound on
//! users ([`Crowd`]), the pauses of the whole upstream and who holds which permit outside.
//! Each writes a journal of its own, but what is read back knows nothing of shards: records
//! find theirs again by the app.
//!
//! Whoever locks several shards at once locks them in their order.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

use super::core::{Core, Delivery};
use super::journal::Journal;
use crate::clock::Clock;

/// How many shards an upstream has: several for each core that a server of this kind has, so
/// that busy apps seldom meet in one. Files written with any other number are read back.
pub(super) const SHARDS: usize = 8;

/// A position among an upstream's shards.
pub(super) type ShardIndex = usize;

/// One core and what wakes its waiting calls. Each is on its own cache lines.
#[repr(align(128))]
struct Shard {
    core: Mutex<Core>,
    rearm: Notify,
}

/// All shards of an upstream.
pub(super) struct Shards {
    all: Box<[Shard]>,
    crowd: Crowd,
}

/// The shard, of so many, that everything of `app` belongs to.
pub(super) fn shard_of(app: &str, shards: usize) -> ShardIndex {
    crc32fast::hash(app.as_bytes()) as usize % shards
}

impl Shards {
    /// Of these cores, in their order, there is at least one.
    pub(super) fn new(cores: Vec<Core>, users_max: usize) -> Self {
        let shards = cores.into_iter().map(|core| Shard {
            core: Mutex::new(core),
            rearm: Notify::new(),
        });
        let shards = Self {
            all: shards.collect(),
            crowd: Crowd {
                users: AtomicUsize::new(0),
                users_max,
            },
        };
        shards
            .each()
            .for_each(|mut core| shards.crowd.count(&mut core));
        shards
    }

    pub(super) fn of(&self, app: &str) -> ShardIndex {
        shard_of(app, self.all.len())
    }

    pub(super) fn indices(&self) -> std::ops::Range<ShardIndex> {
        0..self.all.len()
    }

    pub(super) fn lock(&self, shard: ShardIndex) -> MutexGuard<'_, Core> {
        // A panic while it was held is a bug; the counts are still the best there are.
        let core = self.all[shard].core.lock();
        core.unwrap_or_else(PoisonError::into_inner)
    }

    /// How many users all shards count.
    pub(super) fn users(&self) -> usize {
        self.crowd.users.load(Ordering::Relaxed)
    }

    /// One locked core after the other.
    pub(super) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Core>> {
        self.indices().map(|shard| self.lock(shard))
    }

    /// Each shard's journal.
    pub(super) fn journals(&self) -> Vec<Journal> {
        self.each().map(|core| core.journal.clone()).collect()
    }

    /// Whether something of each shard can be written down.
    pub(super) fn are_writable(&self) -> bool {
        self.each().all(|core| !core.journal.is_broken())
    }

    /// What to wait for before anything of `shard` is due at another time.
    pub(super) fn rearmed(&self, shard: ShardIndex) -> impl Future<Output = ()> {
        self.all[shard].rearm.notified()
    }

    /// Does something to one core, then lets go what fits; says whom to tell when the lock
    /// is released.
    pub(super) fn with<T>(
        &self,
        shard: ShardIndex,
        clock: &Clock,
        act: impl FnOnce(&mut Core, &Clock) -> T,
    ) -> (T, Vec<Delivery>) {
        let mut core = self.lock(shard);
        let armed = core.engine.wake_at();
        self.crowd.bound(&mut core);
        let result = act(&mut core, clock);
        let deliveries = core.settle(clock);
        self.crowd.count(&mut core);
        self.rearm(shard, core, armed);
        (result, deliveries)
    }

    /// The same to all cores at once, for what concerns the whole upstream: nothing happens
    /// in any shard meanwhile.
    pub(super) fn with_all<T>(
        &self,
        clock: &Clock,
        act: impl FnOnce(&mut [MutexGuard<'_, Core>], &Clock) -> T,
    ) -> (T, Vec<Delivery>) {
        let mut cores: Vec<_> = self.each().collect();
        let armed: Vec<_> = cores.iter().map(|core| core.engine.wake_at()).collect();
        let result = act(&mut cores, clock);
        let mut deliveries = Vec::new();
        for ((shard, mut core), armed) in cores.into_iter().enumerate().zip(armed) {
            deliveries.extend(core.settle(clock));
            self.crowd.count(&mut core);
            self.rearm(shard, core, armed);
        }
        (result, deliveries)
    }

    /// Wakes who waits for the time at which `core` is due next, if that is another than
    /// `before`.
    fn rearm(
        &self,
        shard: ShardIndex,
        core: MutexGuard<'_, Core>,
        before: Option<spillway::Instant>,
    ) {
        let rearm = core.engine.wake_at() != before;
        drop(core);
        if rearm {
            self.all[shard].rearm.notify_one();
        }
    }
}

/// The users that all shards count. Shards that add users at the same instant may pass the
/// bound by one each.
struct Crowd {
    users: AtomicUsize,
    users_max: usize,
}

impl Crowd {
    /// Tells a core how many users it may count beside the others'.
    fn bound(&self, core: &mut Core) {
        let all = self.users.load(Ordering::Relaxed);
        let others = all.saturating_sub(core.users_counted);
        let users_max = self.users_max.saturating_sub(others);
        core.engine.bound_users(users_max);
    }

    /// Learns how many users a core counts now.
    fn count(&self, core: &mut Core) {
        let (before, now) = (core.users_counted, core.engine.users());
        if now != before {
            self.users.fetch_add(now, Ordering::Relaxed);
            self.users.fetch_sub(before, Ordering::Relaxed);
            core.users_counted = now;
        }
    }
}

#[cfg(test)]
mod tests;
