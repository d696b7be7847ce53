//! A call's way through the gateway: read, admit, hand over, answer.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{HeaderMap, Request, header::EXPECT, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use tokio::time::{Instant, timeout};

use super::{
    Gateway,
    admitted::{Admitted, head_of},
    batch::Arriving,
    dialect::Dialect,
    entry::enter,
    failure::Failure,
    held_body::read_ahead,
    hold::hold,
    path,
    readmission::Readmission,
    record::{Outcome, Record},
    refusal::Refusal,
    request_headers::{self, Asked},
    retry::Retries,
    slot::Slot,
    upstream::Upstream,
};
use crate::{
    access::Caller,
    http::{Arrived, Peer},
    limiter::{Ask, Call, WorkloadIndex},
};

/// From when on a call counts as held: its client may have left without a sign.
const HELD_MIN: Duration = Duration::from_millis(50);

/// How much of a refused call's body is still read, in bytes, and for how long: a
/// connection that is closed on a client that still sends loses it the answer.
const DISCARD_BYTES_MAX: usize = 256 * 1024;
const DISCARD_MAX: Duration = Duration::from_secs(2);

/// Answers one call, by its upstream or by the gateway itself.
pub(super) async fn call(
    gateway: &Arc<Gateway>,
    request: Request<Body>,
    arrived: Arrived,
) -> Response {
    let mut arrival = Arrival::new(request, arrived, gateway);
    let numbers = arrival.record.numbers();
    let answered = match admit(gateway, &mut arrival).await {
        Ok(Way::Call(admitted)) => {
            let dialect = admitted.upstream.dialect();
            // A caller who leaves until then drops his place untouched.
            let answered = match admitted.make_onward(&mut arrival).await {
                Ok(links) => {
                    let (carried, head) = admitted.begin(gateway, arrival, links);
                    head_of(carried, head).await
                }
                Err(failure) => Err(failure),
            };
            answered.map_err(|failure| match failure {
                Failure::Ended(not) => Refusal::by_token(not, dialect),
                failure => Refusal::from(failure),
            })
        }
        // On the heap: calls need not carry what a batch takes.
        Ok(Way::Batch(batch)) => Box::pin(arrival.answer_batch(gateway, &batch)).await,
        Err(refusal) => {
            arrival.refuse(&refusal);
            Err(refusal)
        }
    };
    answered.unwrap_or_else(|refusal| refusal.answer(&numbers.ids(), &gateway.retry_after))
}

/// Answers a call that is not even looked at.
pub(super) fn refuse(
    gateway: &Gateway,
    request: Request<Body>,
    arrived: Arrived,
    why: &Refusal,
) -> Response {
    let arrival = Arrival::new(request, arrived, gateway);
    let numbers = arrival.record.numbers();
    arrival.refuse(why);
    why.answer(&numbers.ids(), &gateway.retry_after)
}

/// A call whose body has not been touched.
pub(super) struct Arrival {
    pub(super) parts: Parts,
    pub(super) body: Body,
    peer: Option<Peer>,
    pub(super) record: Record,
}

/// What is to be done.
enum Way<'a> {
    /// The call may go.
    Call(Admitted<'a>),
    /// Its parts are to be admitted one by one.
    Batch(Arriving<'a>),
}

/// Reads the call's head and waits for its permit.
async fn admit<'a>(gateway: &'a Arc<Gateway>, arrival: &mut Arrival) -> Result<Way<'a>, Refusal> {
    let (parts, record) = (&arrival.parts, &mut arrival.record);
    let (name, rest) = path::split(parts.uri.path());
    let asked = request_headers::read(&parts.method, &parts.headers)?;
    let upstream = gateway.upstreams.get(name);
    let caller = enter(gateway, upstream, parts, arrival.peer).await?;
    record.caller = Some(caller.clone());
    let upstream = upstream.ok_or_else(|| gateway.unknown())?;
    record.upstream = Some(Arc::clone(&upstream.name));
    let query = parts.uri.query().map(|query| upstream.query(query));
    let target = path::target(&upstream.base, rest, query.as_deref())?;
    if upstream.is_batch(&target.path) {
        return Ok(Way::Batch(Arriving {
            upstream,
            caller,
            asked,
            target,
        }));
    }
    let hold = hold(asked.wait_ms, upstream.hold_max);
    let until = Instant::now() + hold;
    let mut dialect = Dialect::Generic;
    let mut limited = None;
    let slot = match upstream.limiter.workload_of(&parts.method, &target.path) {
        Some(workload) => {
            dialect = upstream.workload(workload).1;
            let ask = ask(upstream, workload, &caller, &asked, parts, &target.path)?;
            let ask = Arc::new(ask);
            record.charged = Some((upstream.workload_name(workload), Arc::clone(&ask)));
            let slot = acquire(upstream, &caller, &parts.headers, &ask, until).await?;
            limited = Some((upstream.limiter.clone(), ask));
            slot
        }
        None => gateway.unlimited()?,
    };
    let readmission = Readmission {
        gateway: Arc::clone(gateway),
        caller,
        limited,
        retry_after_s_max: dialect.retry_after_s_max(),
        until,
        retries: Retries::of(&parts.method),
    };
    if record.age() >= HELD_MIN {
        let body = std::mem::take(&mut arrival.body);
        arrival.body = Box::pin(read_ahead(body))
            .await
            .map_err(|error| Failure::UploadCut(error.into()))?;
    }
    Ok(Way::Call(Admitted {
        upstream,
        target,
        slot,
        readmission,
    }))
}

