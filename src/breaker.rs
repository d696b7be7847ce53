//! The breaker of one budget: a pure machine, told what answers said.
//!
//! Throttling and outage are two records of the same kind, for they end differently: a 504
//! proves that nobody throttles, and a 429 that somebody is at home. A budget lets a call
//! through when both records do.
//!
//! ```text
//!          fails                       time is up                  passes
//! closed ────────▶ open (cool-down) ────────────▶ half-open ────────────────▶ recovering
//!    ▲                  ▲                          │  one probe                 │  1, 2, 4, … calls
//!    │                  └────── probe fails ───────┘                           │  in flight
//!    └───────────────── enough rounds passed, or ten quiet minutes half-open ───┘
//! ```
//!
//! What calls say that were granted before the last trip changes nothing, except that an
//! explicit wait may lengthen the opening: they are echoes of what is known already.

mod record;
mod view;

use crate::call::{Lane, Permit};
use crate::evidence::Evidence;
use crate::policy::BreakerRules;
use crate::time::Instant;
use record::{Gate, Record, State};

pub use view::{Status, View};

/// For so long after the last report from the soft threshold on, background calls are refused.
const SOFT_MS: u64 = 60_000;

/// From this share on, the budget opens before any 429.
const FULL_PERMILLE: u32 = 1_000;

/// For so long a reported share is shown, with its age.
const REPORT_KEPT_MS: u64 = 600_000;

/// How many calls in flight end a recovery where no layer limits them.
pub(crate) const RAMP_CALLS_MAX: u32 = 32;

/// Why a budget is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reason {
    /// The upstream said that it throttles.
    Throttled,
    /// The upstream reported that the limit is used up.
    Percentage,
    /// The upstream does not work.
    Outage,
    /// An operator said so.
    Forced,
}

/// The breaker of one budget. Its default is closed and knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Breaker {
    throttle: Record,
    outage: Record,
    /// Why the throttle record tripped last.
    reason: Option<Reason>,
    /// Background calls are refused until then.
    soft_until: Option<Instant>,
    /// Since when.
    #[cfg_attr(feature = "serde", serde(default))]
    soft_since: Option<Instant>,
    /// The share of the limit that the upstream last reported, per mille, and when.
    reported: Option<(u32, Instant)>,
    forced: Option<Forced>,
    /// How often the upstream throttled although everything fitted.
    drift: u32,
    #[cfg_attr(feature = "serde", serde(default))]
    evidence: Evidence,
}

/// What an operator forced, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Forced {
    open: bool,
    until: Instant,
    #[cfg_attr(feature = "serde", serde(default))]
    since: Instant,
}

/// Why a breaker refuses, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusing {
    pub(crate) at: Instant,
    pub(crate) exact: bool,
    /// Only background calls, because of a reported share.
    pub(crate) soft: bool,
}

/// One answered call, as a breaker needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'a> {
    pub(crate) now: Instant,
    pub(crate) permit: Permit,
    pub(crate) granted_at: Instant,
    /// Tenant and user.
    pub(crate) user: (&'a str, &'a str),
    /// As many calls in flight end a recovery.
    pub(crate) calls_max: u32,
    /// What the workload's policy says of breakers.
    pub(crate) rules: BreakerRules,
}

