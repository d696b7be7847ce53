//! Pauses: operators stop background calls, of all, an app, a tenant or a user, until a time.
//!
//! A pause admits no new background call; running ones end as they would have.

use std::collections::BTreeMap;

use crate::budget::Shortage;
use crate::call::{Call, Lane, Scope};
use crate::charge::Charge;
use crate::decision::Obstacle;
use crate::engine::Engine;
use crate::key::KeyRef;
use crate::time::Instant;

/// The most pauses at a time: each background call is compared with every one.
pub const PAUSES_MAX: usize = 1_000;

/// Whose background calls are paused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "scope", rename_all = "snake_case"))]
pub enum Whose {
    /// All of the upstream's.
    Upstream,
    /// One app's.
    App {
        /// The application's key.
        app: String,
    },
    /// One app's within one tenant.
    Tenant {
        /// The application's key.
        app: String,
        /// The tenant's key.
        tenant: String,
    },
    /// One user's of an app.
    User {
        /// The application's key.
        app: String,
        /// The tenant's key.
        tenant: String,
        /// The user's key.
        user: String,
    },
}

/// As many pauses are in force as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{PAUSES_MAX} pauses are in force already; end some first, or pause a whole app")]
pub struct TooManyPauses;

#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    until: BTreeMap<Whose, Instant>,
    /// When the first one ends.
    next_end: Option<Instant>,
}

impl Whose {
    /// The app whose calls it pauses; `None`: all apps'.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        match self {
            Self::Upstream => None,
            Self::App { app } | Self::Tenant { app, .. } | Self::User { app, .. } => Some(app),
        }
    }

    /// As wide as this scope; an upstream as wide as an app.
    const fn scope(&self) -> Scope {
        match self {
            Self::Upstream | Self::App { .. } => Scope::App,
            Self::Tenant { .. } => Scope::Tenant,
            Self::User { .. } => Scope::User,
        }
    }

    fn covers(&self, key: KeyRef<'_>) -> bool {
        match self {
            Self::Upstream => true,
            Self::App { app } => key.app == app,
            Self::Tenant { app, tenant } => key.app == app && key.tenant == tenant,
            Self::User { app, tenant, user } => {
                key.app == app && key.tenant == tenant && key.user == user
            }
        }
    }
}

impl Pauses {
    pub(crate) fn is_empty(&self) -> bool {
        self.until.is_empty()
    }

    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        if self.next_end.is_some_and(|at| at <= now) {
            self.until.retain(|_, until| *until > now);
            self.note_next_end();
        }
    }

    fn note_next_end(&mut self) {
        self.next_end = self.until.values().min().copied();
    }

    /// What pauses this user's background calls, and until when.
    fn shortages(&self, key: KeyRef<'_>) -> Option<(Charge, Shortage)> {
        let covering = self.until.iter().filter(|(whose, _)| whose.covers(key));
        let (whose, at) = covering.max_by_key(|(_, until)| **until)?;
        let shortage = Shortage {
            obstacle: Obstacle::Paused,
            at: *at,
            exact: true,
            earliest: *at,
            share: true,
        };
        let charge = Charge {
            workload: key.workload,
            scope: whose.scope(),
            place: None,
            own: None,
        };
        Some((charge, shortage))
    }
}

impl Engine {
    /// No background call of these is admitted before `until`; running ones end as usual. A
    /// pause in force gets the new end.
    ///
    /// # Errors
    /// [`PAUSES_MAX`] pauses of others are in force.
    pub fn pause(
        &mut self,
        now: Instant,
        whose: Whose,
        until: Instant,
    ) -> Result<(), TooManyPauses> {
        self.advance(now);
        if !self.pauses.until.contains_key(&whose) && self.pauses.until.len() >= PAUSES_MAX {
            return Err(TooManyPauses);
        }
        self.pauses.until.insert(whose, until);
        self.pauses.note_next_end();
        self.stir_all();
        Ok(())
    }

    /// Ends a pause. False if there was none.
    pub fn resume(&mut self, now: Instant, whose: &Whose) -> bool {
        self.advance(now);
        let ended = self.pauses.until.remove(whose).is_some();
        self.pauses.note_next_end();
        self.stir_all();
        ended
    }

    /// The pauses in force, and when each ends.
    pub fn pauses(&self) -> impl Iterator<Item = (&Whose, Instant)> {
        self.pauses
            .until
            .iter()
            .map(|(whose, until)| (whose, *until))
    }

    /// Why a call of this user's may not go now, if its lane is paused.
    pub(crate) fn paused_of(&self, key: KeyRef<'_>, lane: Lane) -> Option<(Charge, Shortage)> {
        if lane == Lane::Foreground || self.pauses.is_empty() {
            return None;
        }
        self.pauses.shortages(key)
    }

    pub(crate) fn paused(&self, call: &Call) -> Option<(Charge, Shortage)> {
        self.paused_of(KeyRef::of(call, call.workload, Scope::User), call.lane)
    }
}
