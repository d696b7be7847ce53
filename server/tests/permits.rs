//! The permit API at its boundary: every answer that its callers rely on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::{Value, json};
use support::{Reply, TestApp, send};
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// Three a minute for a user, two at once for the app; holds of at most ten seconds.
const SMALL: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    hold_max_ms = 10000\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 3 },\n\
    { scope = 'app', dimension = 'concurrency', limit = 2 }]\n";

/// As [`SMALL`], and a second workload.
const TWO: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\n\
    [[upstreams.graph.workloads]]\nname = 'slots'\npaths = ['/slots/**']\n\
    layers = [{ scope = 'user', dimension = 'concurrency', limit = 5 }]\n";

async fn request(app: &TestApp, method: Method, path: &str, body: Option<&Value>) -> Reply {
    let request = Request::builder().method(method).uri(path);
    let request = match body {
        Some(body) => request
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body.to_string())),
        None => request.body(Full::default()),
    };
    send(app.dashboard, request.unwrap()).await
}

async fn post(app: &TestApp, path: &str, body: &Value) -> Reply {
    request(app, Method::POST, path, Some(body)).await
}

/// Asks for a permit of `user`, with more or other fields.
async fn ask(app: &TestApp, user: &str, more: Value) -> Reply {
    let mut body = json!({ "upstream": "graph", "user": user });
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    post(app, "/api/v1/permits", &body).await
}

/// A permit's path.
async fn take(app: &TestApp, user: &str) -> String {
    path_of(&ask(app, user, json!({})).await)
}

fn path_of(taken: &Reply) -> String {
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    format!("/api/v1/permits/{}", taken.json()["id"].as_str().unwrap())
}

async fn complete(app: &TestApp, path: &str, body: Value) -> StatusCode {
    post(app, &format!("{path}/complete"), &body).await.status
}

async fn delete(app: &TestApp, path: &str) -> StatusCode {
    request(app, Method::DELETE, path, None).await.status
}

fn assert_problem(reply: &Reply, status: StatusCode, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let problem = reply.json();
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&code.into(), &status.as_u16().into()),
        "{problem}"
    );
}

fn assert_throttled(reply: &Reply, reason: &str, blocked_by: &Value) {
    assert_problem(reply, StatusCode::TOO_MANY_REQUESTS, "throttled");
    let problem = reply.json();
    assert_eq!(
        problem["type"],
        "https://iana.org/assignments/http-problem-types#quota-exceeded"
    );
    assert_eq!(
        (&problem["reason"], &problem["blocked_by"]),
        (&reason.into(), blocked_by)
    );
    let wait_ms = problem["retry_after_ms"].as_u64().unwrap();
    let seconds: u64 = reply.header("retry-after").parse().unwrap();
    assert_eq!(seconds, wait_ms.div_ceil(1_000), "{problem}");
    assert!(wait_ms >= 1);
}

fn user_minute() -> Value {
    json!({ "scope": "user", "dimension": "rate", "window_ms": 60_000 })
}

#[tokio::test]
async fn a_permit_is_taken_and_completed_as_often_as_its_holder_likes() {
    let app = TestApp::start(SMALL).await;
    let taken = ask(&app, "ann", json!({})).await;
    assert_eq!(taken.status, StatusCode::OK);
    let body = taken.json();
    assert_eq!(body["ttl_ms"], 120_000);
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    assert_eq!(body["id"].as_str().unwrap().len(), 22);
    assert_eq!(taken.header("cache-control"), "no-store");
    assert_eq!(
        taken.header("ratelimit-policy"),
        "\"user/rate/60s\";q=3;w=60"
    );
    assert_eq!(taken.header("ratelimit"), "\"user/rate/60s\";r=2;t=61");

    let path = path_of(&taken);
    for _ in 0..3 {
        let done = json!({ "status": 200, "headers": { "content-type": "text/html" } });
        let reply = post(&app, &format!("{path}/complete"), &done).await;
        assert_eq!(
            (reply.status, reply.body.len()),
            (StatusCode::NO_CONTENT, 0)
        );
    }
    // Its slot is free, its weight counts once.
    let next = ask(&app, "ann", json!({})).await;
    assert!(
        next.header("ratelimit")
            .starts_with("\"user/rate/60s\";r=1;t=")
    );
}

