//! How often somebody may try to sign in: per account and per address, in bounded memory.
//!
//! Each attempt fills a bucket of its account and one of its address, and both drain by
//! themselves; an attempt that would make one flow over is refused before a password is hashed,
//! and costs nothing. Names that nobody has count like any others.
//!
//! An account's bucket alone would let any stranger keep its owner out. So an address from
//! which somebody has signed in to an account has a bucket of its own for it: strangers
//! elsewhere do not fill that one.
//!
//! Nothing that still counts is forgotten. Where memory is full, those who are new share one
//! bucket. A restart forgets all: it is far slower than what the buckets allow.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// How many buckets there may be, and how many addresses that are known to accounts.
const BUCKETS_MAX: usize = 20_000;
const FRIENDS_MAX: usize = 10_000;

/// A bucket: how many attempts fit at once, and how long one takes to drain.
#[derive(Clone, Copy)]
struct Size {
    attempts: i64,
    drains_ms: i64,
}

/// 2,880 guesses a day, whoever guesses.
const OF_ACCOUNT: Size = Size {
    attempts: 10,
    drains_ms: 30_000,
};

/// More: people behind one address are many.
const OF_ADDRESS: Size = Size {
    attempts: 30,
    drains_ms: 10_000,
};

type NameHash = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Bucket {
    Account(NameHash),
    /// An account, from an address where somebody has signed in to it.
    Friend(NameHash, IpAddr),
    Address(IpAddr),
    /// Of all for whom there is no room.
    Others,
}

/// How often somebody may try.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// When each bucket is empty again, Unix milliseconds.
    empty_at_ms: HashMap<Bucket, i64>,
    friends: HashMap<(NameHash, IpAddr), i64>,
}

impl Throttle {
    /// Counts an attempt to sign in as `name` from `address` at `now`.
    ///
    /// # Errors
    /// How long until the next may be made; this one does not count.
    pub fn attempt(&self, name: &str, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let now_ms = now.as_millisecond();
        let mut known = self.known();
        known.forget(now_ms);
        let buckets = known.buckets(name, address);
        let full = buckets.map(|bucket| known.full_until_ms(bucket, now_ms));
        let wait_ms = full.into_iter().max().unwrap_or(now_ms) - now_ms;
        if wait_ms > 0 {
            return Err(Duration::from_millis(wait_ms.unsigned_abs()));
        }
        for bucket in buckets {
            known.fill(bucket, now_ms);
        }
        Ok(())
    }

    /// Takes back the attempt that has let somebody in.
    pub fn succeeded(&self, name: &str, address: IpAddr, now: Timestamp) {
        let mut known = self.known();
        for bucket in known.buckets(name, address) {
            if let Some(at_ms) = known.empty_at_ms.get_mut(&bucket) {
                *at_ms -= bucket.size().drains_ms;
            }
        }
        if known.friends.len() < FRIENDS_MAX {
            let friend = (hash(name), network(address));
            known.friends.insert(friend, now.as_millisecond());
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Numbers are whole whatever panicked meanwhile.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn buckets(&self, name: &str, address: IpAddr) -> [Bucket; 2] {
        let (name, address) = (hash(name), network(address));
        let account = match self.friends.contains_key(&(name, address)) {
            true => Bucket::Friend(name, address),
            false => Bucket::Account(name),
        };
        [account, Bucket::Address(address)].map(|bucket| {
            let room = self.empty_at_ms.len() < BUCKETS_MAX;
            let there = room || self.empty_at_ms.contains_key(&bucket);
            if there { bucket } else { Bucket::Others }
        })
    }

    /// Until when one more attempt would make the bucket flow over.
    fn full_until_ms(&self, bucket: Bucket, now_ms: i64) -> i64 {
        let size = bucket.size();
        let empty_at_ms = self.empty_at_ms.get(&bucket).copied().unwrap_or(now_ms);
        empty_at_ms - (size.attempts - 1) * size.drains_ms
    }

    fn fill(&mut self, bucket: Bucket, now_ms: i64) {
        let empty_at_ms = self.empty_at_ms.entry(bucket).or_insert(now_ms);
        *empty_at_ms = now_ms.max(*empty_at_ms) + bucket.size().drains_ms;
    }

    /// Makes room where there is little: empty buckets say nothing.
    fn forget(&mut self, now_ms: i64) {
        if self.empty_at_ms.len() >= BUCKETS_MAX {
            self.empty_at_ms.retain(|_, at_ms| *at_ms > now_ms);
        }
    }
}

impl Bucket {
    const fn size(self) -> Size {
        match self {
            Self::Account(_) | Self::Friend(..) => OF_ACCOUNT,
            Self::Address(_) | Self::Others => OF_ADDRESS,
        }
    }
}

/// Of whatever length the name is; its case is none.
fn hash(name: &str) -> NameHash {
    Sha256::digest(name.to_ascii_lowercase()).into()
}

/// One IPv4 address; of IPv6 the 64 bits that one customer has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + ms).unwrap()
    }

