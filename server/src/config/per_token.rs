//! `[server] max_…_per_token`: how much of what all share one token may take.

use super::{Error, source};

/// Half of the calls that a listener has under way (`http::calls`).
const WAITERS_DEFAULT: u32 = 8_192;

/// Half of the permits that may be out of one upstream (`limiter::outside`).
const PERMITS_DEFAULT: u32 = 50_000;

/// Half of the live streams (`api::live`).
const STREAMS_DEFAULT: u32 = 500;

/// How much one token may take at a time, and one network of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerToken {
    /// Calls that wait: for a permit, for their bearer's turn, or to be sent again.
    pub waiters: u32,
    /// Permits that are out, of each upstream.
    pub permits: u32,
    /// Live streams.
    pub streams: u32,
    /// User keys that hold counts, of all upstreams.
    pub users: u32,
}

/// As it is written.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) waiters: Option<i64>,
    pub(super) permits: Option<i64>,
    pub(super) streams: Option<i64>,
    pub(super) users: Option<i64>,
}

impl Raw {
    /// Where `users_max` users may hold counts in an upstream.
    pub(super) fn check(self, users_max: u32) -> Result<PerToken, Error> {
        let users = users_max.div_ceil(2);
        Ok(PerToken {
            waiters: bound("waiters", self.waiters, WAITERS_DEFAULT)?,
            permits: bound("permits", self.permits, PERMITS_DEFAULT)?,
            streams: bound("streams", self.streams, STREAMS_DEFAULT)?,
            users: bound("users", self.users, users)?,
        })
    }
}

fn bound(of: &str, given: Option<i64>, default: u32) -> Result<u32, Error> {
    let key = format!("server.max_{of}_per_token");
    given.map_or(Ok(default), |given| {
        source::whole(&key, given, 1..=u32::MAX)
    })
}