impl Breaker {
    /// Whether it equals a fresh one, and may be forgotten.
    pub(crate) fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// Lets pass what ends by itself.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.throttle.advance(now);
        self.outage.advance(now);
        self.soft_until = self.soft_until.filter(|until| *until > now);
        self.soft_since = self.soft_since.filter(|_| self.soft_until.is_some());
        self.reported = self
            .reported
            .filter(|(_, at)| at.plus_ms(REPORT_KEPT_MS) > now);
        self.forced = self.forced.filter(|forced| forced.until > now);
        self.evidence.advance(now);
        if self.throttle.is_closed() {
            self.reason = None;
        }
        // Once all is quiet, old trips are history.
        if self.throttle.is_closed() && self.outage.is_closed() && self.reported.is_none() {
            self.drift = 0;
        }
    }

    /// Why a call of `lane` may not go now, with `running` calls of the budget in flight whose
    /// answers are awaited.
    pub(crate) fn refusing(
        &self,
        now: Instant,
        lane: Lane,
        running: u64,
        probe_ms: u64,
    ) -> Option<Refusing> {
        let forced = match self.forced {
            // Whatever was learnt may last longer than the operator's word.
            Some(Forced {
                open: true, until, ..
            }) => Some(Refusing {
                at: until,
                exact: true,
                soft: false,
            }),
            Some(_) => return None,
            None => None,
        };
        let gates =
            [&self.throttle, &self.outage].map(|record| record.gate(now, running, probe_ms));
        let waits = gates.into_iter().filter_map(|gate| match gate {
            Gate::Wait { at, exact } => Some(Refusing {
                at,
                exact,
                soft: false,
            }),
            Gate::Pass | Gate::Probe => None,
        });
        let soft = self.soft_until.filter(|_| lane == Lane::Background);
        let soft = soft.map(|at| Refusing {
            at,
            exact: true,
            soft: true,
        });
        forced.into_iter().chain(waits).chain(soft).reduce(|a, b| {
            let late = if b.at > a.at { b } else { a };
            Refusing {
                exact: a.exact && b.exact,
                ..late
            }
        })
    }

    /// When time alone ends a recovery.
    pub(crate) fn recovered_at(&self) -> Option<Instant> {
        let records = [&self.throttle, &self.outage].into_iter();
        records.filter_map(Record::forgotten_at).min()
    }

    /// A call was granted. True if it is a probe: its lease is short, and cannot be renewed.
    pub(crate) fn granted(&mut self, permit: Permit) -> bool {
        if self.forced.is_some() {
            return false;
        }
        let throttle = self.throttle.take_probe(permit);
        self.outage.take_probe(permit) || throttle
    }

    /// A call ended, judged or not: what it probed may be probed by another.
    pub(crate) fn ended(&mut self, now: Instant, permit: Permit) {
        self.throttle.release(permit, now);
        self.outage.release(permit, now);
    }

    /// An answer that was no throttling came back.
    pub(crate) fn unthrottled(&mut self, answered: &Answered<'_>) {
        self.throttle.pass(answered);
        self.evidence.unthrottled(answered.granted_at);
    }

    /// An answer that was no sign of an outage came back.
    pub(crate) fn works(&mut self, answered: &Answered<'_>) {
        self.outage.pass(answered);
        self.evidence.works();
    }

    /// The upstream named this budget as throttled. True if it trips by it.
    pub(crate) fn throttled(&mut self, answered: &Answered<'_>, wait_ms: Option<u64>) -> bool {
        let trips = self.throttle.fail(answered, wait_ms);
        if trips {
            self.reason = Some(Reason::Throttled);
            self.drift = self.drift.saturating_add(1);
        }
        trips
    }

    /// The upstream reported that so much of this budget's limit is used. True if it trips by it.
    pub(crate) fn reported(&mut self, answered: &Answered<'_>, permille: u32) -> bool {
        self.reported = Some((permille, answered.now));
        if permille >= u32::from(answered.rules.soft_permille) {
            self.soft_until = Some(answered.now.plus_ms(SOFT_MS));
            self.soft_since = self.soft_since.or(Some(answered.now));
        }
        if permille < FULL_PERMILLE {
            return false;
        }
        let trips = self.throttle.fail(answered, None);
        if trips {
            self.reason = Some(Reason::Percentage);
        }
        trips
    }

    /// Some user of this app was throttled and no scope was named. True if by now so many
    /// were that it must be the app's limit.
    pub(crate) fn suspects(&mut self, answered: &Answered<'_>) -> bool {
        self.evidence.throttled(answered)
    }

    /// The upstream failed a call of this app. True if the budget trips by it: when so many
    /// failed, for so long and for so many users, that it must be the upstream.
    pub(crate) fn failed(&mut self, answered: &Answered<'_>) -> bool {
        let probed = self.outage.is_probed_by(answered.permit);
        let outage = self.evidence.failed(answered);
        let recovering = matches!(self.outage.state, State::Recovering { .. });
        (probed || outage || recovering) && self.outage.fail(answered, None)
    }

    /// An operator forces it open or closed until then.
    pub(crate) fn force(&mut self, now: Instant, open: bool, until: Instant) {
        self.forced = Some(Forced {
            open,
            until,
            since: now,
        });
    }

    /// An operator takes back whatever is in force and was learnt.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The permit it waits for, if it is being probed.
    pub(crate) fn probes(&self) -> impl Iterator<Item = Permit> {
        [self.throttle, self.outage]
            .into_iter()
            .filter_map(|record| match record.state {
                State::HalfOpen { probe, .. } => probe,
                _ => None,
            })
    }

    /// What operators see of it.
    #[must_use]
    pub fn view(&self) -> View {
        let mut view = self.forced_view().unwrap_or_else(|| self.learnt_view());
        view.reported_permille = self.reported.map(|(permille, _)| permille);
        view.reported_at = self.reported.map(|(_, at)| at);
        view.drift = self.drift;
        view
    }

    fn forced_view(&self) -> Option<View> {
        let Forced { open, until, since } = self.forced?;
        let status = if open { Status::Open } else { Status::Closed };
        Some(View {
            status,
            since: Some(since),
            until: Some(until),
            reason: Some(Reason::Forced),
            ..View::default()
        })
    }

    /// The same without what an operator forced.
    pub(crate) fn learnt_view(&self) -> View {
        let outage = View {
            reason: Some(Reason::Outage),
            ..View::of(&self.outage)
        };
        let throttle = View {
            reason: self.reason,
            ..View::of(&self.throttle)
        };
        let worst = if outage.status > throttle.status {
            outage
        } else {
            throttle
        };
        match self.soft_until {
            Some(until) if worst.status < Status::Soft => View {
                status: Status::Soft,
                since: self.soft_since,
                until: Some(until),
                reason: Some(Reason::Percentage),
                ..View::default()
            },
            _ if worst.status == Status::Closed => View::default(),
            _ => worst,
        }
    }
}