/// Whose budgets the call is charged to, and how much.
fn ask(
    upstream: &Upstream,
    workload: WorkloadIndex,
    caller: &Caller,
    asked: &Asked,
    parts: &Parts,
    path: &str,
) -> Result<Ask, Refusal> {
    let identity = upstream.identity(workload, caller, asked, &parts.headers, path)?;
    let query = parts.uri.query().unwrap_or_default();
    // Nobody makes a call cheaper than it is.
    let weight = upstream.weight(workload, &parts.method, path, query);
    let weight = weight.max(asked.weight.unwrap_or_default());
    Ok(Ask {
        call: Call {
            workload,
            app: identity.app,
            tenant: identity.tenant,
            user: identity.user,
            lane: asked.lane.unwrap_or_else(|| caller.lane()),
            weight,
        },
        account: caller.account().cloned(),
    })
}

/// Waits for a permit. A caller who leaves drops this future, and the limiter forgets it.
async fn acquire(
    upstream: &Upstream,
    caller: &Caller,
    headers: &HeaderMap,
    ask: &Ask,
    until: Instant,
) -> Result<Slot, Refusal> {
    let index = ask.call.workload;
    let dialect = upstream.workload(index).1;
    // What it comes to goes back untouched if its token, or its bearer, was refused meanwhile.
    let granted = caller.wait(async {
        let turn = upstream.turn(headers, ask, until).await?;
        let hold = until.saturating_duration_since(Instant::now());
        let permit = upstream.limiter.acquire(ask, hold).await;
        let slot = permit.map(Slot::limited);
        let slot = slot.map_err(|refused| Refusal::by_limiter(refused, dialect))?;
        Ok::<_, Refusal>((slot, turn))
    });
    let granted = granted.await;
    let (slot, turn) =
        granted.map_err(|stopped| Refusal::by_caller(stopped, upstream.dialect()))??;
    upstream.still_good(turn.as_ref(), index)?;
    Ok(slot.with(turn))
}

impl Arrival {
    fn new(request: Request<Body>, arrived: Arrived, gateway: &Gateway) -> Self {
        let (parts, body) = request.into_parts();
        let peer = arrived.peer;
        let name = || format!("{} /{{upstream}}", parts.method);
        let span = gateway.traces.begin(name, &parts.headers);
        let record = Record::new(&parts, arrived, gateway.traffic.clone(), span);
        Self {
            parts,
            body,
            peer,
            record,
        }
    }

    async fn answer_batch(
        mut self,
        gateway: &Gateway,
        batch: &Arriving<'_>,
    ) -> Result<Response, Refusal> {
        let Self {
            parts,
            body,
            record,
            ..
        } = &mut self;
        let ids = record.numbers().ids();
        let answered = batch.answer(gateway, parts, body, record, &ids).await;
        if let Err(refusal) = &answered {
            self.refuse(refusal);
        }
        answered
    }

    /// Logs the refusal and lets the client finish what it is sending.
    fn refuse(mut self, refusal: &Refusal) {
        self.record.outcome = Outcome::Refused;
        self.record.status = Some(refusal.status());
        self.record.reason = Some(refusal.code().to_owned());
        // Who waits for `100 Continue` has sent nothing and must not be asked to.
        if !self.parts.headers.contains_key(EXPECT) && !http_body::Body::is_end_stream(&self.body) {
            tokio::spawn(discard(self.body));
        }
    }
}

async fn discard(body: Body) {
    let mut body = Limited::new(body, DISCARD_BYTES_MAX);
    let read = async { while let Some(Ok(_)) = body.frame().await {} };
    drop(timeout(DISCARD_MAX, read).await);
}

impl Gateway {
    /// A place for a call that no limit applies to.
    pub(super) fn unlimited(&self) -> Result<Slot, Refusal> {
        if self.closing.has_begun() {
            return Err(Refusal::Closing);
        }
        let place = Arc::clone(&self.unlimited).try_acquire_owned();
        place.map(Slot::unlimited).map_err(|_| Refusal::Capacity)
    }

    fn unknown(&self) -> Refusal {
        let names: Vec<_> = self.upstreams.keys().map(String::as_str).collect();
        Refusal::UnknownUpstream {
            known: names.join(", "),
        }
    }
}
