//! The pauses that operators have made, by another book than the engine's.

use std::collections::BTreeMap;

use spillway::{Call, Instant, Lane, Whose};

/// Whose background calls are paused, and until when.
#[derive(Default)]
pub struct Pauses(BTreeMap<Whose, Instant>);

impl Pauses {
    /// A pause begins, or gets another end.
    pub fn begin(&mut self, whose: Whose, until: Instant) {
        self.0.insert(whose, until);
    }

    /// An operator ends it. True if it was in force.
    pub fn end(&mut self, now: Instant, whose: &Whose) -> bool {
        self.0.remove(whose).is_some_and(|until| until > now)
    }

    /// Nobody remembers any.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// When the last of the pauses of this call ends, if any is in force.
    pub fn until(&self, now: Instant, call: &Call) -> Option<Instant> {
        let paused = self.0.iter().filter(|(whose, until)| {
            call.lane == Lane::Background && **until > now && names(whose, call)
        });
        paused.map(|(_, until)| *until).max()
    }
}

fn names(whose: &Whose, call: &Call) -> bool {
    match whose {
        Whose::Upstream => true,
        Whose::App { app } => *app == call.app,
        Whose::Tenant { app, tenant } => (app, tenant) == (&call.app, &call.tenant),
        Whose::User { app, tenant, user } => {
            (app, tenant, user) == (&call.app, &call.tenant, &call.user)
        }
    }
}
