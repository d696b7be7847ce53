//! The peer: governor's GCRA with one rate for each key; no leases, lanes, queues, or promise
//! about windows. One limiter for each of the six layers.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use spillway::Call;

pub struct Peer {
    by_user: [DefaultKeyedRateLimiter<String>; 3],
    by_app: [DefaultKeyedRateLimiter<String>; 3],
}

impl Peer {
    pub fn new() -> Self {
        // So high that every check passes.
        let limiter = || RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX));
        Self {
            by_user: [limiter(), limiter(), limiter()],
            by_app: [limiter(), limiter(), limiter()],
        }
    }

    pub fn six_checks(&self, call: &Call) -> bool {
        let user = self
            .by_user
            .iter()
            .all(|limiter| limiter.check_key(&call.user).is_ok());
        user && self
            .by_app
            .iter()
            .all(|limiter| limiter.check_key(&call.app).is_ok())
    }
}
