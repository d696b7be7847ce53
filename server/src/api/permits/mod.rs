//! `/api/v1/permits`: for callers that call the upstream themselves.
//!
//! A permit is taken, perhaps after a wait; then its holder calls the upstream and says how
//! that ended. What is asked is read in [`asked`] and waits in [`take`], once for each key
//! that it is [`repeated`] under; what comes of it is told in [`answers`].

mod answers;
mod asked;
mod rate_limit;
mod repeated;
mod schemas;
mod take;

use axum::{
    Extension, Json,
    extract::{FromRequest as _, Path, Request, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api,
    json::{self, Body, BodyRefused},
};
use crate::{
    access::Caller,
    http::Problem,
    limiter::{Limiter, NotExtended, Owner, PermitId, UnknownPermit},
    metrics::Via,
};
use asked::{Completed, Wanted, Wants};
use schemas::{ById, OneOrMany, Renewed, TakenOrNot, Throttled, Unknown};

pub(super) use repeated::Repeated;

/// The permit that a path names; what cannot be a name names none.
type Named = Result<Path<PermitId>, PathRejection>;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::default()
        .routes(routes!(take))
        .routes(routes!(give_back))
        .routes(routes!(complete))
        .routes(routes!(renew))
}

/// Take permits
///
/// For one call, or for up to 100 at once: a list is answered by a list, in order, where each
/// item is a permit or the problem that it would have been answered by. All of a list wait at the
/// same time, at most 10 s, and the answer comes when the last is decided.
#[utoipa::path(
    post,
    path = "/api/v1/permits",
    tag = "permits",
    operation_id = "takePermits",
    params(
        (
            "Idempotency-Key" = Option<String>, Header,
            description = "1 to 255 visible characters, in quotes or not. The same key with the \
                same body is one request: whoever sends it again, while it waits or within 15 \
                minutes after its permit was given, gets the same permit.",
            min_length = 1, max_length = 255, pattern = r"^[!#-\[\]-~]+$",
            example = "7f9f2f0c-3b1e-4c43-9a57-1d1b0a5b6c55"
        ),
    ),
    request_body(
        content = OneOrMany,
        content_type = "application/json",
        examples(
            ("one" = (value = json!({
                "upstream": "graph", "workload": "onenote", "user": "u1",
                "lane": "background", "wait_ms": 5000
            }))),
            ("several" = (value = json!([
                { "upstream": "graph", "user": "u1" },
                { "upstream": "graph", "user": "u2", "weight": 2 }
            ]))),
        )
    ),
    responses(
        BodyRefused,
        (
            status = 200, description = "The permit, or the list of permits and problems",
            body = TakenOrNot, content_type = "application/json",
            headers(
                ("RateLimit" = String, description = "What is left of the tightest rate that \
                    the call meets; not of lists: `\"user/rate/60s\";r=80;t=12`"),
                ("RateLimit-Policy" = String, description = "That rate: `\"user/rate/60s\";q=120;w=60`"),
            ),
            links(
                ("complete" = (
                    operation_id = "completePermit", parameters(("id" = "$response.body#/id"))
                )),
                ("renew" = (
                    operation_id = "renewPermit", parameters(("id" = "$response.body#/id"))
                )),
                ("return" = (
                    operation_id = "returnPermit", parameters(("id" = "$response.body#/id"))
                )),
            ),
            examples(
                ("one" = (value = json!({ "id": "3q2-7wAAAAAAAAAAAAAAAA", "ttl_ms": 120_000 }))),
                ("several" = (value = json!([
                    { "id": "3q2-7wAAAAAAAAAAAAAAAA", "ttl_ms": 120_000 },
                    {
                        "type": "about:blank", "title": "A field is not as it should be",
                        "status": 422, "code": "bad_field", "detail": "weight must be at least 1"
                    }
                ]))),
            )
        ),
        (
            status = 429, description = "`throttled`: not within `wait_ms`",
            body = Throttled, content_type = "application/problem+json",
            headers(
                ("Retry-After" = u64, description = "`retry_after_ms` in whole seconds, rounded up"),
                ("RateLimit" = String, description = "As with 200"),
                ("RateLimit-Policy" = String, description = "As with 200"),
            )
        ),
        (status = 400, description = "`bad_json`; `bad_idempotency_key`"),
        (status = 404, description = "`unknown_upstream`"),
        (
            status = 422,
            description = "`bad_field`; `workload_missing` and `unknown_workload`, with the names \
                there are; `impossible`: the weight is above what the lane may ever hold; \
                `too_many_items`; `idempotency_key_reused`: with another body"
        ),
        (
            status = 503,
            description = "`capacity`, `storage`: the counters cannot be written; `closing`"
        ),
    )
)]
async fn take(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Response> {
    taken(&api, caller, request).await
}

pub(super) async fn taken(
    api: &Api,
    caller: Caller,
    request: Request,
) -> Result<Response, Response> {
    let (head, body) = request.into_parts();
    let text = json::text(&head.headers, body).await?;
    let taken = match (Wants::read(&text), repeated::key(&head.headers)) {
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
        (Ok(Wants::One(wanted)), Ok(None)) => Ok(take_one(api, &caller, wanted).await),
        (Ok(wants), Ok(key)) => Box::pin(take_all(api.clone(), caller, wants, key, &text)).await,
    };
    taken.map_err(IntoResponse::into_response)
}

/// What nearly everybody asks: one permit, once.
async fn take_one(api: &Api, caller: &Caller, wanted: Wanted) -> Response {
    let owner = owner(caller);
    let outcome = take::one(api, caller, &owner, wanted).await;
    let answer = answers::Answer {
        owner,
        outcomes: std::slice::from_ref(&outcome),
        aged: false,
    };
    answer.single()
}

async fn take_all(
    api: Api,
    caller: Caller,
    wants: Wants,
    key: Option<&str>,
    text: &[u8],
) -> Result<Response, Problem> {
    let (many, calls) = (wants.are_many(), wants.calls());
    let owner = owner(&caller);
    let repeated = api.repeated.clone();
    let work = take::all(api, caller.clone(), owner.clone(), wants);
    let (outcomes, again) = match key {
        Some(key) => {
            let request = repeated::Request::new(&owner, key, text, calls);
            repeated.once(&caller, &request, work).await?
        }
        None => (work.await, false),
    };
    let answer = answers::Answer {
        owner,
        outcomes: &outcomes,
        aged: many || again,
    };
    Ok(if many { answer.list() } else { answer.single() })
}

/// Say how the call ended
///
/// When the answer's body is over. Again: 204, and nothing happens.
#[utoipa::path(
    post,
    path = "/api/v1/permits/{id}/complete",
    tag = "permits",
    operation_id = "completePermit",
    params(ById),
    request_body(
        content = Completed,
        example = json!({ "status": 429, "headers": { "Retry-After": "30" } })
    ),
    responses(BodyRefused, Unknown, (status = 204, description = "The permit has ended"))
)]
async fn complete(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    id: Named,
    request: Request,
) -> Result<StatusCode, Response> {
    completed(&api, &caller, id, request).await
}

