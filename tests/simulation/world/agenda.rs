//! What is to happen when, in a fixed order also within a millisecond.

use std::collections::BTreeMap;

use spillway::{Instant, Permit, Ticket};

/// Something that is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A caller asks.
    Ask { caller: usize },
    /// A caller hangs up, if it still waits.
    HangUp { ticket: Ticket },
    /// A call arrives at the upstream.
    Arrive { permit: Permit },
    /// Its answer has come.
    Answer { permit: Permit },
    /// Its answer is over.
    Complete { permit: Permit },
    /// It was never sent after all.
    Refund { permit: Permit },
    /// It still runs.
    Renew { permit: Permit },
    /// A fault begins.
    Fault { fault: usize },
    /// An operator ends the pause that this fault was.
    Resume { fault: usize },
    /// The server is back.
    Restart { counts_lost: bool },
}

impl Item {
    /// Whether it happens at the upstream or to the process, not by the engine's driver.
    pub const fn outside(self) -> bool {
        matches!(
            self,
            Self::Arrive { .. } | Self::Fault { .. } | Self::Restart { .. }
        )
    }
}

/// Items by instant, then by when they were put down.
#[derive(Default)]
pub struct Agenda {
    items: BTreeMap<(Instant, u64), Item>,
    put: u64,
}

impl Agenda {
    pub fn put(&mut self, at: Instant, item: Item) {
        self.items.insert((at, self.put), item);
        self.put += 1;
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.items.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn take(&mut self) -> Option<Item> {
        self.items.pop_first().map(|(_, item)| item)
    }
}
