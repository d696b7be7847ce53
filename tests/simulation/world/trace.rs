//! What was decided, as a hash to compare runs by, and the last of it to read.

use std::collections::VecDeque;
use std::fmt;

use spillway::Instant;

use super::START;
use crate::prng::mix;

/// So many decisions can be read.
const KEPT: usize = 40;

/// A kind of decision.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    HungUp = 1,
    Parked,
    Impossible,
    Told,
    Granted,
    Tripped,
    Completed,
    Refunded,
    Renewed,
    Restarted,
}

/// One decision: about which permit, ticket or caller, and until when.
#[derive(Clone, Copy)]
struct Decision {
    now: Instant,
    kind: Kind,
    number: u64,
    until: Instant,
}

/// All decisions of a run.
#[derive(Clone, Default)]
pub struct Trace {
    /// Equal for equal runs.
    pub hash: u64,
    last: VecDeque<Decision>,
}

impl Trace {
    pub fn add(&mut self, now: Instant, kind: Kind, number: u64, until: Instant) {
        for part in [kind as u64, number, until.0, now.0] {
            self.hash = mix(self.hash.rotate_left(5) ^ part);
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(Decision {
            now,
            kind,
            number,
            until,
        });
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for it in &self.last {
            let (now, until) = (it.now.ms_since(START), it.until.ms_since(START));
            let (kind, number) = (it.kind, it.number);
            writeln!(f, "{now:>10} ms: {kind:?} {number}, until {until} ms")?;
        }
        Ok(())
    }
}
