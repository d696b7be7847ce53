//! What is wrong now, as the limiters and the outbox show it.

use std::collections::BTreeMap;

use spillway::{BreakerView, Instant, Key, Reason, Scope, Status, Stopped as Found};
use spillway_app::live;

use super::incident::{Subject, Trouble, Whose};

/// What is wrong, each thing once.
pub type Wrong = BTreeMap<Subject, Trouble>;

/// One workload's breakers.
pub struct Sight<'a, W> {
    /// The upstream's name.
    pub upstream: &'a str,
    /// The workload's name.
    pub workload: &'a str,
    /// From how many users' open breakers on that is trouble.
    pub users_min: u32,
    /// An instant of the engine's in Unix milliseconds.
    pub when_ms: W,
}

impl<W: Fn(Instant) -> i64> Sight<'_, W> {
    /// Adds what was found to what is wrong; how much of it has no name.
    pub fn add(&self, found: Found, wrong: &mut Wrong) -> u64 {
        if found.users >= self.users_min.into() {
            let users = Trouble {
                is_full: true,
                users: found.users,
                ..Trouble::default()
            };
            let subject = Subject::Users {
                upstream: self.upstream.to_owned(),
                workload: self.workload.to_owned(),
            };
            wrong.insert(subject, users);
        }
        for (key, view) in found.named {
            wrong.insert(self.subject(key), self.trouble(&view));
        }
        found.unnamed
    }

    fn subject(&self, key: Key) -> Subject {
        Subject::Breaker {
            upstream: self.upstream.to_owned(),
            workload: self.workload.to_owned(),
            whose: Whose {
                scope: match key.scope {
                    Scope::Tenant => live::Scope::Tenant,
                    // Users' are counted, not named.
                    Scope::App | Scope::User => live::Scope::App,
                },
                app: key.app,
                tenant: key.tenant,
            },
        }
    }

    fn trouble(&self, view: &BreakerView) -> Trouble {
        Trouble {
            is_full: view.status == Status::Open,
            is_wanted: view.reason == Some(Reason::Forced),
            reason: view.reason.map(|reason| match reason {
                Reason::Throttled => live::BreakerReason::Throttled,
                Reason::Percentage => live::BreakerReason::Percentage,
                Reason::Outage => live::BreakerReason::Outage,
                Reason::Forced => live::BreakerReason::Forced,
            }),
            until_ms: view.until.map(&self.when_ms),
            drift: view.drift,
            ..Trouble::default()
        }
    }
}
