//! A call's way through the gateway: read, admit, hand over, answer.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderValue, Method, Request, Version,
    header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING},
    request::Parts,
};
use http_body_util::{BodyExt as _, Limited};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{
    Gateway,
    batch::Arriving,
    carried::Carried,
    dialect::{Dialect, Ids},
    entry::enter,
    exchange::Exchange,
    failure::Failure,
    held_body::read_ahead,
    hold::hold,
    links::Answers,
    path::{self, Target},
    readmission::Readmission,
    record::{Outcome, Record},
    refusal::Refusal,
    replay::Call,
    request_headers::{self, Asked},
    retry::Retries,
    slot::Slot,
    upstream::Upstream,
};
use crate::{
    access::Caller,
    http::Arrived,
    limiter::{Ask, WorkloadIndex},
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
    let ids = arrival.record.ids();
    let answered = match admit(gateway, &mut arrival).await {
        Ok(Way::Call(admitted)) => {
            let dialect = admitted.upstream.dialect();
            let answered = admitted.hand_over(gateway, arrival).await;
            answered.map_err(|failure| match failure {
                Failure::Ended(not) => Refusal::by_token(not, dialect),
                failure => Refusal::from(failure),
            })
        }
        Ok(Way::Batch(batch)) => arrival.answer_batch(gateway, &batch, &ids).await,
        Err(refusal) => {
            arrival.refuse(&refusal);
            Err(refusal)
        }
    };
    answered.unwrap_or_else(|refusal| refusal.answer(&ids, &gateway.retry_after))
}

/// Answers a call that is not even looked at.
pub(super) fn refuse(
    gateway: &Gateway,
    request: Request<Body>,
    arrived: Arrived,
    why: &Refusal,
) -> Response {
    let arrival = Arrival::new(request, arrived, gateway);
    let ids = arrival.record.ids();
    arrival.refuse(why);
    why.answer(&ids, &gateway.retry_after)
}

/// A call whose body has not been touched.
struct Arrival {
    parts: Parts,
    body: Body,
    record: Record,
}

/// What is to be done.
enum Way<'a> {
    /// The call may go.
    Call(Admitted<'a>),
    /// Its parts are to be admitted one by one.
    Batch(Arriving<'a>),
}

/// A call that may go.
struct Admitted<'a> {
    upstream: &'a Upstream,
    target: Target,
    slot: Slot,
    readmission: Readmission,
}

/// Reads the call's head and waits for its permit.
async fn admit<'a>(gateway: &'a Arc<Gateway>, arrival: &mut Arrival) -> Result<Way<'a>, Refusal> {
    let (parts, record) = (&arrival.parts, &mut arrival.record);
    let (name, rest) = path::split(parts.uri.path());
    let asked = request_headers::read(&parts.method, &parts.headers)?;
    let upstream = gateway.upstreams.get(name);
    let caller = enter(gateway, upstream, parts).await?;
    caller.name().clone_into(&mut record.caller);
    let upstream = upstream.ok_or_else(|| gateway.unknown())?;
    name.clone_into(&mut record.upstream);
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
            limited = Some((upstream.limiter.clone(), ask.clone()));
            acquire(upstream, &caller, &parts.headers, ask, until, record).await?
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
        arrival.body = read_ahead(body)
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
        workload,
        app: identity.app,
        tenant: identity.tenant,
        user: identity.user,
        lane: asked.lane.unwrap_or_else(|| caller.lane()),
        weight,
        account: caller.account().cloned(),
    })
}

/// Waits for a permit. A caller who leaves drops this future, and the limiter forgets it.
async fn acquire(
    upstream: &Upstream,
    caller: &Caller,
    headers: &HeaderMap,
    ask: Ask,
    until: Instant,
    record: &mut Record,
) -> Result<Slot, Refusal> {
    let (workload, dialect) = upstream.workload(ask.workload);
    workload.clone_into(&mut record.workload);
    record.user.clone_from(&ask.user);
    record.lane = Some(ask.lane);
    let index = ask.workload;
    // What it comes to goes back untouched if its token, or its bearer, was refused meanwhile.
    let granted = caller.wait(async {
        let turn = upstream.turn(headers, &ask, until).await?;
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

impl Admitted<'_> {
    /// Carries the exchange until there is the answer's head. A caller who leaves earlier drops
    /// its slot untouched, one who leaves later ends nothing.
    async fn hand_over(self, gateway: &Gateway, arrival: Arrival) -> Result<Response, Failure> {
        let Arrival {
            parts,
            body,
            mut record,
        } = arrival;
        let mut request = onward(parts, body, &self.target, self.upstream);
        record.span.hand_on(request.headers_mut());
        let mut answers = None;
        if let Some(links) = self.upstream.links() {
            answers = Some(Answers::to(request.headers(), links));
            let outgoing = links.outgoing(request).await;
            let outgoing = outgoing.map_err(|error| Failure::UploadCut(error.into()));
            request = outgoing.inspect_err(|failure| record.fail(failure))?;
        }
        frame(&mut request);
        record.admit();
        let (caller, head) = oneshot::channel();
        let exchange = Exchange {
            slot: self.slot,
            readmission: self.readmission,
            links: answers,
            record,
            connections: Arc::clone(&self.upstream.connections),
            caller: Some(caller),
        };
        let work = exchange.run(Call::new(request));
        let carried = Carried::new(gateway.exchanges.track_future(work));
        head_of(carried, head).await
    }
}

/// The answer's head. What of the call has not ended with it goes on by itself.
async fn head_of(
    mut carried: Carried,
    mut head: oneshot::Receiver<Result<Response, Failure>>,
) -> Result<Response, Failure> {
    let came = tokio::select! {
        biased;
        () = &mut carried => head.await,
        came = &mut head => came,
    };
    came.unwrap_or(Err(Failure::Gone))
}

/// The call as its upstream gets it: the address line in origin form, and only the headers
/// that are its business.
fn onward(parts: Parts, body: Body, target: &Target, upstream: &Upstream) -> Request<Body> {
    let mut request = Request::new(body);
    *request.method_mut() = parts.method;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = parts.headers;
    request_headers::forward(request.headers_mut(), upstream.base.authority());
    *request.uri_mut() = target.origin_form();
    request
}

/// Says how a call's body ends, where hyper would not: it leaves a body of unknown length out of
/// a call of `GET` or `HEAD`, and the length of an empty one, which servers demand where a body is
/// the method's point (411).
fn frame(request: &mut Request<Body>) {
    let body = request.body();
    let length = http_body::Body::size_hint(body).exact();
    let is_empty = http_body::Body::is_end_stream(body);
    let expects_body = [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
    let headers = request.headers_mut();
    if is_empty && expects_body {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    } else if !is_empty && length.is_none() {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

impl Arrival {
    fn new(request: Request<Body>, arrived: Arrived, gateway: &Gateway) -> Self {
        let (parts, body) = request.into_parts();
        let name = || format!("{} /{{upstream}}", parts.method);
        let span = gateway.traces.begin(name, &parts.headers);
        let record = Record::new(&parts, arrived, gateway.traffic.clone(), span);
        Self {
            parts,
            body,
            record,
        }
    }

    async fn answer_batch(
        mut self,
        gateway: &Gateway,
        batch: &Arriving<'_>,
        ids: &Ids,
    ) -> Result<Response, Refusal> {
        let Self {
            parts,
            body,
            record,
        } = &mut self;
        let answered = batch.answer(gateway, parts, body, record, ids).await;
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
