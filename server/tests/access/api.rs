//! The dashboard's listener: what each route asks of who asks.

use http::{Method, Request, StatusCode, header, request::Builder};
use serde_json::{Value, json};
use spillway_server::access::{Rights, Role, Scope};
use std::{net::SocketAddr, time::Duration};

use crate::support::{NOBODY, Reply, TestApp, rights, send};
use crate::{refused, sent};

/// Each route, and the role and the scope that it takes.
const ROUTES: [(Method, &str, Role, Scope); 17] = [
    (
        Method::POST,
        "/api/v1/policies/graph/onenote/preview",
        Role::Admin,
        Scope::Write,
    ),
    (
        Method::GET,
        "/api/v1/policies/graph/onenote",
        Role::Viewer,
        Scope::Read,
    ),
    (
        Method::PUT,
        "/api/v1/policies/graph/onenote",
        Role::Admin,
        Scope::Write,
    ),
    (
        Method::GET,
        "/api/v1/policies/graph/onenote/versions",
        Role::Viewer,
        Scope::Read,
    ),
    (
        Method::POST,
        "/api/v1/policies/graph/onenote/rollback",
        Role::Admin,
        Scope::Write,
    ),
    (Method::GET, "/api/v1/audit", Role::Viewer, Scope::Read),
    (Method::GET, "/api/v1/state", Role::Viewer, Scope::Read),
    (
        Method::GET,
        "/api/v1/users/graph/onenote?user=u",
        Role::Viewer,
        Scope::Read,
    ),
    (
        Method::POST,
        "/api/v1/permits",
        Role::Member,
        Scope::Permits,
    ),
    (
        Method::DELETE,
        "/api/v1/permits/x",
        Role::Member,
        Scope::Permits,
    ),
    (
        Method::POST,
        "/api/v1/permits/x/complete",
        Role::Member,
        Scope::Permits,
    ),
    (
        Method::POST,
        "/api/v1/permits/x/renew",
        Role::Member,
        Scope::Permits,
    ),
    (
        Method::POST,
        "/api/v1/breakers/graph/onenote/open",
        Role::Operator,
        Scope::Write,
    ),
    (
        Method::POST,
        "/api/v1/breakers/graph/onenote/close",
        Role::Operator,
        Scope::Write,
    ),
    (
        Method::POST,
        "/api/v1/breakers/graph/onenote/reset",
        Role::Operator,
        Scope::Write,
    ),
    (
        Method::POST,
        "/api/v1/lanes/graph/background/pause",
        Role::Operator,
        Scope::Write,
    ),
    (
        Method::POST,
        "/api/v1/lanes/graph/background/resume",
        Role::Operator,
        Scope::Write,
    ),
];

fn with(token: &str, method: &Method, path: &str) -> Builder {
    let request = Request::builder().method(method).uri(path);
    request.header(header::AUTHORIZATION, format!("Bearer {token}"))
}

async fn post(to: SocketAddr, token: &str, path: &str, body: Value) -> Reply {
    let request = with(token, &Method::POST, path).header("content-type", "application/json");
    send(to, request.body(body.to_string().into()).unwrap()).await
}

