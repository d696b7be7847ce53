//! Which bearers the upstream has accepted. Claims are not verified here, so anybody can claim
//! to be anybody; only the upstream's answer tells.
//!
//! - A bearer is accepted once a call with it was answered by what an upstream only says after
//!   it has looked at the bearer: anything but 401, 429 and 5xx. Before, of all bearers that
//!   claim to be one user, one call is under way at a time, and others wait within their hold.
//! - A bearer that was answered 401 is refused here for [`REFUSED_MS`], without a call.
//!
//! So who forges a victim's claims takes one of the victim's places at a time, for as long as
//! the upstream takes to say 401, and nothing of its rates: a call that is answered 401 lands
//! without weight. A call whose connection broke may still run: its place stays taken for as
//! long as its permit does.
//!
//! Bearers are known by a keyed hash. Both memories are bounded and forget by time alone: where
//! one is full, bearers that come new stay unaccepted, which is slower and never wrong.

mod remembered;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::StatusCode;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout_at},
};

use crate::limiter::Permit;
use remembered::Remembered;

/// For how long a bearer that was answered 401 is refused, in milliseconds of the limits' clock.
pub(super) const REFUSED_MS: u64 = 60_000;

/// For how long an accepted bearer is remembered after its last answer: as long as access
/// tokens commonly last.
const ACCEPTED_FOR: Duration = Duration::from_secs(3_600);

/// The most bearers that are remembered of either kind.
const REMEMBERED_MAX: usize = 100_000;

/// Who a bearer claims to be: app, tenant, user.
pub(super) type Claimed = (String, String, String);

/// The bearers of one upstream. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Bearers(Arc<Mutex<Known>>);

#[derive(Debug)]
struct Known {
    accepted: Remembered,
    refused: Remembered,
    /// Where calls of bearers that are not accepted stand in line.
    lines: HashMap<Claimed, Arc<Semaphore>>,
    /// Whether the process ends: then nobody stands in line.
    closed: bool,
}

/// What is known of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Accepted,
    Refused,
    Unknown,
}

/// Why a call may not go with its bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotNow {
    /// The upstream answered it 401 a moment ago.
    Refused,
    /// Another bearer that claims the same is being tried.
    Busy,
    /// The process ends.
    Closing,
}

/// A call's right to go with its bearer, to be told what its answer says of that. The calls of
/// one batch share it.
#[derive(Debug)]
pub(super) struct Turn {
    bearers: Bearers,
    key: String,
    held: Mutex<Held>,
}

/// What a turn holds while its bearer is not accepted.
#[derive(Debug, Default)]
struct Held {
    /// Whom it claims to be, and its place in line.
    place: Option<(Claimed, OwnedSemaphorePermit)>,
    /// Whether a call may still run after this is gone.
    lingers: bool,
}

impl Bearers {
    /// None yet; one that is answered 401 is refused for `refused_for`, wall time.
    pub(super) fn new(refused_for: Duration) -> Self {
        Self::bounded(refused_for, REMEMBERED_MAX)
    }

    fn bounded(refused_for: Duration, max: usize) -> Self {
        Self(Arc::new(Mutex::new(Known {
            accepted: Remembered::new(ACCEPTED_FOR, max),
            refused: Remembered::new(refused_for, max),
            lines: HashMap::new(),
            closed: false,
        })))
    }

    /// Sends all away who stand in line, and whoever comes later. Turns that were given stay.
    pub(super) fn close(&self) {
        let mut known = self.lock();
        known.closed = true;
        known.lines.values().for_each(|line| line.close());
    }

    /// Waits, at most `until`, for the turn of a call with the bearer under `key`.
    ///
    /// # Errors
    /// See [`NotNow`].
    pub(super) async fn turn(
        &self,
        key: String,
        claimed: Claimed,
        until: Instant,
    ) -> Result<Turn, NotNow> {
        let turn = |place| Turn {
            bearers: self.clone(),
            key: key.clone(),
            held: Mutex::new(Held {
                place,
                lingers: false,
            }),
        };
        // Who leaves the line, for whatever reason, leaves nothing behind: dropped last.
        let _tidy = Tidy {
            bearers: self,
            claimed: &claimed,
        };
        loop {
            let line = {
                let mut known = self.lock();
                if known.closed {
                    return Err(NotNow::Closing);
                }
                match known.standing(&key, Instant::now()) {
                    Standing::Accepted => return Ok(turn(None)),
                    Standing::Refused => return Err(NotNow::Refused),
                    Standing::Unknown => known.line(&claimed),
                }
            };
            let waited = timeout_at(until, line.acquire_owned()).await;
            let place = waited.map_err(|_| NotNow::Busy)?;
            let place = place.map_err(|_| NotNow::Closing)?;
            let place = Some((claimed.clone(), place));
            // Meanwhile its standing may have been found out.
            let unknown = self.lock().standing(&key, Instant::now()) == Standing::Unknown;
            let turn = turn(place);
            if unknown {
                return Ok(turn);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Tidy<'a> {
    bearers: &'a Bearers,
    claimed: &'a Claimed,
}

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        self.bearers.lock().tidy(self.claimed);
    }
}

impl Turn {
    /// Whether the upstream has meanwhile refused its bearer.
    pub(super) fn is_refused(&self) -> bool {
        self.bearers.lock().standing(&self.key, Instant::now()) == Standing::Refused
    }

    /// Its call was answered.
    pub(super) fn answered(&self, status: StatusCode) {
        let now = Instant::now();
        let mut known = self.bearers.lock();
        let found_out = match status {
            StatusCode::UNAUTHORIZED => {
                known.accepted.forget(&self.key);
                known.refused.remember(&self.key, now)
            }
            // Said before anybody has looked at the bearer.
            StatusCode::TOO_MANY_REQUESTS => false,
            status if status.is_server_error() => false,
            _ => known.accepted.remember(&self.key, now),
        };
        drop(known);
        if found_out {
            self.leave();
        }
    }

    /// A call of it may still run, for as long as its permit lasts.
    pub(super) fn lingers(&self) {
        self.held().lingers = true;
    }

    /// Gives its place in line to the next, unless it may still be needed.
    fn leave(&self) {
        let mut held = self.held();
        let place = if held.lingers {
            None
        } else {
            held.place.take()
        };
        drop(held);
        if let Some((claimed, place)) = place {
            drop(place);
            self.bearers.lock().tidy(&claimed);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
        let Some((claimed, place)) = self.held().place.take() else {
            return;
        };
        let bearers = self.bearers.clone();
        // Where the runtime has gone, so has everybody who waits.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep(Permit::LEASE).await;
                drop(place);
                bearers.lock().tidy(&claimed);
            });
        }
    }
}

impl Known {
    fn standing(&self, key: &str, now: Instant) -> Standing {
        if self.refused.has(key, now) {
            Standing::Refused
        } else if self.accepted.has(key, now) {
            Standing::Accepted
        } else {
            Standing::Unknown
        }
    }

    fn line(&mut self, claimed: &Claimed) -> Arc<Semaphore> {
        let line = self.lines.entry(claimed.clone());
        Arc::clone(line.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    /// Forgets a line in which nobody stands.
    fn tidy(&mut self, claimed: &Claimed) {
        let empty = |line: &Arc<Semaphore>| Arc::strong_count(line) == 1;
        if self.lines.get(claimed).is_some_and(empty) {
            self.lines.remove(claimed);
        }
    }
}

#[cfg(test)]
mod tests;
