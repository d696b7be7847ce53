//! One kind of trouble of one budget: closed, open, half-open, recovering.

use super::Answered;
use crate::call::Permit;
use crate::time::Instant;

/// Half-open or recovering for so long without an answer, a record is closed: nobody cares any more.
const QUIET_MS: u64 = 600_000;

/// Where a record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub(crate) enum State {
    #[default]
    Closed,
    Open {
        until: Instant,
    },
    HalfOpen {
        since: Instant,
        probe: Option<Permit>,
    },
    Recovering {
        /// How many calls may be in flight.
        calls: u32,
        /// How many answers of this round came back well.
        passed: u32,
        /// When the last one did.
        #[cfg_attr(feature = "serde", serde(default))]
        active_at: Instant,
    },
}

/// One kind of trouble of one budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Record {
    pub(crate) state: State,
    /// How many trips there were since it was last closed.
    trips: u32,
    /// Calls granted before this are echoes.
    tripped_at: Instant,
    /// When the state began.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) since: Instant,
}

/// What a record says of a call that wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Pass,
    /// It may go as the only one, and its answer decides.
    Probe,
    /// Not before this instant; an estimate unless `exact`.
    Wait {
        at: Instant,
        exact: bool,
    },
}

impl Record {
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        if let State::Open { until } = self.state
            && until <= now
        {
            self.become_half_open(until);
        }
        let quiet_since = match self.state {
            State::HalfOpen { since, probe: None } => since,
            State::Recovering { active_at, .. } => active_at,
            _ => return,
        };
        if quiet_since.plus_ms(QUIET_MS) <= now {
            *self = Self::default();
        }
    }

    /// Whether a call may go now, with `running` calls of this budget in flight.
    pub(super) fn gate(&self, now: Instant, running: u64, probe_ms: u64) -> Gate {
        match self.state {
            State::Closed => Gate::Pass,
            State::Open { until } => Gate::Wait {
                at: until,
                exact: true,
            },
            State::HalfOpen { probe: None, .. } => Gate::Probe,
            State::HalfOpen { probe: Some(_), .. } => Gate::Wait {
                at: now.plus_ms(probe_ms),
                exact: false,
            },
            State::Recovering { calls, .. } if running < u64::from(calls) => Gate::Pass,
            State::Recovering { .. } => Gate::Wait {
                at: now.plus_ms(1),
                exact: false,
            },
        }
    }

    /// When a recovery that no answer moves on is over by itself.
    pub(super) fn forgotten_at(&self) -> Option<Instant> {
        match self.state {
            State::Recovering { active_at, .. } => Some(active_at.plus_ms(QUIET_MS)),
            _ => None,
        }
    }

    /// A call was granted: if the record is half-open, it is the probe.
    pub(super) fn take_probe(&mut self, permit: Permit) -> bool {
        match &mut self.state {
            State::HalfOpen {
                probe: probe @ None,
                ..
            } => {
                *probe = Some(permit);
                true
            }
            _ => false,
        }
    }

    /// The probe ended without a verdict: the next call may be it.
    pub(super) fn release(&mut self, permit: Permit, now: Instant) {
        if self.is_probed_by(permit) {
            self.state = State::HalfOpen {
                since: now,
                probe: None,
            };
        }
    }

    fn become_half_open(&mut self, at: Instant) {
        self.state = State::HalfOpen {
            since: at,
            probe: None,
        };
        self.since = at;
    }

    pub(super) fn is_probed_by(&self, permit: Permit) -> bool {
        matches!(self.state, State::HalfOpen { probe: Some(probe), .. } if probe == permit)
    }

    /// A call's answer was well. `calls_max`: as many in flight end the recovery.
    pub(super) fn pass(&mut self, answered: &Answered<'_>) {
        let Answered {
            now,
            permit,
            granted_at,
            calls_max,
            ..
        } = *answered;
        if self.is_probed_by(permit) {
            self.state = State::Recovering {
                calls: 1,
                passed: 0,
                active_at: now,
            };
            self.since = now;
            return;
        }
        let State::Recovering {
            calls,
            passed,
            active_at,
        } = &mut self.state
        else {
            return;
        };
        if granted_at < self.tripped_at {
            return;
        }
        *passed += 1;
        *active_at = now;
        if *passed >= *calls {
            (*calls, *passed) = (calls.saturating_mul(2), 0);
            if *calls >= calls_max {
                *self = Self::default();
            }
        }
    }

    /// A call's answer was trouble, with or without a wait. True if the budget trips by it.
    pub(super) fn fail(&mut self, answered: &Answered<'_>, wait_ms: Option<u64>) -> bool {
        let Answered {
            now,
            permit,
            granted_at,
            ..
        } = *answered;
        let echo = granted_at < self.tripped_at && !self.is_probed_by(permit);
        match &mut self.state {
            State::Open { until } => {
                // Everybody already waits; only an explicit wait tells something new.
                if let Some(wait_ms) = wait_ms {
                    *until = (*until).max(now.plus_ms(wait_ms));
                }
                false
            }
            _ if echo => {
                if let Some(wait_ms) = wait_ms {
                    self.state = State::Open {
                        until: now.plus_ms(wait_ms),
                    };
                    self.since = now;
                }
                false
            }
            State::HalfOpen {
                probe: Some(probe), ..
            } if *probe != permit => false,
            _ => {
                let wait_ms = wait_ms.unwrap_or_else(|| answered.rules.cool_down_ms(self.trips));
                self.trip(now, wait_ms);
                true
            }
        }
    }

    fn trip(&mut self, now: Instant, wait_ms: u64) {
        let until = now.plus_ms(wait_ms);
        // Right after `now`: a call granted in this very millisecond is an echo too.
        *self = Self {
            state: State::Open { until },
            trips: self.trips.saturating_add(1),
            tripped_at: now.plus_ms(1),
            since: now,
        };
        self.advance(now);
    }
}