    fn address(n: u8) -> IpAddr {
        [192, 0, 2, n].into()
    }

    fn fill(throttle: &Throttle, name: &str, from: IpAddr, times: usize) {
        for n in 0..times {
            assert_eq!(throttle.attempt(name, from, at(0)), Ok(()), "{n}");
        }
    }

    #[test]
    fn an_account_is_tried_so_often_from_wherever_and_then_once_in_a_while() {
        let throttle = Throttle::default();
        for n in 0..10 {
            let name = if n % 2 == 0 { "ada" } else { "ADA" };
            assert_eq!(throttle.attempt(name, address(n), at(0)), Ok(()));
        }
        let wait = throttle.attempt("ada", address(99), at(0));
        assert_eq!(wait, Err(Duration::from_secs(30)));
        assert_eq!(throttle.attempt("eve", address(99), at(0)), Ok(()));
        let wait = throttle.attempt("ada", address(99), at(29_999));
        assert_eq!(wait, Err(Duration::from_millis(1)));
        assert_eq!(throttle.attempt("ada", address(99), at(30_000)), Ok(()));
        assert!(throttle.attempt("ada", address(99), at(30_000)).is_err());
    }

    #[test]
    fn an_address_tries_so_many_accounts_and_ipv6_ones_are_a_network() {
        let throttle = Throttle::default();
        let same = |n: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, n, n, n, n]);
        for n in 0..30 {
            assert_eq!(throttle.attempt(&format!("{n}"), same(n), at(0)), Ok(()));
        }
        let wait = throttle.attempt("more", same(77), at(0));
        assert_eq!(wait, Err(Duration::from_secs(10)));
        let other = IpAddr::from([0x2001, 0xdb8, 1, 3, 0, 0, 0, 1]);
        assert_eq!(throttle.attempt("more", other, at(0)), Ok(()));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(network(mapped), address(1));
    }

    #[test]
    fn strangers_keep_nobody_out_where_they_have_signed_in_before() {
        let throttle = Throttle::default();
        fill(&throttle, "ada", address(1), 1);
        throttle.succeeded("ada", address(1), at(0));
        fill(&throttle, "ada", address(2), 10);
        assert!(throttle.attempt("ada", address(2), at(0)).is_err());
        fill(&throttle, "ada", address(1), 10);
        assert!(throttle.attempt("ada", address(1), at(0)).is_err());
    }

    #[test]
    fn who_gets_in_has_not_tried() {
        let throttle = Throttle::default();
        for _ in 0..100 {
            fill(&throttle, "ada", address(1), 1);
            throttle.succeeded("ada", address(1), at(0));
        }
    }

    #[test]
    fn memory_is_bounded_and_forgets_nobody_who_still_counts() {
        let throttle = Throttle::default();
        let elsewhere = |n: u32| IpAddr::from((0x0a00_0000 + n).to_be_bytes());
        fill(&throttle, "ada", address(1), 10);
        for n in 0..u32::try_from(BUCKETS_MAX).unwrap() {
            let _ = throttle.attempt(&format!("{n}"), elsewhere(n), at(1));
        }
        let buckets = throttle.known().empty_at_ms.len();
        assert!(buckets <= BUCKETS_MAX + 2, "{buckets}");
        assert!(throttle.attempt("ada", address(1), at(1)).is_err());
        assert!(
            throttle.attempt("new", address(9), at(1)).is_err(),
            "they share one"
        );
        // An hour later all is drained.
        assert_eq!(throttle.attempt("new", address(9), at(3_600_000)), Ok(()));
        assert!(throttle.known().empty_at_ms.len() < 10);
    }
}
