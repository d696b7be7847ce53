//! `/api/v1/permits`: for callers that call the upstream themselves.
//!
//! A permit is taken, perhaps after a wait; then its holder calls the upstream and says how
//! that ended. What is asked is read in [`asked`], what comes of it is told in [`answers`].

mod answers;
mod asked;
mod rate_limit;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
    routing::{delete, post},
};
use http::StatusCode;
use serde_json::json;

use super::{
    Api,
    json::{BODY_BYTES_MAX, Body},
};
use crate::{
    http::Problem,
    limiter::{Limiter, NotExtended, NotHandedOut, Owner, PermitId, Refused, UnknownPermit},
};
use asked::{Completed, Wanted};

/// The permit that a path names; what cannot be a name names none.
type Named = Result<Path<PermitId>, PathRejection>;

pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/api/v1/permits", post(take))
        .route("/api/v1/permits/{id}", delete(give_back))
        .route("/api/v1/permits/{id}/complete", post(complete))
        .route("/api/v1/permits/{id}/renew", post(renew))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// A caller that leaves while it waits drops this future, and the limiter forgets it.
async fn take(
    State(api): State<Api>,
    wanted: Result<Body<Wanted>, Problem>,
) -> Result<Response, Problem> {
    let Body(wanted) = wanted?;
    let (limiter, ask, hold) = wanted.check(api.limiters.all())?;
    let taken = limiter
        .hand_out(owner(), ask.clone(), hold)
        .await
        .map_err(|not| (not, limiter.left(&ask)));
    match taken {
        Ok(handed_out) => Ok(answers::taken(&handed_out)),
        Err((NotHandedOut::Refused(Refused::Busy(busy)), left)) => {
            Ok(answers::busy(&busy, left.as_ref()))
        }
        Err((not, _)) => Err(answers::not_handed_out(&not)),
    }
}

async fn complete(
    State(api): State<Api>,
    id: Named,
    completed: Result<Body<Completed>, Problem>,
) -> Result<StatusCode, Problem> {
    let Body(completed) = completed?;
    let signal = completed.signal(jiff::Timestamp::now())?;
    let held = held(&api, id, |limiter, id| {
        limiter.complete(&owner(), id, &signal).ok()
    });
    held.map(|()| StatusCode::NO_CONTENT)
}

async fn renew(State(api): State<Api>, id: Named) -> Result<Response, Problem> {
    let renewed = held(&api, id, |limiter, id| match limiter.renew(&owner(), id) {
        Err(NotExtended::Unknown(UnknownPermit)) => None,
        Err(NotExtended::NotRenewed(not)) => Some(Err(not)),
        Ok(ttl) => Some(Ok(ttl)),
    })?;
    let ttl = renewed.map_err(answers::not_renewed)?;
    Ok(Json(json!({ "ttl_ms": answers::whole_ms(ttl) })).into_response())
}

async fn give_back(State(api): State<Api>, id: Named) -> Result<StatusCode, Problem> {
    let held = held(&api, id, |limiter, id| limiter.give_back(&owner(), id).ok());
    held.map(|()| StatusCode::NO_CONTENT)
}

/// Without sign-in everybody is the same caller.
const fn owner() -> Owner {
    Owner::OPEN
}

/// Does something to the permit of this name, wherever its owner holds it.
fn held<T>(
    api: &Api,
    id: Named,
    act: impl Fn(&Limiter, PermitId) -> Option<T>,
) -> Result<T, Problem> {
    let Path(id) = id.map_err(|_| answers::unknown())?;
    let mut limiters = api.limiters.all().iter();
    limiters
        .find_map(|limiter| act(limiter, id))
        .ok_or_else(answers::unknown)
}
