//! What operators see of a breaker.

use super::Reason;
use super::record::{Record, State};
use crate::time::Instant;

/// A breaker's state, in order of how much it stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Calls pass.
    #[default]
    Closed,
    /// Background calls are refused.
    Soft,
    /// Few calls at once, and soon more.
    Recovering,
    /// One probe may pass.
    HalfOpen,
    /// All calls are refused.
    Open,
}

/// What operators see of a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Its state.
    pub status: Status,
    /// When the state began; none while it is closed.
    pub since: Option<Instant>,
    /// When the state ends by itself.
    pub until: Option<Instant>,
    /// Why it is not closed.
    pub reason: Option<Reason>,
    /// Whether its probe is on the wire.
    pub probing: bool,
    /// How many calls may be in flight while it recovers.
    pub ramp_calls: Option<u32>,
    /// The share of the limit that the upstream last reported, per mille.
    pub reported_permille: Option<u32>,
    /// When it reported that.
    pub reported_at: Option<Instant>,
    /// How often the upstream throttled although everything fitted, since all was quiet.
    pub drift: u32,
}

impl View {
    pub(super) fn of(record: &Record) -> Self {
        match record.state {
            State::Closed => Self::default(),
            State::Open { until } => Self {
                status: Status::Open,
                since: Some(record.since),
                until: Some(until),
                ..Self::default()
            },
            State::HalfOpen { probe, .. } => Self {
                status: Status::HalfOpen,
                since: Some(record.since),
                probing: probe.is_some(),
                ..Self::default()
            },
            State::Recovering { calls, .. } => Self {
                status: Status::Recovering,
                since: Some(record.since),
                ramp_calls: Some(calls),
                ..Self::default()
            },
        }
    }
}