#[tokio::test]
async fn a_refusal_says_what_blocks_and_until_when() {
    let app = TestApp::start(SMALL).await;
    for _ in 0..3 {
        let path = take(&app, "ann").await;
        assert_eq!(
            complete(&app, &path, json!({ "status": 404 })).await,
            StatusCode::NO_CONTENT
        );
    }
    let refused = ask(&app, "ann", json!({ "wait_ms": 100 })).await;
    assert_throttled(&refused, "limit", &user_minute());
    let wait_ms = refused.json()["retry_after_ms"].as_u64().unwrap();
    assert!((50_000..=60_031).contains(&wait_ms), "{wait_ms}");
    assert_eq!(refused.json()["exact"], true);
    assert_eq!(
        refused.header("ratelimit-policy"),
        "\"user/rate/60s\";q=3;w=60"
    );
    assert!(
        refused
            .header("ratelimit")
            .starts_with("\"user/rate/60s\";r=0;t=")
    );

    let running = [take(&app, "ben").await, take(&app, "cid").await];
    let refused = ask(&app, "dan", json!({})).await;
    let blocked_by = json!({ "scope": "app", "dimension": "concurrency" });
    assert_throttled(&refused, "limit", &blocked_by);
    assert_eq!(refused.json()["exact"], false);
    assert_eq!(delete(&app, &running[0]).await, StatusCode::NO_CONTENT);
    take(&app, "dan").await;
}

#[tokio::test]
async fn a_permit_given_back_costs_nothing() {
    let app = TestApp::start(SMALL).await;
    for _ in 0..10 {
        let path = take(&app, "ann").await;
        for _ in 0..2 {
            assert_eq!(delete(&app, &path).await, StatusCode::NO_CONTENT);
        }
        assert_eq!(
            complete(&app, &path, json!({ "status": 200 })).await,
            StatusCode::NO_CONTENT
        );
    }
    let left = ask(&app, "ann", json!({})).await;
    assert!(
        left.header("ratelimit")
            .starts_with("\"user/rate/60s\";r=2;")
    );
}

#[tokio::test]
async fn a_permit_is_renewed_while_it_runs() {
    let app = TestApp::start(SMALL).await;
    let path = take(&app, "ann").await;
    let renewed = request(&app, Method::POST, &format!("{path}/renew"), None).await;
    assert_eq!(
        (renewed.status, renewed.json()),
        (StatusCode::OK, json!({ "ttl_ms": 120_000 }))
    );
    complete(&app, &path, json!({ "status": 200 })).await;
    let over = request(&app, Method::POST, &format!("{path}/renew"), None).await;
    assert_problem(&over, StatusCode::GONE, "ended");
}

