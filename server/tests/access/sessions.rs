//! What a session is good for, and how it ends with all that is open in its name.

use std::time::Duration;

use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use spillway_server::{
    access::{Role, Scope},
    audit::By,
    store::AccountChange,
};
use tokio::time::timeout;

use crate::support::people::PASSWORD;
use crate::support::{NOBODY, Reply, TestApp, rights, send};
use crate::{refused, upstream};

/// How soon something must happen that nothing delays.
const SOON: Duration = Duration::from_secs(3);

const PAUSE: &str = "/api/v1/lanes/graph/background/pause";

async fn ask(app: &TestApp, method: Method, path: &str, cookie: &str, body: Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::COOKIE, cookie)
        .header(header::CONTENT_TYPE, "application/json")
        .header("sec-fetch-site", "same-origin");
    send(
        app.dashboard,
        request.body(body.to_string().into()).unwrap(),
    )
    .await
}

#[tokio::test]
async fn each_role_may_what_its_row_says() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let permit = json!({ "upstream": "graph", "workload": "onenote", "user": "ann" });
    let pause = json!({ "reason": "because" });
    let (get, post) = (Method::GET, Method::POST);
    for (role, page, read, write) in [
        (Role::Member, 403, 403, 403),
        (Role::Viewer, 200, 200, 403),
        (Role::Operator, 200, 200, 200),
        (Role::Admin, 200, 200, 200),
    ] {
        let cookie = app.signed_in(&role.to_string(), role).await;
        for (method, path, body, expected) in [
            (&get, "/", json!({}), page),
            (&get, "/users/graph/onenote?user=ann", json!({}), page),
            (&get, "/api/v1/session", json!({}), 200),
            (&get, "/api/v1/state", json!({}), read),
            (
                &get,
                "/api/v1/users/graph/onenote?user=ann",
                json!({}),
                read,
            ),
            (&get, "/api/v1/audit", json!({}), read),
            (&post, PAUSE, pause.clone(), write),
            // For programs: permits know tokens alone.
            (&post, "/api/v1/permits", permit.clone(), 401),
            (&get, "/metrics", json!({}), 403),
        ] {
            let reply = ask(&app, method.clone(), path, &cookie, body).await;
            assert_eq!(
                reply.status,
                expected,
                "{role} {method} {path} {}",
                reply.text()
            );
        }
        let who = ask(&app, get.clone(), "/api/v1/session", &cookie, json!({}))
            .await
            .json();
        let role = role.to_string();
        assert_eq!(
            who,
            json!({ "kind": "session", "name": role, "role": role })
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn who_may_not_is_told_why() {
    let app = TestApp::closed(NOBODY).await;
    let member = app.signed_in("mel", Role::Member).await;
    let page = app.browse("/", Some(&member)).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(
        page.text()
            .contains("the role member may not do this: it takes viewer")
    );
    let viewer = app.signed_in("vic", Role::Viewer).await;
    let reply = ask(&app, Method::POST, PAUSE, &viewer, json!({ "reason": "x" })).await;
    assert_eq!(
        refused(&reply),
        (StatusCode::FORBIDDEN, "role_missing".into())
    );
    let programs = app.browse("/metrics", Some(&viewer)).await;
    assert_eq!(
        refused(&programs),
        (StatusCode::FORBIDDEN, "scope_missing".into())
    );
    app.stop().await;
}

/// A cookie and a token side by side: the token counts, good or not.
#[tokio::test]
async fn who_brings_a_token_is_its_holder() {
    let app = TestApp::closed(NOBODY).await;
    let admin = app.signed_in("ada", Role::Admin).await;
    let token = app.token(rights(Role::Viewer, &[Scope::Permits])).await;
    for (token, expected) in [
        (&*token, StatusCode::FORBIDDEN),
        ("spw_x", StatusCode::UNAUTHORIZED),
    ] {
        let request = Request::get("/api/v1/state")
            .header(header::COOKIE, &admin)
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        let reply = send(
            app.dashboard,
            request.body(http_body_util::Full::default()).unwrap(),
        )
        .await;
        assert_eq!(reply.status, expected);
    }
    app.stop().await;
}

/// What somebody does in the dashboard is audited under their account.
#[tokio::test]
async fn what_a_person_does_is_audited_under_their_name() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let ada = app.signed_in("ada", Role::Operator).await;
    let paused = ask(
        &app,
        Method::POST,
        PAUSE,
        &ada,
        json!({ "reason": "night" }),
    )
    .await;
    assert_eq!(paused.status, StatusCode::OK, "{}", paused.text());
    let log = app.browse("/api/v1/audit?limit=2", Some(&ada)).await.json();
    let acts: Vec<_> = log["entries"].as_array().unwrap().iter().collect();
    assert_eq!(acts[0]["action"], "lane.pause", "{log}");
    assert_eq!(acts[1]["action"], "session.start", "{log}");
    for act in acts {
        assert_eq!(act["actor"]["kind"], "account", "{log}");
        assert_eq!(act["actor"]["name"], "ada", "{log}");
    }
    app.stop().await;
}

/// Opens the live stream and reads its first event.
async fn stream(app: &TestApp, cookie: &str) -> hyper::body::Incoming {
    let io = tokio::net::TcpStream::connect(app.dashboard).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(io);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/api/v1/live")
        .header(header::HOST, app.dashboard.to_string())
        .header(header::COOKIE, cookie)
        .body(http_body_util::Full::<bytes::Bytes>::default())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"id: "), "{first:?}");
    body
}

