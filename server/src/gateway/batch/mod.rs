//! `POST …/$batch`: up to twenty calls in one, each with limits of its own.
//!
//! Every part is charged by itself: in its own workload, with its own weight, to its own
//! user where the path names one. The envelope costs nothing. So a batch may have to be taken
//! apart: what has room goes at once, the rest follows in further batches as room comes, and
//! the one answer that the client gets has each part once.
//!
//! [`request`], [`part`] and [`answer`] read the two sides, [`plan`] holds the rules of what goes when
//! (pure), [`run`] waits and sends, [`round`] carries one batch upstream, [`hearing`] reads its
//! answer, [`absorb`] takes in
//! what came of it, [`own`] words the failures that the gateway finds itself, [`waits`] says when
//! what was throttled may come back, [`merge`] writes the answer.
//!
//! This is the only body that is read before its permit: it has to be, to tell what it costs.

mod absorb;
mod answer;
mod hearing;
mod links;
mod malformed;
mod memory;
mod merge;
mod message;
mod order;
mod own;
mod part;
mod places;
mod plan;
mod request;
mod round;
mod run;
mod waits;

use std::{sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Version,
    header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
    request::Parts,
};
use http_body_util::BodyExt as _;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    Gateway,
    dialect::Ids,
    failure::Failure,
    hold::hold,
    path::Target,
    record::{Outcome, Record},
    refusal::Refusal,
    request_headers::{self, Asked},
    retry::Retries,
    upstream::Upstream,
};
use crate::{
    access::Caller,
    http::TooSlow,
    limiter::{Ask, Call},
};
pub use malformed::Malformed;
use memory::{Memory, Reserved};
use own::Own;
use part::Part;
pub(super) use part::is_batch;
use plan::Plan;
use request::{Batch, Envelope};
use run::{Job, Run};

/// The longest batch, in bytes: what Graph takes of any request that is no upload session
/// (4 MB; learn.microsoft.com/graph/sdks/large-file-upload).
pub(super) const BYTES_MAX: usize = 4 * 1024 * 1024;

/// How many batches may be under way at once.
const COUNT_MAX: usize = 1_000;

/// How long its client may take to send the next piece of a batch.
const PIECE_MAX: Duration = Duration::from_secs(30);

/// What bounds all batches together.
pub(super) struct Batches {
    places: Arc<Semaphore>,
    memory: Memory,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(COUNT_MAX)),
            memory: Memory::default(),
        }
    }
}

/// A batch whose body has not been read.
pub(super) struct Arriving<'a> {
    pub(super) upstream: &'a Upstream,
    pub(super) caller: Caller,
    pub(super) asked: Asked,
    pub(super) target: Target,
}

