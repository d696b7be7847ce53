//! What one caller has taken of what all share, so that no token takes all of it.
//!
//! Each token has an account, each session and each network of callers. Where the server is open everybody
//! is the same caller, and only the bounds of all hold. An account costs a call nothing that
//! takes nothing: whoever waits, streams or makes a user key counts itself here, in its own
//! caller's counter, and is forgotten with its guard.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::config::PerToken;

/// The next account's number. Were all 2³² used, two accounts would share their users' bound.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// What one caller has taken.
#[derive(Debug)]
pub struct Account {
    number: NonZeroU32,
    bounds: PerToken,
    waiters: AtomicU32,
    streams: AtomicU32,
    users: AtomicU32,
}

/// One thing of which a caller may have only so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Good {
    /// Calls that wait.
    Waiters,
    /// Permits that are out.
    Permits,
    /// Live streams.
    Streams,
    /// User keys that hold counts.
    Users,
}

/// The caller has as many as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this caller has as many {} as one may, {max} (server.{}); {}",
    good.words(), good.key(), good.advice()
)]
pub struct Full {
    /// Of what.
    pub good: Good,
    /// How many it may have.
    pub max: u32,
}

/// Something that is taken; given back when dropped.
#[derive(Debug)]
pub struct Taken {
    account: Arc<Account>,
    good: Good,
}

impl Good {
    const fn words(self) -> &'static str {
        match self {
            Self::Waiters => "waiting calls",
            Self::Permits => "permits out at an upstream",
            Self::Streams => "open streams",
            Self::Users => "users that count",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Waiters => "max_waiters_per_token",
            Self::Permits => "max_permits_per_token",
            Self::Streams => "max_streams_per_token",
            Self::Users => "max_users_per_token",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Waiters => "come again when some of them have gone, or wait elsewhere",
            Self::Permits => "complete those whose calls have ended",
            Self::Streams => "close those that nobody reads",
            Self::Users => "come again when the windows of some have passed",
        }
    }
}

impl Account {
    /// Nothing taken yet.
    #[must_use]
    pub fn new(bounds: PerToken) -> Arc<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            number: NonZeroU32::new(number).unwrap_or(NonZeroU32::MAX),
            bounds,
            waiters: AtomicU32::new(0),
            streams: AtomicU32::new(0),
            users: AtomicU32::new(0),
        })
    }

    /// Tells it from all others of this process.
    #[must_use]
    pub const fn number(&self) -> NonZeroU32 {
        self.number
    }

    /// A place among its waiting calls.
    ///
    /// # Errors
    /// It has as many as it may.
    pub fn wait(self: &Arc<Self>) -> Result<Taken, Full> {
        self.take(Good::Waiters, self.bounds.waiters)
    }

    /// A live stream.
    ///
    /// # Errors
    /// It has as many as it may.
    pub fn stream(self: &Arc<Self>) -> Result<Taken, Full> {
        self.take(Good::Streams, self.bounds.streams)
    }

    /// Whether it has any.
    #[must_use]
    pub fn has_streams(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Whether it may make one more user key.
    ///
    /// # Errors
    /// It has made as many as it may that still count.
    pub fn may_open_user(&self) -> Result<(), Full> {
        let max = self.bounds.users;
        if self.users.load(Ordering::Relaxed) < max {
            return Ok(());
        }
        let good = Good::Users;
        Err(Full { good, max })
    }

    /// A user key came to be, or vanished. Calls that come together may pass the bound by one
    /// each.
    pub fn opened_user(&self, came: bool) {
        if came {
            self.users.fetch_add(1, Ordering::Relaxed);
        } else {
            self.users.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn take(self: &Arc<Self>, good: Good, max: u32) -> Result<Taken, Full> {
        let taken =
            self.counter(good)
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                    (taken < max).then_some(taken + 1)
                });
        taken.map_err(|_| Full { good, max })?;
        let account = Arc::clone(self);
        Ok(Taken { account, good })
    }

    const fn counter(&self, good: Good) -> &AtomicU32 {
        match good {
            Good::Waiters => &self.waiters,
            Good::Streams => &self.streams,
            // Permits are counted where they are written down, as they outlive the process.
            Good::Users | Good::Permits => &self.users,
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let counter = self.account.counter(self.good);
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: PerToken = PerToken {
        waiters: 2,
        permits: 1,
        streams: 1,
        users: 2,
    };

    #[test]
    fn what_is_taken_is_bounded_and_comes_back_with_its_guard() {
        let (account, other) = (Account::new(BOUNDS), Account::new(BOUNDS));
        let (first, _second) = (account.wait().unwrap(), account.wait().unwrap());
        let full = account.wait().unwrap_err();
        assert_eq!((full.good, full.max), (Good::Waiters, 2));
        assert!(other.wait().is_ok() && account.stream().is_ok());
        drop(first);
        assert!(account.wait().is_ok());
        assert_ne!(account.number(), other.number());
    }

    #[test]
    fn users_are_bounded_until_they_vanish() {
        let account = Account::new(BOUNDS);
        for _ in 0..2 {
            account.may_open_user().unwrap();
            account.opened_user(true);
        }
        let full = account.may_open_user().unwrap_err();
        let told = full.to_string();
        assert!(told.contains("2 (server.max_users_per_token)"), "{told}");
        account.opened_user(false);
        assert_eq!(account.may_open_user(), Ok(()));
    }

    #[test]
    fn threads_together_take_no_more_than_they_may() {
        let account = Account::new(PerToken {
            waiters: 10,
            ..BOUNDS
        });
        let taken: Vec<_> = std::thread::scope(|scope| {
            let threads = (0..8).map(|_| {
                let account = &account;
                scope.spawn(move || {
                    (0..8)
                        .filter_map(|_| account.wait().ok())
                        .collect::<Vec<_>>()
                })
            });
            let threads: Vec<_> = threads.collect();
            threads
                .into_iter()
                .flat_map(|it| it.join().unwrap())
                .collect()
        });
        assert_eq!(taken.len(), 10);
        drop(taken);
        assert_eq!(account.waiters.load(Ordering::Relaxed), 0);
    }
}
