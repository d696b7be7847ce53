//! Microsoft Graph's surface: whatever is not under `/_sim`.

mod answer;
mod batch;
mod call;
mod entities;
mod errors;
mod links;
mod page_text;
mod paths;
mod query;
mod reads;
mod writes;

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request as Arriving, State};
use axum::http::{Method, Request};
use axum::response::Response;
use bytes::Bytes;

use crate::content::library::Library;
use crate::faults::Fault;
use crate::identity::{self, Caller};
use crate::simulator::{Simulator, Slot};
use crate::streams;
use answer::Answer;
use call::Call;
use errors::GraphError;
use links::Links;
use paths::GraphPath;
use writes::Write;

/// The largest body that is read: 4 MiB, Graph's own limit for one request.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Answers one call, or a batch of them.
pub(crate) async fn answer(State(simulator): State<Simulator>, request: Arriving) -> Response {
    let path = request.uri().path().to_owned();
    let version = batch::version(&path);
    let call = match version {
        Some(_) => Call::begin_batch(&simulator, request.headers()),
        None => Call::begin(&simulator, request.headers()),
    };
    let answered = match (whole(request).await, version) {
        (Ok(request), Some(version)) => batch::answer(&simulator, &call, version, &request).await,
        (Ok(request), None) => respond(&simulator, &call, &request).await,
        (Err(error), _) => Err(error),
    };
    let response = answered.unwrap_or_else(|error| call.respond(error.answer(&call)));
    tracing::debug!(path, status = response.status().as_u16(), "answered");
    response
}

/// The request with its body read. A body that never ends is the client's own loss: nothing is
/// counted before all of it is there.
async fn whole(request: Arriving) -> Result<Request<Bytes>, GraphError> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_MAX).await;
    let body = body.map_err(|_| GraphError::too_large())?;
    Ok(Request::from_parts(head, body))
}

async fn respond(
    simulator: &Simulator,
    call: &Call,
    request: &Request<Bytes>,
) -> Result<Response, GraphError> {
    let performed = perform(simulator, call, request).await?;
    let Performed {
        answer,
        fault,
        slot,
    } = performed;
    Ok(deliver(call, answer, &fault, slot))
}

/// A call that was let in, and worked on for its time.
struct Performed {
    answer: Answer,
    fault: Fault,
    slot: Slot,
}

async fn perform(
    simulator: &Simulator,
    call: &Call,
    request: &Request<Bytes>,
) -> Result<Performed, GraphError> {
    let path = GraphPath::parse(request.uri().path())?;
    let default_app = &simulator.settings().app;
    let caller = identity::caller(request.headers(), path.user.as_deref(), default_app)
        .ok_or_else(GraphError::no_token)?;
    let slot = simulator.admit(&caller, path.onenote)?;
    let fault = take_fault(simulator, call, request, &caller);
    let latency = fault.latency_ms.map(Duration::from_millis);
    let latency = latency.unwrap_or_else(|| simulator.latency(call.number));
    let slot = slot.work(latency).await.ok_or_else(GraphError::stopping)?;
    let acted =
        || carry_out(simulator, request, &path, &caller, call).unwrap_or_else(|e| e.answer(call));
    let answer = match Answer::fault(&fault, call) {
        Some(answer) if fault.acts => {
            acted();
            answer
        }
        Some(answer) => answer,
        None => acted(),
    };
    Ok(Performed {
        answer,
        fault,
        slot,
    })
}

fn take_fault(
    simulator: &Simulator,
    call: &Call,
    request: &Request<Bytes>,
    caller: &Caller,
) -> Fault {
    let uri = request.uri();
    let path_and_query = uri
        .path_and_query()
        .map_or(uri.path(), |both| both.as_str());
    let ordered = simulator.faults().take(path_and_query, &caller.user);
    ordered.unwrap_or_else(|| simulator.chance(call.number))
}

fn carry_out(
    simulator: &Simulator,
    request: &Request<Bytes>,
    path: &GraphPath,
    caller: &Caller,
    call: &Call,
) -> Result<Answer, GraphError> {
    let target = path.target.as_ref();
    let target = target.map_err(|segment| GraphError::segment(segment))?;
    let methods = writes::methods(target);
    if !methods.contains(request.method()) {
        return Err(GraphError::method(methods));
    }
    let settings = simulator.settings();
    let owner = path.user.as_deref().unwrap_or(&caller.user);
    let base_url = settings.base_url.as_deref();
    let links = Links::new(base_url, request.headers(), path.version, owner)?;
    let library = Library::new(settings.seed, owner, settings.pages_per_section);
    let mut written = simulator.written();
    let library = library.with(written.of(owner));
    if request.method() == Method::GET {
        drop(written);
        return reads::read(request.uri(), target, owner, library, links);
    }
    let write = Write {
        request,
        call,
        owner,
        library,
        links,
    };
    write.run(target, &mut written)
}

/// Sends the answer, cut where the fault says so.
fn deliver(call: &Call, answer: Answer, fault: &Fault, slot: Slot) -> Response {
    let answer = answer.with_headers(fault.header_pairs());
    call.respond_with(answer, |payload| {
        streams::cut(payload, fault.cut, Some(slot))
    })
}

/// The same for an answer that holds no slot.
fn finish(call: &Call, answer: Answer, fault: &Fault) -> Response {
    let answer = answer.with_headers(fault.header_pairs());
    call.respond_with(answer, |payload| streams::cut(payload, fault.cut, None))
}