impl Arriving<'_> {
    /// Reads the batch, carries it, and answers it.
    ///
    /// # Errors
    /// It is no batch that could be sent; nothing was sent or charged.
    pub(super) async fn answer(
        &self,
        gateway: &Gateway,
        parts: &Parts,
        body: &mut Body,
        record: &mut Record,
        ids: &Ids,
    ) -> Result<Response, Refusal> {
        let until = Instant::now() + hold(self.asked.wait_ms, self.upstream.hold_max);
        refuse_what_is_none(parts)?;
        if gateway.closing.has_begun() {
            return Err(Refusal::Closing);
        }
        let place = gateway.batches.places.try_acquire();
        let _place = place.map_err(|_| Refusal::Capacity)?;
        let mut memory = gateway.batches.memory.none();
        let message = self.with_links(read(body, &mut memory).await?, &mut memory)?;
        let batch = Batch::read(&message, &self.envelope(parts))?;
        let asks = batch.parts.iter().map(|part| self.ask(parts, part));
        let asks: Vec<_> = asks.collect::<Result<_, _>>()?;
        let first = asks.iter().flatten().next();
        let turn = match first {
            Some(ask) => {
                let turn = self.upstream.turn(&parts.headers, ask, until);
                let turn = self.caller.wait(turn).await;
                turn.map_err(|stopped| Refusal::by_caller(stopped, self.upstream.dialect()))??
            }
            None => None,
        };
        let records = batch.parts.iter().zip(&asks);
        let records = records
            .map(|(part, ask)| self.record(record, part, ask.as_ref()))
            .collect();
        let span = &record.span;
        let job = Job {
            gateway,
            upstream: self.upstream,
            caller: &self.caller,
            batch: &batch,
            asks,
            onward: &|body| {
                let mut request = self.onward(parts, body);
                span.hand_on(request.headers_mut());
                request
            },
            turn,
            own: Own { ids },
            until,
        };
        let response = Run::new(job, plan(&batch), records, memory).run().await?;
        record.status = Some(response.status());
        record.outcome = Outcome::Relayed;
        Ok(response)
    }

    /// The batch with the upstream's own addresses in the bodies of its parts.
    fn with_links(&self, message: Bytes, memory: &mut Reserved) -> Result<Bytes, Refusal> {
        let Some(links) = self.upstream.links() else {
            return Ok(message);
        };
        memory.grow(message.len()).map_err(|_| Refusal::Capacity)?;
        Ok(links::request(message, links))
    }

    fn envelope<'e>(&'e self, parts: &'e Parts) -> Envelope<'e> {
        Envelope {
            root: up_to_last(&self.target.path),
            own_root: up_to_last(parts.uri.path()),
            authorization: parts.headers.get(AUTHORIZATION),
            links: self.upstream.links(),
        }
    }

    /// Whose budgets a part is charged to, and how much; `None`: no limits apply.
    fn ask(&self, parts: &Parts, part: &Part) -> Result<Option<Arc<Ask>>, Refusal> {
        let upstream = self.upstream;
        let Some(workload) = upstream.limiter.workload_of(&part.method, &part.path) else {
            return Ok(None);
        };
        let identity = upstream.identity(
            workload,
            &self.caller,
            &self.asked,
            &parts.headers,
            &part.path,
        )?;
        let weight = upstream.weight(workload, &part.method, &part.path, &part.query);
        Ok(Some(Arc::new(Ask {
            call: Call {
                workload,
                app: identity.app,
                tenant: identity.tenant,
                user: identity.user,
                lane: self.asked.lane.unwrap_or_else(|| self.caller.lane()),
                // Said of the batch, it is the least that each part weighs.
                weight: self.asked.weight.map_or(weight, |asked| asked.max(weight)),
            },
            account: self.caller.account().cloned(),
        })))
    }

    /// One part's line in the log.
    fn record(&self, batch: &Record, part: &Part, ask: Option<&Arc<Ask>>) -> Record {
        let mut record = batch.of_part(&part.method);
        record.upstream = Some(Arc::clone(&self.upstream.name));
        record.charged = ask.map(|ask| {
            let workload = self.upstream.workload_name(ask.call.workload);
            (workload, Arc::clone(ask))
        });
        record
    }

    /// A batch as the upstream gets it.
    fn onward(&self, parts: &Parts, body: Bytes) -> Request<Body> {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = self.target.origin_form();
        let mut headers = parts.headers.clone();
        request_headers::forward(&mut headers, self.upstream.base.authority());
        drop_what_speaks_of_the_bytes(&mut headers);
        // Its answer is read here.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        *request.headers_mut() = headers;
        request
    }
}

fn plan(batch: &Batch) -> Plan {
    let parts = batch.parts.iter();
    let parts = parts.map(|part| (part.depends_on.clone(), Retries::of(&part.method)));
    Plan::new(parts.collect(), batch.order.clone())
}

fn refuse_what_is_none(parts: &Parts) -> Result<(), Refusal> {
    if parts.method != Method::POST {
        return Err(Refusal::BatchMethod);
    }
    let is_json = |value: &HeaderValue| {
        let essence = value.as_bytes().split(|byte| *byte == b';').next();
        essence.is_some_and(|it| it.trim_ascii().eq_ignore_ascii_case(b"application/json"))
    };
    let plain = !parts.headers.contains_key(CONTENT_ENCODING);
    if plain && parts.headers.get_all(CONTENT_TYPE).iter().all(is_json) {
        return Ok(());
    }
    Err(Refusal::BatchType)
}

async fn read(body: &mut Body, memory: &mut Reserved) -> Result<Bytes, Refusal> {
    let mut bytes = Vec::new();
    loop {
        let frame = timeout(PIECE_MAX, body.frame()).await;
        let frame = frame.map_err(|_| Failure::UploadCut(TooSlow.into()))?;
        let Some(frame) = frame else {
            return Ok(bytes.into());
        };
        let frame = frame.map_err(|error| Failure::UploadCut(error.into()))?;
        let data = frame.into_data().unwrap_or_default();
        if bytes.len() + data.len() > BYTES_MAX {
            return Err(Refusal::BatchTooLarge);
        }
        memory.grow(data.len()).map_err(|_| Refusal::Capacity)?;
        bytes.extend_from_slice(&data);
    }
}

/// `/v1.0/$batch` without its last segment: `/v1.0/`.
fn up_to_last(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rfind('/').map_or("/", |slash| &path[..=slash])
}

fn drop_what_speaks_of_the_bytes(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
    for name in ["content-digest", "repr-digest", "digest", "content-md5"] {
        headers.remove(name);
    }
}
