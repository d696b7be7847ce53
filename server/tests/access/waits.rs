//! Attacks: a token that ends while something waits in its name. Whatever it is, it ends at
//! once, nothing more goes upstream, and no place stays taken.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode, header, request::Builder};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use spillway_server::access::{Rights, Role, Scope};
use tokio::{task::JoinHandle, time::timeout};

use crate::support::peer::{Peer, PeerBody, body, ok};
use crate::support::{Reply, TestApp, rights, send};
use crate::whose::claiming_as;
use crate::{gateway_only, refused, sent, workload};

/// How long a caller waits that nobody wakes, and how soon the end of its token must wake it.
const HOLD_MS: u64 = 20_000;
const SOON: Duration = Duration::from_secs(3);

/// One call of a user at a time.
pub fn one_at_once(peer: &Peer) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = {HOLD_MS}\npresets = ['onenote']\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'user', dimension = 'concurrency', limit = 1 }}]\n",
        peer.address
    )
}

pub fn permits() -> Rights {
    rights(Role::Member, &[Scope::Permits])
}

pub fn wanted(user: &str, wait_ms: u64) -> Value {
    json!({ "upstream": "graph", "workload": "pages", "user": user, "wait_ms": wait_ms })
}

/// Ann's call through the gateway.
pub fn call(token: &str) -> Builder {
    Request::get("/graph/v1.0/me/items")
        .header("spillway-token", token)
        .header(header::AUTHORIZATION, claiming_as("ann", "first"))
}

/// Does `work` in the background, and returns when it waits for a permit.
async fn waiting<F>(app: &TestApp, work: F) -> JoinHandle<Reply>
where
    F: Future<Output = Reply> + Send + 'static,
{
    let work = tokio::spawn(work);
    until_waiting(app, 1).await;
    work
}

pub async fn until_waiting(app: &TestApp, wanted: u64) {
    while workload(app, "pages").await["lanes"]["foreground"]["waiting"] != wanted {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Revokes a token: what waits in its name is answered 401 at once, and says why.
async fn ends_with(app: &TestApp, token: &str, waits: JoinHandle<Reply>) -> Reply {
    app.revoke(token).await;
    let reply = timeout(SOON, waits).await.expect("woken").unwrap();
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{}", reply.text());
    assert!(reply.text().contains("revoked"), "{}", reply.text());
    reply
}

/// A connection of its own for each, so that they run side by side.
pub fn take(app: &TestApp, token: &str, wanted: Value) -> impl Future<Output = Reply> + use<> {
    let (to, token) = (app.dashboard, token.to_owned());
    async move {
        let request = Request::post("/api/v1/permits")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        send(to, request.body(wanted.to_string().into()).unwrap()).await
    }
}

#[tokio::test]
async fn a_wait_for_a_permit_ends_with_its_token_and_costs_nothing() {
    let peer = crate::upstream().await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let (stays, goes) = (app.token(permits()).await, app.token(permits()).await);
    let held = take(&app, &stays, wanted("ann", 0)).await;
    assert_eq!(held.status, StatusCode::OK);
    let waits = waiting(&app, take(&app, &goes, wanted("ann", HOLD_MS))).await;
    let reply = ends_with(&app, &goes, waits).await;
    assert_eq!(refused(&reply).1, "unauthorized");
    assert_eq!(
        reply.header("www-authenticate"),
        "Bearer realm=\"spillway\""
    );
    until_waiting(&app, 0).await;

    let id = held.json()["id"].as_str().unwrap().to_owned();
    let back = Request::delete(format!("/api/v1/permits/{id}"))
        .header(header::AUTHORIZATION, format!("Bearer {stays}"));
    assert_eq!(
        sent(app.dashboard, back).await.status,
        StatusCode::NO_CONTENT
    );
    let again = take(&app, &stays, wanted("ann", 0)).await;
    assert_eq!(again.status, StatusCode::OK, "the place is free");
    app.stop().await;
}

#[tokio::test]
async fn what_others_of_a_list_were_given_meanwhile_comes_back() {
    let peer = crate::upstream().await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let (stays, goes) = (app.token(permits()).await, app.token(permits()).await);
    assert_eq!(
        take(&app, &stays, wanted("ann", 0)).await.status,
        StatusCode::OK
    );
    let list = json!([wanted("bob", 0), wanted("ann", 9_000)]);
    let waits = waiting(&app, take(&app, &goes, list)).await;
    let full = take(&app, &stays, wanted("bob", 0)).await;
    assert_eq!(full.status, StatusCode::TOO_MANY_REQUESTS);
    ends_with(&app, &goes, waits).await;
    assert_eq!(
        take(&app, &stays, wanted("bob", 0)).await.status,
        StatusCode::OK
    );
    app.stop().await;
}

#[tokio::test]
async fn a_wait_ends_when_its_token_expires() {
    let peer = crate::upstream().await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let stays = app.token(permits()).await;
    assert_eq!(
        take(&app, &stays, wanted("ann", 0)).await.status,
        StatusCode::OK
    );
    let end = jiff::Timestamp::now() + Duration::from_millis(1_500);
    let goes = app.token_until(permits(), Some(end)).await;
    let waits = take(&app, &goes, wanted("ann", HOLD_MS));
    let reply = timeout(SOON, waits).await.expect("woken");
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert!(reply.text().contains("expired at"), "{}", reply.text());
    assert!(jiff::Timestamp::now() >= end);
    until_waiting(&app, 0).await;
    app.stop().await;
}

#[tokio::test]
async fn a_call_that_waits_at_the_gateway_leaves_the_line_at_once() {
    let peer = Peer::start(|_| std::future::pending()).await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let (stays, goes) = (app.token(permits()).await, app.token(gateway_only()).await);
    let held = take(&app, &stays, wanted("ann", 0)).await;
    assert_eq!(held.status, StatusCode::OK);
    let waits = waiting(&app, sent(app.gateway, call(&goes))).await;
    let reply = ends_with(&app, &goes, waits).await;
    assert_eq!(reply.header("www-authenticate"), "Spillway-Token");
    assert_eq!(reply.json()["error"]["code"], "InvalidAuthenticationToken");
    until_waiting(&app, 0).await;
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

#[tokio::test]
async fn a_call_that_failed_does_not_go_again_for_a_token_that_ended() {
    for (told, retry_after) in [(503, ""), (429, "10")] {
        let peer = Peer::start(move |_| async move { answer(told, retry_after) }).await;
        let app = TestApp::closed(&one_at_once(&peer)).await;
        let token = app.token(gateway_only()).await;
        let waits = tokio::spawn(sent(app.gateway, call(&token)));
        peer.until(|counts| counts.arrived == 1).await;
        let begun = Instant::now();
        ends_with(&app, &token, waits).await;
        // Four repeats would take seven seconds.
        let arrived = peer.counts().arrived;
        assert!(arrived <= 3, "{arrived} in {:?}", begun.elapsed());
        app.stop().await;
        assert_eq!(peer.counts().arrived, arrived, "nothing goes afterwards");
    }
}

#[tokio::test]
async fn a_batch_goes_no_further_and_says_so_part_by_part() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        drop(request.into_body().collect().await);
        let responses = json!([
            { "id": "1", "status": 200, "body": {} },
            { "id": "2", "status": 429, "headers": { "Retry-After": "10" }, "body": {} },
        ]);
        json_answer(&json!({ "responses": responses }))
    })
    .await;
    let config = one_at_once(&peer).replace("limit = 1", "limit = 9");
    let app = TestApp::closed(&config).await;
    let token = app.token(gateway_only()).await;
    let waits = tokio::spawn(batch(&app, &token, 3));
    peer.until(|counts| counts.arrived == 1 && counts.in_flight == 0)
        .await;
    app.revoke(&token).await;
    let reply = timeout(SOON, waits).await.expect("woken").unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    let answers = reply.json()["responses"].as_array().unwrap().clone();
    let statuses: Vec<_> = answers
        .iter()
        .map(|part| (&part["id"], &part["status"]))
        .collect();
    assert_eq!(json!(statuses), json!([["1", 200], ["2", 401], ["3", 401]]));
    let error = &answers[1]["body"]["error"];
    assert_eq!(error["code"], "InvalidAuthenticationToken", "{error}");
    app.stop().await;
    assert_eq!(peer.counts().arrived, 1);
}

