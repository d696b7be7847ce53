//! What speaks for trouble of a whole app, where no single answer says so.
//!
//! Without a scope a 429 is its user's; only several users throttled together, and nobody
//! served meanwhile, speak for the app (else twelve users, each at an own limit, would stop
//! everyone). A failing upstream is an outage only when it fails several users for some
//! time and serves nobody (else one endpoint that fails for ever would).

use crate::breaker::Answered;
use crate::time::Instant;

/// So many users throttled within [`THROTTLED_MS`] speak for the app.
const THROTTLED_USERS: usize = 3;
const THROTTLED_MS: u64 = 10_000;

/// Evidence is forgotten after so long without more of it.
const KEPT_MS: u64 = 600_000;

type User = (String, String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Evidence {
    /// Users throttled lately, and when last, oldest first; at most [`THROTTLED_USERS`].
    throttled: Vec<(User, Instant)>,
    failures: u32,
    failing_since: Instant,
    failed_at: Instant,
    /// Whose calls failed; at most as many as make an outage.
    failed: Vec<User>,
}

impl Evidence {
    pub(crate) fn advance(&mut self, now: Instant) {
        self.throttled
            .retain(|(_, at)| at.plus_ms(THROTTLED_MS) > now);
        if self.failures > 0 && self.failed_at.plus_ms(KEPT_MS) <= now {
            self.works();
        }
    }

    /// A user was throttled, no scope named. True if that makes enough of them.
    pub(crate) fn throttled(&mut self, answered: &Answered<'_>) -> bool {
        self.advance(answered.now);
        let (tenant, user) = answered.user;
        self.throttled
            .retain(|((t, u), _)| (t.as_str(), u.as_str()) != (tenant, user));
        self.throttled
            .push(((tenant.to_owned(), user.to_owned()), answered.now));
        let enough = self.throttled.len() >= THROTTLED_USERS;
        if enough {
            self.throttled.clear();
        }
        enough
    }

    /// A call that was granted since the first of them was throttled came back unthrottled.
    pub(crate) fn unthrottled(&mut self, granted_at: Instant) {
        if self
            .throttled
            .first()
            .is_some_and(|(_, first)| *first <= granted_at)
        {
            self.throttled.clear();
        }
    }

    /// A call failed. True if that makes an outage.
    pub(crate) fn failed(&mut self, answered: &Answered<'_>) -> bool {
        if self.failures == 0 {
            self.failing_since = answered.now;
        }
        self.failures = self.failures.saturating_add(1);
        self.failed_at = answered.now;
        let (tenant, user) = answered.user;
        let known = self
            .failed
            .iter()
            .any(|(t, u)| (t.as_str(), u.as_str()) == (tenant, user));
        let rules = &answered.rules;
        let users = rules.outage_users as usize;
        if !known && self.failed.len() < users {
            self.failed.push((tenant.to_owned(), user.to_owned()));
        }
        self.failures >= rules.outage_failures
            && self.failed.len() >= users
            && answered.now.ms_since(self.failing_since) >= rules.outage_ms
    }

    /// A call succeeded: the upstream works.
    pub(crate) fn works(&mut self) {
        self.failures = 0;
        (self.failing_since, self.failed_at) = (Instant::default(), Instant::default());
        self.failed.clear();
    }
}
