//! Another place upstream for a call that failed, within what is left of its hold.
//!
//! Each attempt has a permit of its own, so that the engine decides when it goes: after a
//! throttled one the user's breaker is open, and the call waits for it in line as any other.
//! A wait that does not fit into the hold ends the matter at once.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    Gateway,
    failure::Failure,
    retry::{Retries, Trouble},
    slot::Slot,
};
use crate::{
    access::{Caller, NotValid, Stopped},
    limiter::{Ask, Limiter, Refused},
};

/// A place that comes so much too early is kept: the limiter counts whole milliseconds.
const GRAIN: Duration = Duration::from_millis(10);

/// What a call needs to be admitted once more.
pub(super) struct Readmission {
    pub(super) gateway: Arc<Gateway>,
    /// Who calls: a call goes only while its token is valid.
    pub(super) caller: Caller,
    /// Whose limits it meets, and with what; `None`: no limits apply.
    pub(super) limited: Option<(Limiter, Arc<Ask>)>,
    /// The longest `Retry-After` that its caller obeys, in seconds.
    pub(super) retry_after_s_max: u32,
    /// When its hold ends.
    pub(super) until: Instant,
    /// How often it may still go.
    pub(super) retries: Retries,
}

/// An attempt that did not succeed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setback {
    pub(super) trouble: Trouble,
    /// The upstream's `Retry-After`.
    pub(super) told: Option<Duration>,
    /// When it was known, not after the limiter learned of it.
    pub(super) at: Instant,
}

impl Setback {
    /// What a failure means for another attempt; `None`: there is no use in one.
    pub(super) fn of(failure: &Failure) -> Option<Self> {
        Some(Self {
            trouble: failure.trouble()?,
            told: None,
            at: Instant::now(),
        })
    }
}

/// There is no other attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Denied {
    /// When the limiter would have room, if it was asked.
    wait: Option<Duration>,
    /// Why its caller may not call any more.
    pub(super) ended: Option<NotValid>,
}

impl Readmission {
    /// Waits for a place, as long as its caller's token is valid. Dropping the future leaves no
    /// trace.
    pub(super) async fn slot(&mut self, setback: &Setback) -> Result<Slot, Denied> {
        let caller = self.caller.clone();
        let slot = caller.wait(self.slot_in_time(setback)).await;
        slot.unwrap_or_else(|stopped| {
            let ended = match stopped {
                Stopped::Ended(not) => Some(not),
                Stopped::Full(_) => None,
            };
            Err(Denied { wait: None, ended })
        })
    }

    async fn slot_in_time(&mut self, setback: &Setback) -> Result<Slot, Denied> {
        let left = self.until.saturating_duration_since(setback.at);
        let wait = self
            .retries
            .next(setback.trouble, setback.told, left, rand::random())
            .ok_or_else(Denied::default)?;
        let earliest = setback.at + wait;
        // What stops a throttled call is known to the limiter: it says at once if the call
        // cannot go in time, and keeps its place in line else.
        if self.limited.is_none() || setback.trouble != Trouble::Throttled {
            self.rest(earliest).await?;
        }
        loop {
            let slot = self.ask().await?;
            if Instant::now() + GRAIN >= earliest {
                sleep_until(earliest).await;
                return Ok(slot);
            }
            // An operator holds the breaker closed: the upstream's own word still counts.
            drop(slot);
            self.rest(earliest).await?;
        }
    }

    /// Waits without a place; the end of the process ends the wait.
    async fn rest(&self, until: Instant) -> Result<(), Denied> {
        tokio::select! {
            () = sleep_until(until) => Ok(()),
            () = self.gateway.closing.begun() => Err(Denied::default()),
        }
    }

    async fn ask(&self) -> Result<Slot, Denied> {
        let Some((limiter, ask)) = &self.limited else {
            return self.gateway.unlimited().map_err(|_| Denied::default());
        };
        let hold = self.until.saturating_duration_since(Instant::now());
        let permit = limiter.acquire(ask, hold).await;
        permit.map(Slot::limited).map_err(|refused| match refused {
            Refused::Busy(busy) => Denied {
                wait: Some(busy.wait),
                ..Denied::default()
            },
            _ => Denied::default(),
        })
    }

    /// What to tell the caller of a call that is not repeated, in seconds: `least`, or until
    /// there is room.
    pub(super) async fn retry_after(&self, least: Duration, denied: Denied) -> u64 {
        let room = match (denied.wait, &self.limited) {
            (Some(wait), _) => wait,
            (None, Some((limiter, ask))) => next_room(limiter, ask).await,
            (None, None) => Duration::ZERO,
        };
        let retry_after = &self.gateway.retry_after;
        retry_after.seconds(room.max(least), self.retry_after_s_max)
    }
}

/// When the limiter would let the call go. Told so, its caller has a place in line.
pub(super) async fn next_room(limiter: &Limiter, ask: &Ask) -> Duration {
    match limiter.acquire(ask, Duration::ZERO).await {
        Ok(permit) => {
            permit.refund();
            Duration::ZERO
        }
        Err(Refused::Busy(busy)) => busy.wait,
        Err(_) => Duration::ZERO,
    }
}