#[tokio::test]
async fn a_batch_of_which_nothing_has_gone_is_401_as_a_whole() {
    let peer = crate::upstream().await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let (stays, goes) = (app.token(permits()).await, app.token(gateway_only()).await);
    let held = take(&app, &stays, wanted("ann", 0)).await;
    assert_eq!(held.status, StatusCode::OK);
    let arrived = peer.counts().arrived;
    let waits = waiting(&app, batch(&app, &goes, 1)).await;
    ends_with(&app, &goes, waits).await;
    until_waiting(&app, 0).await;
    assert_eq!(peer.counts().arrived, arrived);
    app.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let peer = crate::upstream().await;
    let app = TestApp::closed(&one_at_once(&peer)).await;
    let follow = |token: &str| {
        let request = Request::get("/api/v1/live");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        tokio::spawn(sent(app.dashboard, request))
    };
    let reader = rights(Role::Viewer, &[Scope::Read]);
    let revoked = app.token(reader.clone()).await;
    let end = jiff::Timestamp::now() + Duration::from_millis(1_500);
    let expires = app.token_until(reader, Some(end)).await;
    let streams = [follow(&revoked), follow(&expires)];
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(streams.iter().all(|stream| !stream.is_finished()));
    app.revoke(&revoked).await;
    for stream in streams {
        let reply = timeout(SOON, stream).await.expect("ended").unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.text().contains("event: snapshot"), "{}", reply.text());
    }
    assert!(jiff::Timestamp::now() >= end);
    app.stop().await;
}

fn answer(status: u16, retry_after: &str) -> Response<PeerBody> {
    let mut response = Response::new(body("{}"));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if !retry_after.is_empty() {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, retry_after.parse().unwrap());
    }
    response
}

fn json_answer(value: &Value) -> Response<PeerBody> {
    let mut response = ok(value.to_string());
    let json = "application/json".parse().unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A batch of so many parts; the last depends on the one before it.
fn batch(app: &TestApp, token: &str, parts: usize) -> impl Future<Output = Reply> + use<> {
    let part = |n: usize| {
        let mut part = json!({ "id": n.to_string(), "method": "GET", "url": "/me/items" });
        if n == parts && n > 1 {
            part["dependsOn"] = json!([(n - 1).to_string()]);
        }
        part
    };
    let parts: Vec<_> = (1..=parts).map(part).collect();
    let request = Request::post("/graph/v1.0/$batch")
        .header("spillway-token", token)
        .header(header::AUTHORIZATION, claiming_as("ann", "first"))
        .header(header::CONTENT_TYPE, "application/json");
    let request = request.body(json!({ "requests": parts }).to_string().into());
    let to = app.gateway;
    async move { send(to, request.unwrap()).await }
}