#[tokio::test]
async fn permits_that_nobody_holds_are_not_found() {
    let app = TestApp::start(SMALL).await;
    for id in ["AAAAAAAAAAAAAAAAAAAAAA", "x", "%FF", &"A".repeat(500)] {
        let path = format!("/api/v1/permits/{id}");
        let done = post(&app, &format!("{path}/complete"), &json!({ "status": 200 })).await;
        let renewed = request(&app, Method::POST, &format!("{path}/renew"), None).await;
        let deleted = request(&app, Method::DELETE, &path, None).await;
        for reply in [done, renewed, deleted] {
            assert_problem(&reply, StatusCode::NOT_FOUND, "unknown_permit");
        }
    }
    let reply = request(&app, Method::GET, "/api/v1/permits", None).await;
    assert_problem(&reply, StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
}

#[tokio::test]
async fn a_reported_refusal_of_the_upstream_s_stops_others_and_outlives_a_restart() {
    let app = TestApp::start(SMALL).await;
    let path = take(&app, "ann").await;
    let throttled = json!({
        "status": 429,
        "headers": { "Retry-After": "30", "x-ms-throttle-scope": ["Application"] }
    });
    assert_eq!(
        complete(&app, &path, throttled).await,
        StatusCode::NO_CONTENT
    );
    let refused = ask(&app, "ben", json!({})).await;
    assert_throttled(&refused, "breaker", &json!({ "scope": "app" }));
    let wait_ms = refused.json()["retry_after_ms"].as_u64().unwrap();
    assert!((20_000..=30_000).contains(&wait_ms), "{wait_ms}");
    assert!(
        refused
            .header("ratelimit")
            .starts_with("\"user/rate/60s\";r=3;")
    );

    let app = TestApp::start_in(app.stop().await, SMALL).await;
    let refused = ask(&app, "cid", json!({})).await;
    assert_throttled(&refused, "breaker", &json!({ "scope": "app" }));
}

#[tokio::test]
async fn the_last_calls_before_a_limit_are_the_foreground_s() {
    let app = TestApp::start(TWO).await;
    let path = path_of(&ask(&app, "ann", json!({ "workload": "onenote" })).await);
    let report = json!({
        "status": 200,
        "headers": { "x-ms-throttle-limit-percentage": "0.9" }
    });
    assert_eq!(complete(&app, &path, report).await, StatusCode::NO_CONTENT);
    let background = json!({ "workload": "onenote", "lane": "background" });
    let refused = ask(&app, "ann", background).await;
    assert_throttled(&refused, "soft", &json!({ "scope": "user" }));
    path_of(&ask(&app, "ann", json!({ "workload": "onenote" })).await);
}

#[tokio::test]
async fn weights_count_and_impossible_ones_are_told_apart() {
    let app = TestApp::start(SMALL).await;
    let heavy = ask(&app, "ann", json!({ "weight": 2 })).await;
    assert!(
        heavy
            .header("ratelimit")
            .starts_with("\"user/rate/60s\";r=1;")
    );
    assert_throttled(
        &ask(&app, "ann", json!({ "weight": 2 })).await,
        "limit",
        &user_minute(),
    );
    for impossible in [
        json!({ "weight": 4 }),
        json!({ "weight": 2, "lane": "background" }),
    ] {
        let refused = ask(&app, "ben", impossible).await;
        assert_problem(&refused, StatusCode::UNPROCESSABLE_ENTITY, "impossible");
        for header in ["retry-after", "ratelimit"] {
            assert_eq!(refused.header(header), "");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_goes_when_another_ends() {
    let app = TestApp::start(SMALL).await;
    let running = [take(&app, "ann").await, take(&app, "ben").await];
    let begun = Instant::now();
    let (waited, ()) = tokio::join!(ask(&app, "cid", json!({ "wait_ms": 8_000 })), async {
        until_waiting(&app, 1).await;
        complete(&app, &running[0], json!({ "status": 200 })).await;
    });
    path_of(&waited);
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_upstream_s_longest_hold() {
    let app = TestApp::start(&SMALL.replace("hold_max_ms = 10000", "hold_max_ms = 50")).await;
    let _running = [take(&app, "ann").await, take(&app, "ben").await];
    let refused = ask(&app, "cid", json!({ "wait_ms": u64::MAX })).await;
    let blocked_by = json!({ "scope": "app", "dimension": "concurrency" });
    assert_throttled(&refused, "limit", &blocked_by);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_waiting_takes_nothing() {
    let app = TestApp::start(SMALL).await;
    let running = [take(&app, "ann").await, take(&app, "ben").await];
    let body = json!({ "upstream": "graph", "user": "cid", "wait_ms": 10_000 }).to_string();
    let mut client = TcpStream::connect(app.dashboard).await.unwrap();
    let head = format!(
        "POST /api/v1/permits HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        app.dashboard,
        body.len()
    );
    client.write_all(head.as_bytes()).await.unwrap();
    until_waiting(&app, 1).await;
    drop(client);
    until_waiting(&app, 0).await;
    complete(&app, &running[0], json!({ "status": 200 })).await;
    let next = ask(&app, "cid", json!({})).await;
    assert!(
        next.header("ratelimit")
            .starts_with("\"user/rate/60s\";r=2;")
    );
}

#[tokio::test]
async fn permits_are_completed_after_a_restart() {
    let app = TestApp::start(SMALL).await;
    let (running, done) = (take(&app, "ann").await, take(&app, "ben").await);
    complete(&app, &done, json!({ "status": 200 })).await;
    let returned = take(&app, "cid").await;
    delete(&app, &returned).await;

    let app = TestApp::start_in(app.stop().await, SMALL).await;
    let slot = take(&app, "dan").await;
    let refused = ask(&app, "eve", json!({})).await;
    let blocked_by = json!({ "scope": "app", "dimension": "concurrency" });
    assert_throttled(&refused, "limit", &blocked_by);
    let renewed = request(&app, Method::POST, &format!("{running}/renew"), None).await;
    assert_eq!(renewed.status, StatusCode::OK);
    for path in [&running, &done, &returned] {
        assert_eq!(
            complete(&app, path, json!({ "status": 200 })).await,
            StatusCode::NO_CONTENT
        );
    }
    take(&app, "eve").await;
    assert_eq!(delete(&app, &slot).await, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn names_that_are_not_known_are_answered_with_those_that_are() {
    let app = TestApp::start(TWO).await;
    let reply = ask(&app, "ann", json!({ "upstream": "grahp" })).await;
    assert_problem(&reply, StatusCode::NOT_FOUND, "unknown_upstream");
    assert_eq!(reply.json()["detail"], "the upstreams are: graph");
    for (more, code) in [
        (json!({}), "workload_missing"),
        (json!({ "workload": "onenotes" }), "unknown_workload"),
    ] {
        let reply = ask(&app, "ann", more).await;
        assert_problem(&reply, StatusCode::UNPROCESSABLE_ENTITY, code);
        assert_eq!(reply.json()["detail"], "the workloads are: slots, onenote");
    }
    let slots = ask(
        &app,
        "ann",
        json!({ "workload": "slots", "app": "other", "tenant": "t" }),
    )
    .await;
    // The rate that all calls together meet is the only one.
    assert!(
        slots
            .header("ratelimit")
            .starts_with("\"app/rate/10s\";r=129999;t=")
    );
    assert_eq!(
        slots.header("ratelimit-policy"),
        "\"app/rate/10s\";q=130000;w=10"
    );
}

#[tokio::test]
async fn where_there_is_no_rate_the_concurrency_is_told() {
    let app = TestApp::start(&TWO.replace("presets = ['onenote']\n", "")).await;
    let slots = ask(&app, "ann", json!({})).await;
    assert_eq!(slots.header("ratelimit"), "\"user/concurrency\";r=4");
    assert_eq!(
        slots.header("ratelimit-policy"),
        "\"user/concurrency\";q=5;qu=\"concurrent-requests\""
    );
}

#[tokio::test]
async fn what_is_not_said_right_is_refused() {
    let app = TestApp::start(SMALL).await;
    for more in [
        json!({ "wieght": 2 }),
        json!({ "weight": 0 }),
        json!({ "weight": -1 }),
        json!({ "weight": 1.5 }),
        json!({ "weight": "2" }),
        json!({ "weight": 5_000_000_000_u64 }),
        json!({ "wait_ms": -1 }),
        json!({ "lane": "fast" }),
        json!({ "user": "" }),
        json!({ "user": null }),
        json!({ "user": "a\nb" }),
        json!({ "user": "u".repeat(257) }),
        json!({ "app": "" }),
        json!({ "tenant": "\u{0}" }),
    ] {
        let reply = ask(&app, "ann", more.clone()).await;
        assert_problem(&reply, StatusCode::UNPROCESSABLE_ENTITY, "bad_field");
        assert!(reply.json()["detail"].is_string(), "{more}");
    }
    let path = take(&app, "ann").await;
    for body in [
        json!({}),
        json!({ "status": 99 }),
        json!({ "status": 200, "header": {} }),
        json!({ "status": 200, "headers": { "retry-after": 5 } }),
        json!({ "status": 200, "headers": [] }),
    ] {
        let reply = post(&app, &format!("{path}/complete"), &body).await;
        assert_problem(&reply, StatusCode::UNPROCESSABLE_ENTITY, "bad_field");
    }
    let renewed = request(&app, Method::POST, &format!("{path}/renew"), None).await;
    assert_eq!(renewed.status, StatusCode::OK, "it still runs");
}

#[tokio::test]
async fn bodies_are_json_and_small() {
    let app = TestApp::start(SMALL).await;
    let path = take(&app, "ann").await;
    for path in ["/api/v1/permits".to_owned(), format!("{path}/complete")] {
        for (media_type, body, status, code) in [
            (
                "text/plain",
                "{}".to_owned(),
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
            ),
            (
                "application/json",
                "{".to_owned(),
                StatusCode::BAD_REQUEST,
                "bad_json",
            ),
            (
                "application/json",
                format!("{{\"upstream\":\"{}\"}}", "g".repeat(64 * 1024)),
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
            ),
        ] {
            let request = Request::post(&path).header(CONTENT_TYPE, media_type);
            let body = Full::from(Bytes::from(body));
            let reply = send(app.dashboard, request.body(body).unwrap()).await;
            assert_problem(&reply, status, code);
        }
        let untyped = Request::post(&path).body(Full::from("{}")).unwrap();
        let reply = send(app.dashboard, untyped).await;
        assert_problem(
            &reply,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
        );
    }
}

#[tokio::test]
async fn users_beyond_the_most_that_are_counted_are_refused() {
    let sections = format!("max_users = 1\n{SMALL}");
    let app = TestApp::start(&sections).await;
    take(&app, "ann").await;
    let refused = ask(&app, "ben", json!({})).await;
    assert_problem(&refused, StatusCode::SERVICE_UNAVAILABLE, "capacity");
    assert_eq!(refused.header("retry-after"), "");
    take(&app, "ann").await;
}

/// Returns once `calls` wait.
async fn until_waiting(app: &TestApp, calls: u64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let state = app.get("/api/v1/state").await.json();
        let lane = &state["upstreams"][0]["workloads"][0]["lanes"]["foreground"];
        if lane["waiting"] == calls {
            return;
        }
        assert!(Instant::now() < deadline, "{lane}");
        tokio::task::yield_now().await;
    }
}
