//! Taking permits: for one call, or for several that wait at the same time.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;

use super::super::Api;
use super::answers;
use super::asked::{Wanted, Wants};
use crate::{
    access::{Caller, NotValid, Stopped},
    http::Problem,
    limiter::{Begun, Busy, HandedOut, Left, Limiter, NotHandedOut, Owner, PermitId, Refused},
};

/// How long the calls of a list may wait, wall time: the permits that are given first run out
/// while the last ones wait, and a probe's lasts 30 s.
pub(super) const LIST_WAIT_MAX: Duration = Duration::from_secs(10);

/// What came of one call that asked.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// It may go.
    Taken {
        /// Who knows the permit.
        limiter: Limiter,
        /// The permit.
        handed_out: HandedOut,
    },
    /// It may not go now.
    Busy {
        /// When it would fit.
        busy: Busy,
        /// What is left of what limits it.
        left: Option<Left>,
    },
    /// It may not go at all.
    Not(Problem),
    /// The token of who asks ended while it waited: nothing was taken, of a list neither.
    Ended(NotValid),
}

/// Waits until the call is decided. Dropped before, it leaves no trace.
pub(super) async fn one(api: &Api, caller: &Caller, owner: &Owner, wanted: Wanted) -> Outcome {
    let decided = decide(api, caller, owner, Ok(wanted), Duration::MAX).await;
    match decided.ended().map_or_else(|| caller.still_valid(), Err) {
        Ok(()) => decided.claim(),
        Err(not) => Outcome::Ended(not),
    }
}

/// Waits until each call is decided, asked for in their order. Dropped before, it leaves no
/// trace of any.
pub(super) async fn all(api: Api, caller: Caller, owner: Owner, wants: Wants) -> Arc<[Outcome]> {
    let items = match wants {
        Wants::One(wanted) => return [one(&api, &caller, &owner, wanted).await].into(),
        Wants::Many(items) => items,
    };
    let asks = items
        .into_iter()
        .map(|wanted| decide(&api, &caller, &owner, wanted, LIST_WAIT_MAX));
    let decided = join_all(asks).await;
    // Those that need not wait were decided while others waited.
    let ended = decided.iter().find_map(Unclaimed::ended);
    match ended.map_or_else(|| caller.still_valid(), Err) {
        Ok(()) => decided.into_iter().map(Unclaimed::claim).collect(),
        Err(not) => [Outcome::Ended(not)].into(),
    }
}

async fn decide(
    api: &Api,
    caller: &Caller,
    owner: &Owner,
    wanted: Result<Wanted, Problem>,
    wait_max: Duration,
) -> Unclaimed {
    let (limiter, ask, hold) =
        match wanted.and_then(|wanted| wanted.check(api.limiters.all(), caller)) {
            Ok(checked) => checked,
            Err(problem) => return Unclaimed::new(Outcome::Not(problem), owner),
        };
    let hold = hold.min(wait_max);
    // What is dropped undelivered is given back.
    let begun = match limiter.begin(owner, &ask, hold) {
        Begun::Now(begun) => Ok(begun),
        // Boxed: who need not wait need not carry its size.
        Begun::Later(held) => Box::pin(caller.wait(held.outcome())).await,
    };
    let taken = match begun {
        Ok(Ok(unwritten)) => unwritten.written().await,
        Ok(Err(not)) => Err(not),
        Err(Stopped::Ended(not)) => return Unclaimed::new(Outcome::Ended(not), owner),
        Err(Stopped::Full(full)) => {
            return Unclaimed::new(Outcome::Not(full.into()), owner);
        }
    };
    let outcome = match taken {
        Ok(handed_out) => Outcome::Taken {
            limiter: limiter.clone(),
            handed_out,
        },
        Err(NotHandedOut::Refused(Refused::Busy(busy))) => Outcome::Busy {
            busy,
            left: limiter.left(&ask),
        },
        Err(not) => Outcome::Not(answers::not_handed_out(&not)),
    };
    Unclaimed::new(outcome, owner)
}

/// What is decided, while others of the same list are not: its caller may leave meanwhile,
/// and then its permit is given back.
struct Unclaimed {
    outcome: Option<Outcome>,
    /// Who gives what back, to whom.
    permit: Option<(Limiter, Owner, PermitId)>,
}

impl Unclaimed {
    fn new(outcome: Outcome, owner: &Owner) -> Self {
        let permit = match &outcome {
            Outcome::Taken {
                limiter,
                handed_out,
            } => Some((limiter.clone(), owner.clone(), handed_out.id)),
            Outcome::Busy { .. } | Outcome::Not(_) | Outcome::Ended(_) => None,
        };
        Self {
            outcome: Some(outcome),
            permit,
        }
    }

    fn ended(&self) -> Option<NotValid> {
        match self.outcome {
            Some(Outcome::Ended(not)) => Some(not),
            _ => None,
        }
    }

    fn claim(mut self) -> Outcome {
        self.permit = None;
        // It is taken here alone, and claimed once.
        self.outcome
            .take()
            .unwrap_or_else(|| Outcome::Not(answers::unknown()))
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some((limiter, owner, id)) = self.permit.take() {
            // It is known: it was handed out just now.
            let _ = limiter.give_back(&owner, id);
        }
    }
}
