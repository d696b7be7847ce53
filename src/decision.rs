//! What the engine answers: decisions that say why.

use std::fmt;

use crate::call::{Lane, Permit, Scope};
use crate::policy::Dimension;
use crate::time::Instant;

/// The answer to a call that asks to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may go now.
    Granted(Grant),
    /// It waits; [`Engine::take_settled`](crate::Engine::take_settled) will tell.
    Parked(Ticket),
    /// It may not go.
    Refused(Refusal),
}

/// A call may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The right to make it.
    pub permit: Permit,
    /// When the right ends by itself.
    pub expires_at: Instant,
}

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What became of a parked call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which one.
    pub ticket: Ticket,
    /// It may go, or its hold is over.
    pub outcome: Result<Grant, Refusal>,
}

/// Why a call may not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not now.
    #[error("no room before {} ms: {}", .0.at.0, .0.blocked_by)]
    Busy(Busy),
    /// Never under this policy.
    #[error(
        "a weight of {weight} is above what the {lane} lane may ever hold of {scope}/{dimension}: {cap}"
    )]
    Impossible {
        /// What it asks for.
        weight: u32,
        /// Its lane.
        lane: Lane,
        /// The layer's scope.
        scope: Scope,
        /// The layer.
        dimension: Dimension,
        /// The most it could ask for.
        cap: u32,
    },
    /// A new user, and as many as may be charged are.
    #[error("{users_max} users hold counts already")]
    Capacity {
        /// The bound.
        users_max: usize,
    },
}

/// When a refused call would fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// When it fits if only time passes: with nobody ahead, coming then succeeds and coming
    /// a millisecond earlier fails. An estimate unless `exact`.
    pub at: Instant,
    /// Whether only time stands in the way; not where running calls do.
    pub exact: bool,
    /// What stands in the way longest.
    pub blocked_by: BlockedBy,
}

/// What of a budget stands in a call's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Layer(Dimension),
    Breaker,
    Soft,
    Paused,
}

impl Obstacle {
    pub(crate) const fn at(self, scope: Scope) -> BlockedBy {
        match self {
            Self::Layer(dimension) => BlockedBy::Layer { scope, dimension },
            Self::Breaker => BlockedBy::Breaker { scope },
            Self::Soft => BlockedBy::Soft { scope },
            Self::Paused => BlockedBy::Paused,
        }
    }
}

/// What stands in a call's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedBy {
    /// A layer of a budget.
    Layer {
        /// Whose budget.
        scope: Scope,
        /// Which layer.
        dimension: Dimension,
    },
    /// A budget's breaker: the upstream throttles or fails.
    Breaker {
        /// Whose budget.
        scope: Scope,
    },
    /// A budget's breaker, for background calls only: the upstream reported that little is left.
    Soft {
        /// Whose budget.
        scope: Scope,
    },
    /// An operator has paused the background lane.
    Paused,
    /// Others that came first.
    Queue,
}

impl fmt::Display for BlockedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer { scope, dimension } => write!(f, "{scope}/{dimension}"),
            Self::Breaker { scope } | Self::Soft { scope } => write!(f, "{scope}/breaker"),
            Self::Paused => f.write_str("paused"),
            Self::Queue => f.write_str("queue"),
        }
    }
}

/// What the end of a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its weight has landed and its slots are free.
    Landed,
    /// Its lease had expired: the weight has landed a second time, since the call did run until now.
    Overrun,
    /// Nothing: it had ended before, or was never granted.
    Unknown,
}

/// A lease cannot be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRenewed {
    /// It ended or expired.
    #[error("the lease has ended")]
    Ended,
    /// It was renewed as long as may be.
    #[error("the lease was renewed for as long as one call may run")]
    TooLong,
}
