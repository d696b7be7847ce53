//! Microsoft Graph's surface: whatever is not under `/_sim`.

mod answer;
mod call;
mod entities;
mod errors;
mod links;
mod paths;
mod query;
mod reads;
mod streams;

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;

use crate::faults::{Cut, Fault};
use crate::identity::{self, Caller};
use crate::simulator::{Simulator, Slot};
use answer::Answer;
use call::Call;
use errors::GraphError;
use paths::GraphPath;

/// Answers one call.
pub(crate) async fn answer(State(simulator): State<Simulator>, request: Request) -> Response {
    // No body is read: there is nothing to write yet.
    let (request, _) = request.into_parts();
    let call = Call::begin(&simulator, &request.headers);
    let response = match respond(&simulator, &call, &request).await {
        Ok(response) => response,
        Err(error) => call.respond(error.answer(&call)),
    };
    tracing::debug!(
        path = request.uri.path(),
        status = response.status().as_u16(),
        "answered"
    );
    response
}

async fn respond(
    simulator: &Simulator,
    call: &Call,
    request: &Parts,
) -> Result<Response, GraphError> {
    let path = GraphPath::parse(request.uri.path())?;
    let default_app = &simulator.settings().app;
    let caller = identity::caller(&request.headers, path.user.as_deref(), default_app)
        .ok_or_else(GraphError::no_token)?;
    let slot = simulator.admit(&caller, path.onenote)?;
    let fault = take_fault(simulator, request, &caller);
    let latency = fault.latency_ms.map(Duration::from_millis);
    let latency = latency.unwrap_or_else(|| simulator.latency(call.number));
    let slot = slot.work(latency).await.ok_or_else(GraphError::stopping)?;
    let answer = match Answer::fault(&fault, call) {
        Some(answer) => answer,
        None => read(simulator, request, &path, &caller).unwrap_or_else(|e| e.answer(call)),
    };
    Ok(deliver(call, answer, &fault, slot))
}

fn take_fault(simulator: &Simulator, request: &Parts, caller: &Caller) -> Fault {
    let uri = &request.uri;
    let path_and_query = uri
        .path_and_query()
        .map_or(uri.path(), |both| both.as_str());
    let fault = simulator.faults().take(path_and_query, &caller.user);
    fault.unwrap_or_default()
}

fn read(
    simulator: &Simulator,
    request: &Parts,
    path: &GraphPath,
    caller: &Caller,
) -> Result<Answer, GraphError> {
    if request.method != Method::GET {
        return Err(GraphError::method());
    }
    reads::read(simulator, request, path, caller)
}

/// Sends the answer, cut where the fault says so; the slot is free before its last byte leaves.
fn deliver(call: &Call, answer: Answer, fault: &Fault, slot: Slot) -> Response {
    let answer = answer.with_headers(fault.header_pairs());
    match fault.cut {
        Some(Cut::BeforeHeaders) => {
            drop(slot);
            call.respond_with(answer, |_| streams::broken())
        }
        Some(Cut::MidBody) => call.respond_with(answer, |payload| streams::half(payload, slot)),
        None => call.respond_with(answer, |payload| streams::whole(payload, slot)),
    }
}