pub(super) async fn completed(
    api: &Api,
    caller: &Caller,
    id: Named,
    request: Request,
) -> Result<StatusCode, Response> {
    let Body(completed) = Body::<Completed>::from_request(request, &()).await?;
    let signal = completed.signal(jiff::Timestamp::now());
    let signal = signal.map_err(IntoResponse::into_response)?;
    let owner = owner(caller);
    let held = held(api, id, |limiter, id| {
        let workload = limiter.workload_of_permit(&owner, id);
        limiter.complete(&owner, id, &signal).ok()?;
        if let Some(workload) = workload {
            let traffic = api.metrics.traffic();
            traffic.answered(limiter.name(), workload, Via::Permit, completed.status());
        }
        Some(())
    });
    held.map(|()| StatusCode::NO_CONTENT)
        .map_err(IntoResponse::into_response)
}

/// Say that the call still runs
#[utoipa::path(
    post,
    path = "/api/v1/permits/{id}/renew",
    tag = "permits",
    operation_id = "renewPermit",
    params(ById),
    responses(
        Unknown,
        (
            status = 200, description = "It lasts so long from now on", body = Renewed,
            example = json!({ "ttl_ms": 120_000 })
        ),
        (status = 409, description = "`not_renewable`: 15 minutes have passed, or it is a probe's; abort the call"),
        (status = 410, description = "`ended`: it was ended, or has expired"),
    )
)]
pub(super) async fn renew(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    id: Named,
) -> Result<Response, Problem> {
    let renewed = held(&api, id, |limiter, id| {
        match limiter.renew(&owner(&caller), id) {
            Err(NotExtended::Unknown(UnknownPermit)) => None,
            Err(NotExtended::NotRenewed(not)) => Some(Err(not)),
            Ok(ttl) => Some(Ok(ttl)),
        }
    })?;
    let ttl = renewed.map_err(answers::not_renewed)?;
    let ttl_ms = answers::whole_ms(ttl);
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((no_store, Json(Renewed { ttl_ms })).into_response())
}

/// Give a permit back
///
/// Its call was never sent, not a byte of it: its weight is refunded.
#[utoipa::path(
    delete,
    path = "/api/v1/permits/{id}",
    tag = "permits",
    operation_id = "returnPermit",
    params(ById),
    responses(Unknown, (status = 204, description = "The permit has ended"))
)]
pub(super) async fn give_back(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    id: Named,
) -> Result<StatusCode, Problem> {
    let held = held(&api, id, |limiter, id| {
        limiter.give_back(&owner(&caller), id).ok()
    });
    held.map(|()| StatusCode::NO_CONTENT)
}

/// Whose the permits are: the token's, restarts included. Where the server is open, everybody
/// is the same caller. Nobody who has signed in gets here: permits are for programs.
fn owner(caller: &Caller) -> Owner {
    match caller {
        Caller::Token(token) => Owner::token(&token.id),
        Caller::Anyone | Caller::Guest | Caller::Network(_) | Caller::Session(_) => Owner::OPEN,
    }
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