#[tokio::test]
async fn every_route_takes_its_scope_and_nothing_else() {
    let app = TestApp::closed(NOBODY).await;
    let all = [
        Scope::Gateway,
        Scope::Permits,
        Scope::Events,
        Scope::Metrics,
        Scope::Jobs,
        Scope::Read,
        Scope::Write,
    ];
    for (method, path, role, scope) in &ROUTES {
        let reply = sent(app.dashboard, Request::builder().method(method).uri(*path)).await;
        assert_eq!(
            refused(&reply),
            (StatusCode::UNAUTHORIZED, "unauthorized".into()),
            "{path}"
        );
        assert_eq!(
            reply.header("www-authenticate"),
            "Bearer realm=\"spillway\""
        );

        let others: Vec<_> = all.into_iter().filter(|it| it != scope).collect();
        let token = app.token(rights(Role::Admin, &others)).await;
        let reply = sent(app.dashboard, with(&token, method, path)).await;
        assert_eq!(
            refused(&reply),
            (StatusCode::FORBIDDEN, "scope_missing".into()),
            "{path}"
        );

        let token = app.token(rights(*role, &[*scope])).await;
        let reply = sent(app.dashboard, with(&token, method, path)).await;
        let let_in = ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&reply.status);
        assert!(let_in, "{path}: {reply:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn who_changes_limits_is_an_admin_for_all_apps() {
    let app = TestApp::closed(NOBODY).await;
    let admin = || rights(Role::Admin, &[Scope::Write]);
    let bound = Rights {
        apps: ["a".to_owned()].into(),
        ..admin()
    };
    let elsewhere = Rights {
        upstreams: ["notion".to_owned()].into(),
        ..admin()
    };
    let cases = [
        (rights(Role::Operator, &[Scope::Write]), 403, "role_missing"),
        (bound, 403, "app_not_allowed"),
        (elsewhere, 403, "upstream_not_allowed"),
        (admin(), 404, "unknown_version"),
    ];
    for (rights, status, code) in cases {
        let token = app.token(rights).await;
        let path = "/api/v1/policies/graph/onenote/rollback";
        let request = with(&token, &Method::POST, path)
            .header("content-type", "application/json")
            .header("if-match", "\"1\"");
        let body = json!({ "version": 9, "reason": "r" }).to_string();
        let reply = send(app.dashboard, request.body(body.into()).unwrap()).await;
        assert_eq!(
            (reply.status.as_u16(), refused(&reply).1.as_str()),
            (status, code)
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn health_and_files_are_free_and_pages_are_not_shown() {
    let app = TestApp::closed(NOBODY).await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(app.get(path).await.status, StatusCode::OK, "{path}");
    }
    // What is no file of the site may be a page.
    for path in [
        "/",
        "/users/graph/onenote?user=u",
        "/pkg/spillway.js",
        "/none",
    ] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{path}");
        assert!(reply.header("location").starts_with("/sign-in"), "{path}");
    }
    let reply = app.get("/api/v1/none").await;
    assert_eq!(refused(&reply), (StatusCode::NOT_FOUND, "not_found".into()));
    app.stop().await;
}

/// Attacks: the API's token by any other way.
#[tokio::test]
async fn only_one_bearer_authenticates() {
    let app = TestApp::closed(NOBODY).await;
    let token = app.token(rights(Role::Viewer, &[Scope::Read])).await;
    let state = "/api/v1/state";
    let ok = sent(app.dashboard, with(&token, &Method::GET, state)).await;
    assert_eq!(ok.status, StatusCode::OK);
    for (name, value) in [
        ("spillway-token", token.clone()),
        ("cookie", format!("spillway_session={token}")),
        ("authorization", format!("Basic {token}")),
        ("authorization", token.clone()),
        ("authorization", "Bearer ".to_owned()),
    ] {
        let reply = sent(app.dashboard, Request::get(state).header(name, value)).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{name}");
    }
    let query = Request::get(format!("{state}?token={token}"));
    assert_eq!(
        sent(app.dashboard, query).await.status,
        StatusCode::UNAUTHORIZED
    );
    let twice =
        with(&token, &Method::GET, state).header(header::AUTHORIZATION, format!("Bearer {token}"));
    assert_eq!(
        refused(&sent(app.dashboard, twice).await),
        (StatusCode::BAD_REQUEST, "bad_header".into())
    );
    app.stop().await;
}

#[tokio::test]
async fn a_permit_is_its_token_s_alone() {
    let app = TestApp::closed(NOBODY).await;
    let permits = || rights(Role::Member, &[Scope::Permits]);
    let (own, other) = (app.token(permits()).await, app.token(permits()).await);
    let wanted = json!({ "upstream": "graph", "user": "u" });
    let taken = post(app.dashboard, &own, "/api/v1/permits", wanted).await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    let id = taken.json()["id"].as_str().unwrap().to_owned();
    for (method, what) in [("POST", "complete"), ("POST", "renew"), ("DELETE", "")] {
        let path = format!("/api/v1/permits/{id}/{what}");
        let path = path.trim_end_matches('/');
        let request = with(&other, &method.parse().unwrap(), path);
        let body = json!({ "status": 200 }).to_string();
        let request = request
            .header("content-type", "application/json")
            .body(body.into());
        let reply = send(app.dashboard, request.unwrap()).await;
        assert_eq!(
            refused(&reply),
            (StatusCode::NOT_FOUND, "unknown_permit".into()),
            "{what}"
        );
    }
    let path = format!("/api/v1/permits/{id}/complete");
    let done = post(app.dashboard, &own, &path, json!({ "status": 200 })).await;
    assert_eq!(done.status, StatusCode::NO_CONTENT);
    app.stop().await;
}

fn in_an_hour() -> String {
    (jiff::Timestamp::now() + Duration::from_secs(3_600)).to_string()
}

#[tokio::test]
async fn a_bound_token_steers_its_own_sites_and_no_other() {
    let app = TestApp::closed(NOBODY).await;
    let admin = rights(Role::Admin, &[Scope::Write]);
    let of_site = Rights {
        sites: ["s1".to_owned()].into(),
        ..admin.clone()
    };
    let of_app = Rights {
        apps: ["a".to_owned()].into(),
        ..admin.clone()
    };
    let (of_site, of_app, free) = (
        app.token(of_site).await,
        app.token(of_app).await,
        app.token(admin).await,
    );
    let pause = json!({ "until": in_an_hour(), "reason": "r" });
    let site = json!({ "title": "T", "admins": ["eve@example.org"] });
    let policy = json!({
        "policy": { "per_minute": 1, "strikes_per_day": 1, "grace": 0, "lists": [] }, "reason": "r"
    });
    for (token, method, path, body, expected) in [
        (&of_site, "PUT", "/api/v1/sites/s1", &site, 200),
        (&of_site, "PUT", "/api/v1/sites/s2", &site, 403),
        (&of_site, "POST", "/api/v1/sites/s1/pause", &pause, 200),
        (&of_site, "POST", "/api/v1/sites/s2/pause", &pause, 403),
        (
            &of_site,
            "POST",
            "/api/v1/sites/s2/lists/l/pause",
            &pause,
            403,
        ),
        (
            &of_site,
            "PUT",
            "/api/v1/flood-policies/action",
            &policy,
            403,
        ),
        (
            &of_site,
            "POST",
            "/api/v1/lanes/graph/background/pause",
            &json!({ "reason": "r" }),
            403,
        ),
        (&of_app, "PUT", "/api/v1/sites/s1", &site, 403),
        (&of_app, "POST", "/api/v1/sites/s1/pause", &pause, 403),
        (
            &of_app,
            "PUT",
            "/api/v1/flood-policies/action",
            &policy,
            403,
        ),
        (&free, "PUT", "/api/v1/sites/s2", &site, 200),
        (&free, "PUT", "/api/v1/flood-policies/action", &policy, 200),
    ] {
        let request = with(token, &method.parse().unwrap(), path)
            .header("content-type", "application/json")
            .header("if-match", "\"1\"")
            .body(body.to_string().into());
        let reply = send(app.dashboard, request.unwrap()).await;
        assert_eq!(
            reply.status.as_u16(),
            expected,
            "{method} {path}: {reply:?}"
        );
        if expected == 403 {
            assert_eq!(refused(&reply).1, "site_not_allowed", "{method} {path}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_bound_token_takes_permits_and_steers_within_its_bindings() {
    let two = format!(
        "{NOBODY}[upstreams.other]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['notion']\n"
    );
    let app = TestApp::closed(&two).await;
    let token = app
        .token(Rights {
            upstreams: ["graph".to_owned()].into(),
            apps: ["a".to_owned()].into(),
            lane: Some(spillway::Lane::Background),
            ..rights(Role::Operator, &[Scope::Permits, Scope::Write])
        })
        .await;
    let permits = "/api/v1/permits";
    let ask = |more: Value| {
        let mut wanted = json!({ "upstream": "graph", "user": "u" });
        wanted
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        wanted
    };
    for (more, code) in [
        (json!({ "upstream": "other" }), "upstream_not_allowed"),
        (json!({ "app": "b" }), "app_not_allowed"),
    ] {
        let reply = post(app.dashboard, &token, permits, ask(more)).await;
        assert_eq!(refused(&reply), (StatusCode::FORBIDDEN, code.into()));
    }
    // The app and the lane are the token's; half of five at once is the background's.
    for status in [
        StatusCode::OK,
        StatusCode::OK,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        let reply = post(app.dashboard, &token, permits, ask(json!({}))).await;
        assert_eq!(reply.status, status, "{reply:?}");
    }
    let pause = "/api/v1/lanes/graph/background/pause";
    let breaker = "/api/v1/breakers/graph/onenote/open";
    for (path, wish, expected) in [
        (pause, json!({ "reason": "r" }), Err("app_not_allowed")),
        (
            pause,
            json!({ "scope": "app", "app": "b", "reason": "r" }),
            Err("app_not_allowed"),
        ),
        (
            pause,
            json!({ "scope": "app", "app": "a", "reason": "r" }),
            Ok(()),
        ),
        (
            breaker,
            json!({ "scope": "app", "reason": "r" }),
            Err("app_not_allowed"),
        ),
        (
            breaker,
            json!({ "scope": "user", "app": "a", "user": "u", "reason": "r" }),
            Ok(()),
        ),
        (
            "/api/v1/lanes/other/background/pause",
            json!({ "reason": "r" }),
            Err("upstream_not_allowed"),
        ),
    ] {
        let reply = post(app.dashboard, &token, path, wish.clone()).await;
        match expected {
            Ok(()) => assert_eq!(reply.status, StatusCode::OK, "{wish}: {reply:?}"),
            Err(code) => assert_eq!(
                refused(&reply),
                (StatusCode::FORBIDDEN, code.into()),
                "{wish}"
            ),
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_token_bound_to_an_upstream_sees_that_one() {
    let two = format!(
        "{NOBODY}[upstreams.other]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['notion']\n"
    );
    let app = TestApp::closed(&two).await;
    let bound = Rights {
        upstreams: ["graph".to_owned()].into(),
        ..rights(Role::Viewer, &[Scope::Read])
    };
    let token = app.token(bound).await;
    for (path, seen) in [
        ("/api/v1/state?upstream=graph", true),
        ("/api/v1/state?upstream=other", false),
        ("/api/v1/state", false),
        ("/api/v1/live", false),
        ("/api/v1/users/graph/onenote?user=u", true),
        ("/api/v1/users/other/notion?user=u", false),
    ] {
        let reply = sent(app.dashboard, with(&token, &Method::GET, path)).await;
        let expected = if seen {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        };
        assert_eq!(reply.status, expected, "{path}: {reply:?}");
    }
    app.stop().await;
}
