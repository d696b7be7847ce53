//! What pages of other sites can do at the API by their visitor's browser: nothing.

use http::{Method, Request, StatusCode};
use serde_json::Value;

use crate::support::{Reply, TestApp, rights, send};
use crate::{refused, upstream};
use spillway_server::access::{Role, Scope};

const PERMIT: &str = r#"{"upstream":"graph","workload":"onenote","user":"ann"}"#;
const PAUSE: &str = r#"{"reason":"because a page says so"}"#;

/// Everything that changes something.
const CHANGES: [(Method, &str, &str); 8] = [
    (Method::POST, "/api/v1/permits", PERMIT),
    (
        Method::POST,
        "/api/v1/permits/p/complete",
        r#"{"status":200}"#,
    ),
    (Method::POST, "/api/v1/permits/p/renew", "{}"),
    (Method::DELETE, "/api/v1/permits/p", ""),
    (Method::POST, "/api/v1/lanes/graph/background/pause", PAUSE),
    (Method::POST, "/api/v1/lanes/graph/background/resume", PAUSE),
    (Method::POST, "/api/v1/breakers/graph/onenote/open", PAUSE),
    (Method::POST, "/", ""),
];

/// What browsers say when a page of another site has them ask, old browsers first.
const BY_ANOTHER_SITE: [&[(&str, &str)]; 6] = [
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
    &[("origin", "http://127.0.0.1:1")],
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ],
    &[
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("origin", "https://evil.example"),
    ],
    &[
        ("sec-fetch-site", "same-site"),
        ("origin", "http://127.0.0.1:1"),
    ],
];

async fn ask(
    app: &TestApp,
    (method, path, body): &(Method, &str, &'static str),
    headers: &[(&str, &str)],
) -> Reply {
    let request = Request::builder().method(method.clone()).uri(*path);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    send(app.dashboard, request.body((*body).into()).unwrap()).await
}

async fn lanes(app: &TestApp) -> Value {
    let state = app.get("/api/v1/state").await.json();
    state["upstreams"][0]["workloads"][0]["lanes"].clone()
}

/// Attacks: cross-site requests while open, where nothing else would stop them.
#[tokio::test]
async fn pages_of_other_sites_change_nothing_while_open() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let before = lanes(&app).await;
    for change in &CHANGES {
        for by in BY_ANOTHER_SITE {
            // The types that need no preflight, and the one that the API takes.
            for media_type in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "application/json",
            ] {
                let headers: Vec<_> = by
                    .iter()
                    .copied()
                    .chain([("content-type", media_type)])
                    .collect();
                let reply = ask(&app, change, &headers).await;
                let told = (StatusCode::FORBIDDEN, "origin_not_allowed".into());
                assert_eq!(refused(&reply), told, "{change:?} {by:?}");
            }
        }
    }
    assert_eq!(lanes(&app).await, before);
    app.stop().await;
}

/// Attacks: DNS rebinding. The browser takes the page for this server's own.
#[tokio::test]
async fn a_page_under_a_name_of_its_own_changes_nothing() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let host = format!("evil.example:{}", app.dashboard.port());
    let origin = format!("http://{host}");
    for change in &CHANGES {
        let headers = [
            ("host", &*host),
            ("origin", &*origin),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
        ];
        let reply = ask(&app, change, &headers).await;
        let told = (StatusCode::MISDIRECTED_REQUEST, "unknown_host".into());
        assert_eq!(refused(&reply), told, "{change:?}");
    }
    app.stop().await;
}

/// No page may read an answer of the API's, or ask for more than forms can.
#[tokio::test]
async fn no_site_is_let_in_by_a_preflight_or_reads_an_answer() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let by = [
        ("origin", "https://evil.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    for method in [Method::OPTIONS, Method::GET] {
        let reply = ask(&app, &(method, "/api/v1/state", ""), &by).await;
        let allowed = |name: &http::HeaderName| name.as_str().starts_with("access-control-");
        assert!(!reply.headers.keys().any(allowed), "{reply:?}");
    }
    app.stop().await;
}

/// Programs, and the dashboard's own pages.
#[tokio::test]
async fn who_is_no_other_site_may_change_something() {
    let peer = upstream().await;
    let open = TestApp::start(&peer.onenote()).await;
    let own = format!("http://{}", open.dashboard);
    let json = ("content-type", "application/json");
    let permit = &CHANGES[0];
    for by in [
        &[json][..],
        &[json, ("origin", &*own)],
        &[json, ("sec-fetch-site", "same-origin"), ("origin", &*own)],
        &[json, ("sec-fetch-site", "none")],
    ] {
        let reply = ask(&open, permit, by).await;
        assert_eq!(reply.status, StatusCode::OK, "{by:?} {reply:?}");
    }
    open.stop().await;

    // A token does not make a page's request the token's holder's.
    let closed = TestApp::closed(&peer.onenote()).await;
    let token = closed.token(rights(Role::Member, &[Scope::Permits])).await;
    let bearer = format!("Bearer {token}");
    let by = [json, ("authorization", &*bearer)];
    assert_eq!(ask(&closed, permit, &by).await.status, StatusCode::OK);
    let by = [by[0], by[1], ("origin", "https://evil.example")];
    let told = (StatusCode::FORBIDDEN, "origin_not_allowed".into());
    assert_eq!(refused(&ask(&closed, permit, &by).await), told);
    closed.stop().await;
}
