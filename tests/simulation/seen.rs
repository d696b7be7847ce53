//! What invariants see: everything that happens in a world, and what is known beside it.

use std::collections::BTreeMap;

use spillway::{
    Answer, Call, Ended, Instant, Key, NotRenewed, Permit, Refusal, Signal, Ticket, Trip,
};

use crate::adapter::{Driver, Fork};
use crate::pauses::Pauses;
use crate::referee::Referee;
use crate::script::Script;

/// Something that happened.
pub enum Seen<'a> {
    /// A caller asked. `before`: the engine as it was then.
    Asked {
        call: &'a Call,
        deadline: Instant,
        answer: &'a Answer,
        before: &'a Fork,
    },
    /// A call was let go, at once or after it had waited; the referee has it already.
    Granted {
        call: &'a Call,
        permit: Permit,
        expires_at: Instant,
        waited: Option<(Ticket, &'a Waiting)>,
    },
    /// A waiting call was refused after all.
    Dismissed {
        ticket: Ticket,
        waiting: &'a Waiting,
        refusal: &'a Refusal,
    },
    /// A caller hung up. `waited`: as far as the engine knows.
    HungUp { ticket: Ticket, waited: bool },
    /// A ticket was settled that nobody has.
    SettledTwice { ticket: Ticket },
    /// An answer was told to the engine; none: the connection broke.
    Reported {
        permit: Permit,
        call: &'a Call,
        signal: Option<&'a Signal>,
        trips: &'a [Trip],
    },
    /// A call was completed; `expired_at`: when its lease had ended by then.
    Completed {
        permit: Permit,
        ended: Ended,
        expired_at: Option<Instant>,
    },
    /// A call was never sent.
    Refunded {
        permit: Permit,
        ended: Ended,
        expired_at: Option<Instant>,
    },
    /// A lease was to be renewed.
    Renewed {
        permit: Permit,
        granted_at: Instant,
        outcome: Result<Instant, NotRenewed>,
    },
    /// A lease ended by itself.
    Expired { permit: Permit, at: Instant },
    /// The upstream's own count was exceeded, and by nobody else's calls.
    Overfull { call: &'a Call, layer: String },
    /// An operator forced a budget.
    Forced { key: &'a Key, until: Instant },
    /// An operator reset a budget.
    Reset { key: &'a Key },
    /// The server is back; waiting calls are gone.
    Restarted { counts_lost: bool },
    /// The engine was told something and has settled what fits.
    Settled,
    /// All is over and quiet for long.
    Quiet,
}

/// A parked call.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub call: Call,
    pub caller: u32,
    pub since: Instant,
    pub deadline: Instant,
}

/// What is known beside what happened.
pub struct Scene<'a> {
    pub now: Instant,
    pub script: &'a Script,
    pub driver: &'a mut Driver,
    pub referee: &'a Referee,
    pub waiting: &'a BTreeMap<Ticket, Waiting>,
    pub pauses: &'a Pauses,
    /// How many exact waits were checked.
    pub exact_waits: &'a mut u64,
}
