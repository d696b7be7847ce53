//! `GET /api/v1/users/…` at its boundary: one user's limits, waiting calls and leases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::{Value, json};
use support::{Reply, TestApp, send};

/// Two at once for a user, and limits of the tenant and the app as well.
const SMALL: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    hold_max_ms = 10000\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'concurrency', limit = 2 },\n\
    { scope = 'tenant', dimension = 'rate', window_ms = 60000, limit = 40 },\n\
    { scope = 'app', dimension = 'rate', window_ms = 60000, limit = 90 }]\n";

/// What was computed answers for so long.
const COMPUTED_FOR: Duration = Duration::from_millis(260);

async fn request(app: &TestApp, method: Method, path: &str, body: &Value) -> Reply {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(CONTENT_TYPE, "application/json");
    let request = request.body(Full::<Bytes>::from(body.to_string()));
    send(app.dashboard, request.unwrap()).await
}

/// Takes a permit of `user` in tenant `t1`; its path.
async fn take(app: &TestApp, user: &str, more: Value) -> String {
    let mut body = json!({ "upstream": "graph", "tenant": "t1", "user": user });
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    let taken = request(app, Method::POST, "/api/v1/permits", &body).await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    format!("/api/v1/permits/{}", taken.json()["id"].as_str().unwrap())
}

/// What is said of a user, computed after this was called.
async fn look(app: &TestApp, query: &str) -> Value {
    let path = format!("/api/v1/users/graph/pages?{query}");
    let before = jiff::Timestamp::now();
    loop {
        let reply = app.get(&path).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        let as_of: jiff::Timestamp = reply.json()["as_of"].as_str().unwrap().parse().unwrap();
        // Written in milliseconds.
        if as_of.as_millisecond() > before.as_millisecond() {
            return reply.json();
        }
        tokio::time::sleep(COMPUTED_FOR / 8).await;
    }
}

fn assert_problem(reply: &Reply, status: StatusCode, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.json()["code"], code);
}

#[tokio::test]
async fn a_lease_is_listed_until_its_call_is_over() {
    let app = TestApp::start(SMALL).await;
    let first = take(&app, "ann", json!({ "weight": 3 })).await;
    let _second = take(&app, "ann", json!({ "lane": "background" })).await;
    let _others = take(&app, "ben", json!({})).await;
    let seen = look(&app, "tenant=t1&user=ann").await;
    assert_eq!(
        (&seen["app"], &seen["tenant"]),
        (&json!("house"), &json!("t1"))
    );
    let leases = seen["leases"].as_array().unwrap();
    let said: Vec<_> = leases
        .iter()
        .map(|it| (&it["lane"], &it["weight"]))
        .collect();
    assert_eq!(
        said,
        [
            (&json!("foreground"), &json!(3)),
            (&json!("background"), &json!(1))
        ]
    );
    assert_eq!(seen["leases_total"], 2);
    let at = |name: &str| {
        leases[0][name]
            .as_str()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    let lasts = at("expires_at").duration_since(at("granted_at"));
    assert_eq!(lasts.as_secs(), 120);
    assert!(leases[0].get("probe").is_none() && leases[0].get("lingering").is_none());

    let path = format!("{first}/complete");
    let done = request(&app, Method::POST, &path, &json!({ "status": 200 })).await;
    assert_eq!(done.status, StatusCode::NO_CONTENT);
    let seen = look(&app, "tenant=t1&user=ann").await;
    let left: Vec<_> = seen["leases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["lane"])
        .collect();
    assert_eq!(left, ["background"]);
}

#[tokio::test]
async fn every_budget_that_limits_a_user_is_there_widest_first() {
    let app = TestApp::start(SMALL).await;
    let _permit = take(&app, "ann", json!({})).await;
    let seen = look(&app, "tenant=t1&user=ann").await;
    let scopes = |seen: &Value| -> Vec<String> {
        let budgets = seen["budgets"].as_array().unwrap().clone();
        let scope = |it: &Value| it["scope"].as_str().unwrap().to_owned();
        budgets.iter().map(scope).collect()
    };
    assert_eq!(scopes(&seen), ["app", "tenant", "user"]);
    let used: Vec<_> = seen["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["layers"][0]["used"])
        .collect();
    assert_eq!(used, [1, 1, 1]);
    // Who was never seen has limits all the same, and nothing on the way.
    let unseen = look(&app, "tenant=t1&user=nobody").await;
    assert_eq!(unseen["budgets"][2]["layers"][0]["used"], 0);
    assert_eq!(unseen["leases"], json!([]));
    assert_eq!(unseen["foreground"], json!({ "waiting": 0 }));
    // Callers without a tenant share a budget as well.
    let untenanted = look(&app, "user=ann").await;
    assert_eq!(scopes(&untenanted), ["app", "tenant", "user"]);
    assert_eq!(untenanted["budgets"][1]["layers"][0]["used"], 0);
}

#[tokio::test]
async fn calls_that_wait_are_counted_by_lane_with_the_first_ones_instant() {
    let app = Arc::new(TestApp::start(SMALL).await);
    let permits = [
        take(&app, "ann", json!({})).await,
        take(&app, "ann", json!({})).await,
    ];
    let waiter = {
        let app = Arc::clone(&app);
        tokio::spawn(async move { take(&app, "ann", json!({ "wait_ms": 10_000 })).await })
    };
    let seen = loop {
        let seen = look(&app, "tenant=t1&user=ann").await;
        if seen["foreground"]["waiting"] == 1 {
            break seen;
        }
    };
    let since: jiff::Timestamp = seen["foreground"]["since"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let as_of: jiff::Timestamp = seen["as_of"].as_str().unwrap().parse().unwrap();
    assert!(
        since <= as_of && as_of.duration_since(since).as_secs() < 10,
        "{since} {as_of}"
    );
    assert_eq!(seen["background"], json!({ "waiting": 0 }));
    let state = app.get("/api/v1/state").await.json();
    let lane = &state["upstreams"][0]["workloads"][0]["lanes"]["foreground"];
    assert_eq!(lane["waiting"], 1);
    assert!(
        lane["waiting_since"]
            .as_str()
            .unwrap()
            .starts_with(&since.to_string()[..16])
    );
    request(&app, Method::DELETE, &permits[0], &json!({})).await;
    waiter.await.unwrap();
    assert_eq!(
        look(&app, "tenant=t1&user=ann").await["foreground"],
        json!({ "waiting": 0 })
    );
}

#[tokio::test]
async fn what_does_not_exist_and_what_is_not_understood_is_a_problem() {
    let app = TestApp::start(SMALL).await;
    let ask = |path: &'static str| app.get(path);
    let unknown = ask("/api/v1/users/notion/pages?user=a").await;
    assert_problem(&unknown, StatusCode::NOT_FOUND, "unknown_upstream");
    assert!(
        unknown.text().contains("known: graph"),
        "{}",
        unknown.text()
    );
    let unknown = ask("/api/v1/users/graph/onenote?user=a").await;
    assert_problem(&unknown, StatusCode::NOT_FOUND, "unknown_workload");
    for path in [
        "/api/v1/users/graph/pages",
        "/api/v1/users/graph/pages?user=",
        "/api/v1/users/graph/pages?user=a&limit=1",
    ] {
        assert_problem(&app.get(path).await, StatusCode::BAD_REQUEST, "bad_query");
    }
    let post = request(
        &app,
        Method::POST,
        "/api/v1/users/graph/pages?user=a",
        &json!({}),
    )
    .await;
    assert_problem(&post, StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
}
