//! No lost permit: every grant ends by completion, refund or expiry exactly once; what the
//! engine says is out is what is out; no number is given out twice, restarts included.

use std::collections::{BTreeMap, BTreeSet};

use spillway::{Ended, Instant, NotRenewed, Permit};

use super::{Invariant, require};
use crate::adapter::late_ms_max;
use crate::seen::{Scene, Seen};

/// What is out, and until when.
#[derive(Default)]
pub struct NoLostPermit {
    out: BTreeMap<Permit, Instant>,
    /// All numbers that were ever given out.
    numbers: BTreeSet<Permit>,
}

impl Invariant for NoLostPermit {
    fn name(&self) -> &'static str {
        "no lost permit"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        match *seen {
            Seen::Granted {
                permit, expires_at, ..
            } => {
                require(self.numbers.insert(permit), || {
                    format!("{permit} was given out before")
                })?;
                self.out.insert(permit, expires_at);
                require(expires_at > scene.now, || format!("{permit} is born dead"))
            }
            Seen::Expired { permit, at } => {
                let until = self.out.remove(&permit);
                require(until == Some(at), || {
                    format!("{permit} expires at {at:?}, not {until:?}")
                })
            }
            Seen::Completed {
                permit,
                ended,
                expired_at,
            } => self.ends(scene, permit, ended, expired_at, true),
            Seen::Refunded {
                permit,
                ended,
                expired_at,
            } => self.ends(scene, permit, ended, expired_at, false),
            Seen::Renewed {
                permit,
                granted_at,
                outcome,
            } => self.renewed(scene, permit, granted_at, outcome),
            Seen::Restarted { counts_lost } => {
                if counts_lost {
                    self.out.clear();
                }
                let next = scene.driver.next_permit();
                require(self.numbers.last().is_none_or(|last| *last < next), || {
                    format!("{next} is next again")
                })
            }
            Seen::Settled | Seen::Quiet => self.agrees(scene),
            _ => Ok(()),
        }
    }
}

impl NoLostPermit {
    fn ends(
        &mut self,
        scene: &mut Scene<'_>,
        permit: Permit,
        ended: Ended,
        expired_at: Option<Instant>,
        completed: bool,
    ) -> Result<(), String> {
        let was_out = self.out.remove(&permit).is_some();
        let expected = match expired_at {
            None => Ended::Landed,
            Some(at) if completed && scene.now.ms_since(at) < late_ms_max(scene.script.sizes) => {
                Ended::Overrun
            }
            Some(_) => Ended::Unknown,
        };
        require(was_out == expired_at.is_none() && ended == expected, || {
            format!("{permit}, expired: {expired_at:?}, ended {ended:?}, not {expected:?}")
        })?;
        let gone = scene.driver.lease(permit).is_none();
        require(gone, || format!("{permit} has ended and is held"))
    }

    fn renewed(
        &mut self,
        scene: &Scene<'_>,
        permit: Permit,
        granted_at: Instant,
        outcome: Result<Instant, NotRenewed>,
    ) -> Result<(), String> {
        let sizes = scene.script.sizes;
        let Some(until) = self.out.get_mut(&permit) else {
            return require(outcome == Err(NotRenewed::Ended), || {
                format!("{permit} has ended and was renewed: {outcome:?}")
            });
        };
        if let Ok(renewed_until) = outcome {
            *until = renewed_until;
            let probe = scene.driver.lease(permit).is_some_and(|lease| lease.probe);
            require(!probe, || format!("{permit} is a probe and was renewed"))?;
            let last = granted_at.plus_ms(sizes.renewals_ms_max + sizes.lease_ms);
            return require(renewed_until <= last, || {
                format!("{permit} of {granted_at:?} is renewed until {renewed_until:?}")
            });
        }
        let probe = scene.driver.lease(permit).is_some_and(|lease| lease.probe);
        let old = scene.now.ms_since(granted_at) >= sizes.renewals_ms_max;
        require(probe || old, || {
            format!("{permit} cannot be renewed: {outcome:?}")
        })
    }

    fn agrees(&self, scene: &Scene<'_>) -> Result<(), String> {
        let leases = scene.driver.leases();
        let held: BTreeMap<_, _> = leases
            .iter()
            .map(|lease| (lease.permit, lease.expires_at))
            .collect();
        require(held == self.out, || {
            format!("the engine holds {held:?}, out are {:?}", self.out)
        })
    }
}
