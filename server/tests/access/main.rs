//! Who gets in without `--open`, and what they may do there, at the boundary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod account_page;
mod accounts;
mod admin_api;
mod api;
mod audit;
mod audit_page;
mod bearers;
mod entry;
mod flood_pages;
mod limits;
mod matrix;
mod networks;
mod onward;
mod operate;
mod pages;
mod policies;
mod processes;
mod provider;
mod sessions;
mod settings;
mod shares;
mod sign_in;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod token_page;
mod waits;
mod whose;

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, StatusCode, request::Builder};
use http_body_util::Full;
use spillway_server::access::{Rights, Role, Scope};

use support::peer::{Peer, ok};
use support::{Reply, TestApp, rights, send};

const PAGES: &str = "/graph/v1.0/me/onenote/pages";

/// An upstream that lets everybody in.
async fn upstream() -> Peer {
    Peer::start(|_| async { ok("{}") }).await
}

/// What a program needs that calls the gateway.
fn gateway_only() -> Rights {
    rights(Role::Member, &[Scope::Gateway])
}

/// A call to the gateway.
fn call(token: &str) -> Builder {
    Request::get(PAGES)
        .header("spillway-token", token)
        .header("authorization", "Bearer opaque-of-ann")
}

async fn sent(to: SocketAddr, request: Builder) -> Reply {
    send(to, request.body(Full::<Bytes>::default()).unwrap()).await
}

/// Its status and the code of its problem.
fn refused(reply: &Reply) -> (StatusCode, String) {
    let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
    (reply.status, code)
}

/// A workload's state, as a token with the scope `read` sees it.
async fn workload(app: &TestApp, name: &str) -> serde_json::Value {
    let reader = app.token(rights(Role::Viewer, &[Scope::Read])).await;
    let state = Request::get("/api/v1/state").header("authorization", format!("Bearer {reader}"));
    let state = sent(app.dashboard, state).await.json();
    app.revoke(&reader).await;
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let named = workloads.iter().find(|workload| workload["name"] == name);
    named.unwrap_or_else(|| panic!("{state}")).clone()
}
