//! Attacks: one token takes all that it can get. It is told 503 `capacity`, and which bound it
//! met, while others are served; what it gives back it may take again.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http::{Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::access::{Role, Scope};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Reply, TestApp, rights, send};
use crate::waits::{call, one_at_once, permits, take, until_waiting, wanted};
use crate::{refused, sent, upstream};

const PATIENCE: Duration = Duration::from_secs(10);

/// Refused for this bound, with what to do.
fn assert_full(reply: &Reply, bound: &str) {
    assert_eq!(
        refused(reply),
        (StatusCode::SERVICE_UNAVAILABLE, "capacity".into()),
        "{}",
        reply.text()
    );
    let detail = reply.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(&format!("(server.{bound})")), "{detail}");
}

fn id(reply: &Reply) -> String {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["id"].as_str().unwrap().to_owned()
}

async fn give_back(app: &TestApp, token: &str, id: &str) {
    let request = Request::delete(format!("/api/v1/permits/{id}"));
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    let reply = sent(app.dashboard, request).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn one_token_s_waiting_calls_leave_room_for_others() {
    let peer = upstream().await;
    let app = TestApp::closed_with("max_waiters_per_token = 2\n", &one_at_once(&peer)).await;
    let both = rights(Role::Member, &[Scope::Gateway, Scope::Permits]);
    let (greedy, other) = (app.token(both.clone()).await, app.token(both).await);
    let held = id(&take(&app, &other, wanted("ann", 0)).await);

    // At the gateway and for a permit: both count.
    let at_gateway = tokio::spawn(sent(app.gateway, call(&greedy)));
    until_waiting(&app, 1).await;
    let for_permit = tokio::spawn(take(&app, &greedy, wanted("ann", 20_000)));
    until_waiting(&app, 2).await;
    for _ in 0..2 {
        let full = take(&app, &greedy, wanted("ann", 20_000)).await;
        assert_full(&full, "max_waiters_per_token");
        let list = json!([wanted("bob", 0), wanted("ann", 9_000)]);
        let list = take(&app, &greedy, list).await.json();
        assert_eq!(list[1]["code"], "capacity", "{list}");
        give_back(&app, &greedy, list[0]["id"].as_str().unwrap()).await;
    }
    let full = sent(app.gateway, call(&greedy)).await;
    assert_full(&full, "max_waiters_per_token");
    let need_not_wait = id(&take(&app, &greedy, wanted("bob", 20_000)).await);
    give_back(&app, &greedy, &need_not_wait).await;

    let others = tokio::spawn(take(&app, &other, wanted("ann", 20_000)));
    until_waiting(&app, 3).await;
    for_permit.abort();
    until_waiting(&app, 2).await;
    let again = tokio::spawn(take(&app, &greedy, wanted("ann", 20_000)));
    until_waiting(&app, 3).await;

    give_back(&app, &other, &held).await;
    let went = timeout(PATIENCE, at_gateway).await.unwrap().unwrap();
    assert_eq!(went.status, StatusCode::OK, "{}", went.text());
    let others = id(&timeout(PATIENCE, others).await.unwrap().unwrap());
    give_back(&app, &other, &others).await;
    id(&timeout(PATIENCE, again).await.unwrap().unwrap());
    until_waiting(&app, 0).await;
    app.stop().await;
}

/// A request that is sent again under its key shares the first one's wait, and counts as well.
#[tokio::test]
async fn repeated_requests_that_wait_count_each() {
    let peer = upstream().await;
    let app = TestApp::closed_with("max_waiters_per_token = 2\n", &one_at_once(&peer)).await;
    let (greedy, other) = (app.token(permits()).await, app.token(permits()).await);
    let held = id(&take(&app, &other, wanted("ann", 0)).await);
    let (to, token) = (app.dashboard, greedy.clone());
    let keyed = move || {
        let request = Request::post("/api/v1/permits")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("idempotency-key", "same");
        let body = wanted("ann", 20_000).to_string();
        tokio::spawn(send(to, request.body(body.into()).unwrap()))
    };
    // Whichever comes last is refused: the others wait.
    let mut all: FuturesUnordered<_> = (0..3).map(|_| keyed()).collect();
    let refused = timeout(PATIENCE, all.next()).await.unwrap();
    assert_full(&refused.unwrap().unwrap(), "max_waiters_per_token");
    until_waiting(&app, 1).await;
    give_back(&app, &other, &held).await;
    let mut ids = Vec::new();
    while let Some(reply) = timeout(PATIENCE, all.next()).await.unwrap() {
        ids.push(id(&reply.unwrap()));
    }
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1], "one request, one permit");
    app.stop().await;
}

