//! Notion's surface: whatever is under `/v1/`.
//!
//! What it knows: the bot user, search by title, pages and blocks, with the sizes and the nesting
//! that Notion allows in one request. Another kind of thing gets a variant of `paths::Target`, a
//! line in `act` and a file beside `pages`.

mod answer;
mod blocks;
mod errors;
mod id;
mod new_blocks;
mod pages;
mod paging;
mod paths;
mod render;
mod rich_text;
mod version;
mod workspace;

use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request as Arriving, State};
use axum::http::{HeaderMap, Method, Request};
use axum::response::Response;
use bytes::Bytes;
use serde_json::Value;

use crate::budget::ledger::Refusal;
use crate::clock::wall_seconds;
use crate::faults::Fault;
use crate::identity::{self, Caller};
use crate::simulator::{Simulator, Slot};
use answer::Call;
use errors::Error;
use paths::Target;
use version::Version;
pub(crate) use workspace::Workspace;

/// The largest body: 500 KB (developers.notion.com, "Size limits").
const BODY_MAX: usize = 500 * 1024;

/// Answers one call.
pub(crate) async fn answer(State(simulator): State<Simulator>, request: Arriving) -> Response {
    let call = Call::begin(&simulator);
    let (head, body) = request.into_parts();
    let uri = head.uri.clone();
    let answered = match to_bytes(body, BODY_MAX).await {
        Ok(body) => respond(&simulator, &call, &Request::from_parts(head, body)).await,
        Err(_) => Err(Error::too_large()),
    };
    let response = answered.unwrap_or_else(|error| call.respond(Err(error)));
    tracing::debug!(
        path = uri.path(),
        status = response.status().as_u16(),
        "answered"
    );
    response
}

async fn respond(
    simulator: &Simulator,
    call: &Call,
    request: &Request<Bytes>,
) -> Result<Response, Error> {
    let connection = identity::connection(request.headers()).ok_or_else(Error::no_token)?;
    let slot = admit(simulator, &connection)?;
    let fault = take_fault(simulator, request, &connection);
    let latency = fault.latency_ms.map(Duration::from_millis);
    let latency = latency.unwrap_or_else(|| simulator.latency(call.number));
    let slot = slot.work(latency).await.ok_or_else(Error::stopping)?;
    let answer = match fault.status {
        Some(_) => return Ok(call.fault(&fault, slot)),
        None => act(simulator, request),
    };
    Ok(call.deliver(answer, &fault, slot))
}

fn admit(simulator: &Simulator, connection: &Caller) -> Result<Slot, Error> {
    let admitted = simulator.admit_notion(connection);
    admitted.map_err(|refusal| match refusal {
        Refusal::Limit(_) => Error::rate_limited(simulator.notion_wait(connection)),
        Refusal::Capacity => Error::overloaded(),
    })
}

fn take_fault(simulator: &Simulator, request: &Request<Bytes>, connection: &Caller) -> Fault {
    let uri = request.uri();
    let path_and_query = uri
        .path_and_query()
        .map_or(uri.path(), |both| both.as_str());
    let fault = simulator.faults().take(path_and_query, &connection.app);
    fault.unwrap_or_default()
}

/// Carries a call out.
fn act(simulator: &Simulator, request: &Request<Bytes>) -> Result<Value, Error> {
    let version = Version::of(request.headers())?;
    let target = Target::parse(request.method(), request.uri().path())?;
    let mut workspace = simulator.workspace();
    let mut act = Act {
        workspace: &mut workspace,
        version,
        uri: request.uri(),
        now_s: wall_seconds(),
    };
    match target {
        Target::Bot => Ok(render::bot()),
        Target::Search => act.search(&body(request)?),
        Target::CreatePage => act.create_page(&body(request)?),
        Target::Page(id) => act.page(id),
        Target::UpdatePage(id) => act.update_page(id, &body(request)?),
        Target::Block(id) => act.block(id),
        Target::UpdateBlock(id) => act.update_block(id, &body(request)?),
        Target::DeleteBlock(id) => act.delete_block(id),
        Target::Children(id) => act.children(id),
        Target::AppendChildren(id) => act.append(id, &body(request)?),
    }
}

/// What a call acts with. The files beside this one add what it can do.
struct Act<'a> {
    workspace: &'a mut Workspace,
    version: Version,
    uri: &'a axum::http::Uri,
    /// Seconds since 1970.
    now_s: i64,
}

fn body(request: &Request<Bytes>) -> Result<Value, Error> {
    if request.method() != Method::DELETE && !is_json(request.headers()) {
        return Err(Error::invalid_json());
    }
    let value = serde_json::from_slice::<Value>(request.body());
    match value {
        Ok(value) if value.is_object() => Ok(value),
        _ => Err(Error::invalid_json()),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(axum::http::header::CONTENT_TYPE);
    let given = given.and_then(|value| value.to_str().ok()).unwrap_or("");
    let given = given.split(';').next().unwrap_or("").trim();
    given.eq_ignore_ascii_case("application/json")
}