/// Reads on to the stream's end.
async fn ends(mut body: hyper::body::Incoming) {
    let end = async { while body.frame().await.is_some() {} };
    timeout(SOON, end).await.expect("the stream ends");
}

#[tokio::test]
async fn signing_out_ends_the_session_its_stream_and_no_other() {
    let app = TestApp::closed(NOBODY).await;
    let first = app.signed_in("ada", Role::Viewer).await;
    let second = super::support::people::cookie(&app.sign_in("ada", PASSWORD).await);
    let open = stream(&app, &first).await;
    let out = app.form("/sign-out", &[], Some(&first)).await;
    assert_eq!(
        (out.status, out.header("location")),
        (StatusCode::SEE_OTHER, "/sign-in?out=1")
    );
    ends(open).await;
    assert_eq!(
        app.browse("/api/v1/session", Some(&first)).await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        app.browse("/api/v1/session", Some(&second)).await.status,
        StatusCode::OK
    );
    let said = app.browse("/sign-in?out=1", None).await;
    assert!(said.text().contains("You are signed out."));
    // Again, as from a second tab.
    let again = app.form("/sign-out", &[], Some(&first)).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    app.stop().await;
}

#[tokio::test]
async fn whatever_changes_an_account_ends_its_sessions_and_streams_within_a_second() {
    let app = TestApp::closed(NOBODY).await;
    app.account("root", Role::Admin).await;
    let store = app.store().await;
    let changes = [
        AccountChange::Password("$argon2id$other"),
        AccountChange::Role("operator"),
        AccountChange::Remove,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let name = format!("ada{n}");
        let cookie = app.signed_in(&name, Role::Viewer).await;
        let open = stream(&app, &cookie).await;
        let by = By::command_line();
        store
            .change_account(&name, change, 1, &by)
            .await
            .unwrap()
            .unwrap();
        ends(open).await;
        let reply = app.browse("/api/v1/session", Some(&cookie)).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{change:?}");
    }
    store.close().await;
    app.stop().await;
}

#[tokio::test]
async fn a_session_survives_a_restart() {
    let app = TestApp::closed_with("", NOBODY).await;
    let ada = app.signed_in("ada", Role::Viewer).await;
    let dir = app.stop().await;
    let app = TestApp::closed_in(dir, "", NOBODY).await;
    assert_eq!(app.browse("/", Some(&ada)).await.status, StatusCode::OK);
    app.stop().await;
}