#[tokio::test]
async fn one_token_s_permits_leave_room_for_others_restarts_included() {
    let (server, peer) = ("max_permits_per_token = 2\n", upstream().await);
    let config = one_at_once(&peer);
    let app = TestApp::closed_with(server, &config).await;
    let (greedy, other) = (app.token(permits()).await, app.token(permits()).await);
    let first = id(&take(&app, &greedy, wanted("u1", 0)).await);
    id(&take(&app, &greedy, wanted("u2", 0)).await);
    let full = take(&app, &greedy, wanted("u3", 0)).await;
    assert_full(&full, "max_permits_per_token");
    id(&take(&app, &other, wanted("u3", 0)).await);

    let app = TestApp::closed_in(app.stop().await, server, &config).await;
    let full = take(&app, &greedy, wanted("u4", 0)).await;
    assert_full(&full, "max_permits_per_token");
    id(&take(&app, &other, wanted("u4", 0)).await);
    give_back(&app, &greedy, &first).await;
    id(&take(&app, &greedy, wanted("u5", 0)).await);
    app.stop().await;
}

/// A live stream whose first event has come; closed when dropped.
async fn following(app: &TestApp, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(app.dashboard).await.unwrap();
    let head = format!(
        "GET /api/v1/live HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        app.dashboard
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut come = Vec::new();
    while !String::from_utf8_lossy(&come).contains("event: snapshot") {
        let read = stream.read_buf(&mut come).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&come));
    }
    stream
}

#[tokio::test]
async fn one_token_s_streams_leave_room_for_others() {
    let peer = upstream().await;
    let app = TestApp::closed_with("max_streams_per_token = 1\n", &one_at_once(&peer)).await;
    let reader = rights(Role::Viewer, &[Scope::Read]);
    let (greedy, other) = (app.token(reader.clone()).await, app.token(reader).await);
    let one_more = || {
        let request = Request::get("/api/v1/live");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {greedy}"));
        timeout(Duration::from_millis(500), sent(app.dashboard, request))
    };
    let first = following(&app, &greedy).await;
    // What is refused is answered to its end, a stream is not.
    assert_full(&one_more().await.unwrap(), "max_streams_per_token");
    drop(following(&app, &other).await);
    drop(first);
    // The server learns of it with its next event.
    let opened = async { while one_more().await.is_ok() {} };
    timeout(PATIENCE, opened).await.expect("free again");
    app.stop().await;
}

/// What `user` is told through `token`: the status, and which bound it met.
async fn asked(app: &TestApp, token: &str, user: &str) -> Value {
    let reply = take(app, token, wanted(user, 0)).await;
    if reply.status == StatusCode::OK {
        give_back(app, token, &id(&reply)).await;
        return json!(200);
    }
    json!([reply.status.as_u16(), reply.json()["code"]])
}

#[tokio::test]
async fn one_token_s_users_leave_room_for_others_and_push_nobody_out() {
    let peer = upstream().await;
    let server = "max_users = 6\nmax_users_per_token = 3\n";
    let app = TestApp::closed_with(server, &one_at_once(&peer)).await;
    let (greedy, other) = (app.token(permits()).await, app.token(permits()).await);
    // They count for as long as they are out, as nothing else of them lasts.
    let held = id(&take(&app, &other, wanted("other's", 0)).await);
    let mut mine = Vec::new();
    for n in 0..3 {
        mine.push(id(&take(&app, &greedy, wanted(&n.to_string(), 0)).await));
    }
    for n in 3..100 {
        let full = take(&app, &greedy, wanted(&n.to_string(), 0)).await;
        assert_full(&full, "max_users_per_token");
    }
    let known = take(&app, &greedy, wanted("0", 0)).await;
    assert_eq!(known.status, StatusCode::TOO_MANY_REQUESTS, "it counts");
    let others = take(&app, &greedy, wanted("other's", 0)).await;
    assert_eq!(others.status, StatusCode::TOO_MANY_REQUESTS, "it is known");
    assert_eq!(asked(&app, &other, "new").await, json!(200));

    give_back(&app, &greedy, &mine[0]).await;
    assert_eq!(asked(&app, &greedy, "another").await, json!(200));
    give_back(&app, &other, &held).await;
    app.stop().await;
}
