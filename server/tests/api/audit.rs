//! The audit log at the boundary: what operators do is in it, and who may read it.

use http::{Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::access::{Rights, Role, Scope};

use crate::support::{NOBODY, Reply, TestApp, rights, send};

/// A name that would be a page's undoing, were it ever taken for anything but text.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}\u{2066}";

async fn post(app: &TestApp, token: &str, path: &str, body: &Value) -> Reply {
    let request = Request::post(format!("/api/v1/{path}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {token}"));
    send(
        app.dashboard,
        request.body(body.to_string().into()).unwrap(),
    )
    .await
}

async fn get(app: &TestApp, token: &str, query: &str) -> Reply {
    let request = Request::get(format!("/api/v1/audit{query}"))
        .header(header::AUTHORIZATION, format!("Bearer {token}"));
    send(
        app.dashboard,
        request.body(http_body_util::Full::default()).unwrap(),
    )
    .await
}

async fn entries(app: &TestApp, query: &str) -> Vec<Value> {
    let token = app.token(rights(Role::Viewer, &[Scope::Read])).await;
    let reply = get(app, &token, query).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    reply.json()["entries"].as_array().unwrap().clone()
}

fn operator() -> Rights {
    rights(Role::Operator, &[Scope::Write])
}

#[tokio::test]
async fn what_operators_do_is_in_it_with_who_why_from_where_and_before_and_after() {
    let app = TestApp::closed(NOBODY).await;
    let token = app.token(operator()).await;
    let (lane, breaker) = ("lanes/graph/background", "breakers/graph/onenote");
    let user = json!({ "scope": "user", "app": "a", "user": HOSTILE, "reason": HOSTILE });
    let paused = post(&app, &token, &format!("{lane}/pause"), &user)
        .await
        .json();
    post(&app, &token, &format!("{lane}/pause"), &user).await;
    post(&app, &token, &format!("{lane}/resume"), &user).await;
    let app_wide = json!({ "scope": "app", "app": "a", "reason": "why" });
    for act in ["open", "close", "reset"] {
        let reply = post(&app, &token, &format!("{breaker}/{act}"), &app_wide).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    }
    // What is refused changes nothing, and leaves nothing here.
    for (path, body) in [
        (format!("{lane}/resume"), &user),
        (format!("{lane}/pause"), &json!({ "reason": "" })),
        (
            format!("{breaker}/open"),
            &json!({ "scope": "tenant", "tenant": "t", "reason": "r" }),
        ),
    ] {
        let reply = post(&app, &token, &path, body).await;
        assert!(reply.status.is_client_error(), "{reply:?}");
    }

    let mut lanes = entries(&app, "?action=lane.").await;
    lanes.reverse();
    let actions: Vec<_> = lanes
        .iter()
        .map(|it| it["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["lane.pause", "lane.pause", "lane.resume"]);
    let first = &lanes[0];
    assert_eq!(first["subject"], "lane:graph/background");
    assert_eq!(
        (&first["reason"], &first["client"]),
        (&json!(HOSTILE), &json!("127.0.0.1"))
    );
    assert_eq!((&first["before"], &first["after"]), (&Value::Null, &paused));
    assert_eq!(first["after"]["user"], HOSTILE);
    let kind = &first["actor"]["kind"];
    assert_eq!(
        (kind, first["actor"]["id"].as_str().unwrap().len()),
        (&json!("token"), 16)
    );
    assert_eq!(
        (&lanes[1]["before"], &lanes[2]["before"]),
        (&paused, &lanes[1]["after"])
    );
    assert_eq!(lanes[2]["after"], Value::Null);

    let mut breakers = entries(&app, "?subject=breaker:graph/onenote").await;
    breakers.reverse();
    let states: Vec<_> = breakers
        .iter()
        .map(|it| (it["action"].as_str().unwrap(), &it["before"], &it["after"]))
        .map(|(action, was, is)| {
            let state = |it: &Value| it["breaker"]["state"].as_str().unwrap().to_owned();
            (action.to_owned(), state(was), state(is))
        })
        .collect();
    let expected = [
        ("breaker.open", "closed", "open"),
        ("breaker.close", "open", "closed"),
        ("breaker.reset", "closed", "closed"),
    ]
    .map(|(action, was, is)| (action.to_owned(), was.to_owned(), is.to_owned()));
    assert_eq!(states, expected);
    app.stop().await;
}

#[tokio::test]
async fn it_tells_of_starts_seeds_and_tokens_and_is_read_page_by_page() {
    let app = TestApp::closed(NOBODY).await;
    let token = app.token(rights(Role::Viewer, &[Scope::Read])).await;
    let mut seen = Vec::new();
    let mut query = "?limit=1".to_owned();
    let mut heads = Vec::new();
    loop {
        let page = get(&app, &token, &query).await.json();
        let entries = page["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 1);
        seen.push(entries[0]["action"].as_str().unwrap().to_owned());
        heads.push((page["head"].clone(), entries[0]["hash"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=1&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(
        seen,
        [
            "token.create",
            // Of the four components' flood policies.
            "policy.seed",
            "policy.seed",
            "policy.seed",
            "policy.seed",
            "server.start",
            "policy.seed",
            "policy.seed"
        ]
    );
    let head = format!("8:{}", heads[0].1.as_str().unwrap());
    assert!(heads.iter().all(|(it, _)| *it == json!(head)), "{heads:?}");
    // Nothing of a token's secret.
    let made = &entries(&app, "?action=token.").await;
    let made = made.last().unwrap().to_string();
    assert!(made.contains("\"role\":\"viewer\""), "{made}");
    assert!(!made.contains("sha256") && !made.contains("spw_"), "{made}");
    app.stop().await;
}

#[tokio::test]
async fn who_may_see_all_reads_it_and_nobody_else() {
    let app = TestApp::closed(NOBODY).await;
    let refusals = [
        (rights(Role::Member, &[Scope::Permits]), "scope_missing"),
        (operator(), "scope_missing"),
        (
            Rights {
                upstreams: ["graph".to_owned()].into(),
                ..rights(Role::Viewer, &[Scope::Read])
            },
            "upstream_not_allowed",
        ),
    ];
    for (rights, code) in refusals {
        let reply = get(&app, &app.token(rights).await, "").await;
        assert_eq!(
            (reply.status, reply.json()["code"].as_str()),
            (StatusCode::FORBIDDEN, Some(code))
        );
    }
    let reply = get(&app, "spw_none", "").await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    let viewer = app.token(rights(Role::Viewer, &[Scope::Read])).await;
    assert_eq!(
        get(&app, &viewer, "").await.header("cache-control"),
        "no-store"
    );
    for query in [
        "?limit=0",
        "?cursor=0",
        "?until=x",
        "?actor_kind=x",
        "?action=A",
        "?x=1",
    ] {
        let reply = get(&app, &viewer, query).await;
        assert_eq!(
            (reply.status, reply.json()["code"].clone()),
            (StatusCode::BAD_REQUEST, json!("bad_query")),
            "{query}"
        );
    }
    app.stop().await;
}

/// Behind a proxy that is trusted it is its word that counts, and of one that is not nothing is
/// believed.
#[tokio::test]
async fn an_open_server_knows_nobody_and_addresses_are_the_proxies_word() {
    let app = TestApp::closed_with("trusted_proxies = ['127.0.0.1']\n", NOBODY).await;
    let token = app.token(operator()).await;
    let request = Request::post("/api/v1/lanes/graph/background/pause")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header("x-forwarded-for", "203.0.113.9, 192.0.2.7");
    let request = request.body(r#"{"reason":"r"}"#.into()).unwrap();
    assert_eq!(send(app.dashboard, request).await.status, StatusCode::OK);
    let found = entries(&app, "?action=lane.pause").await;
    assert_eq!(found[0]["client"], "192.0.2.7");
    app.stop().await;

    let app = TestApp::start(NOBODY).await;
    let request = Request::post("/api/v1/lanes/graph/background/pause")
        .header(header::CONTENT_TYPE, "application/json")
        .body(r#"{"reason":"r"}"#.into());
    assert_eq!(
        send(app.dashboard, request.unwrap()).await.status,
        StatusCode::OK
    );
    let page = app.get("/api/v1/audit?actor_kind=anyone").await.json();
    let actor = json!({ "kind": "anyone", "id": "", "name": "" });
    assert_eq!(page["entries"][0]["actor"], actor);
    let started = app.get("/api/v1/audit?action=server.").await.json();
    assert_eq!(started["entries"][0]["after"]["open"], true);
    app.stop().await;
}
