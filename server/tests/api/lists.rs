//! Permits for several calls at once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::support::{Reply, TestApp, send};

/// Three a minute for a user, four at once for the app.
pub const SMALL: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    hold_max_ms = 30000\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 3 },\n\
    { scope = 'app', dimension = 'concurrency', limit = 4 }]\n";

pub async fn post(app: &TestApp, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Full::from(Bytes::from(body.to_owned()));
    send(app.dashboard, request.body(body).unwrap()).await
}

async fn take(app: &TestApp, items: &Value) -> Vec<Value> {
    let reply = post(app, "/api/v1/permits", &[], &items.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("ratelimit"), "");
    reply.json().as_array().unwrap().clone()
}

pub fn want(user: &str) -> Value {
    json!({ "upstream": "graph", "user": user })
}

async fn give_back(app: &TestApp, id: &Value) -> StatusCode {
    let path = format!("/api/v1/permits/{}", id.as_str().unwrap());
    let request = Request::builder().method(Method::DELETE).uri(path);
    let request = request.body(Full::default()).unwrap();
    send(app.dashboard, request).await.status
}

/// Waits until so many calls wait.
pub async fn until_waiting(app: &TestApp, calls: u64) {
    loop {
        let state = app.get("/api/v1/state").await.json();
        let lanes = &state["upstreams"][0]["workloads"][0]["lanes"];
        if lanes["foreground"]["waiting"] == calls {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Whether the whole app's four slots are free.
pub async fn assert_nothing_is_taken(app: &TestApp) {
    let four = ["p", "q", "r", "s"].map(want);
    let answers = take(app, &json!(four)).await;
    for answer in &answers {
        assert_eq!(
            give_back(app, &answer["id"]).await,
            StatusCode::NO_CONTENT,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn each_is_answered_in_its_place() {
    let app = TestApp::start(SMALL).await;
    let answers = take(
        &app,
        &json!([
            want("ann"),
            { "upstream": "graph", "user": "ann", "weight": 0 },
            { "upstream": "none", "user": "ann" },
            want("ann"),
            ["graph", "pages", "ann", "", "house", "foreground", 1, 0],
            { "upstream": "graph", "user": "ann", "wieght": 2 },
            want("ann"),
            want("ann"),
            { "upstream": "graph", "user": "bob", "weight": 4 },
            want("bob"),
        ]),
    )
    .await;
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer["code"].as_str().unwrap_or("taken"))
        .collect();
    let expected = [
        "taken",
        "bad_field",
        "unknown_upstream",
        "taken",
        "bad_field",
        "bad_field",
        "taken",
        "throttled",
        "impossible",
        "taken",
    ];
    assert_eq!(codes, expected);
    for answer in &answers {
        match answer["code"].as_str() {
            None => {
                let ttl_ms = answer["ttl_ms"].as_u64().unwrap();
                assert!((110_000..=120_000).contains(&ttl_ms), "{answer}");
            }
            Some(_) => assert!(answer["status"].as_u64().unwrap() >= 400, "{answer}"),
        }
    }
    // The same members as when it is asked for alone.
    let blocked_by = json!({ "scope": "user", "dimension": "rate", "window_ms": 60_000 });
    assert_eq!(
        (&answers[7]["reason"], &answers[7]["blocked_by"]),
        (&"limit".into(), &blocked_by)
    );
    assert!(answers[7]["retry_after_ms"].as_u64().unwrap() > 50_000);
    assert!(answers[5]["detail"].as_str().unwrap().contains("wieght"));
    app.stop().await;
}

#[tokio::test]
async fn lists_have_a_bound_and_may_be_empty() {
    let app = TestApp::start(SMALL).await;
    assert!(take(&app, &json!([])).await.is_empty());
    let users: Vec<_> = (0..101).map(|n| want(&n.to_string())).collect();
    let answers = take(&app, &json!(users[..100])).await;
    let taken = answers.iter().filter(|answer| answer["id"].is_string());
    assert_eq!((answers.len(), taken.count()), (100, 4));
    let reply = post(&app, "/api/v1/permits", &[], &json!(users).to_string()).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(reply.json()["code"], "too_many_items");
    for broken in ["[", "[{}", "[{},]", "[] []"] {
        let reply = post(&app, "/api/v1/permits", &[], broken).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{broken}");
        assert_eq!(reply.json()["code"], "bad_json");
    }
    app.stop().await;
}

/// Slots come free while the list waits: its calls wait side by side, the first one first.
#[tokio::test]
async fn all_wait_at_the_same_time() {
    let app = TestApp::start(SMALL).await;
    let first = take(&app, &json!(["a", "b", "c", "d"].map(want))).await;
    let waiting = |user: &str| json!({ "upstream": "graph", "user": user, "wait_ms": 9_000 });
    let list = json!([waiting("e"), waiting("f"), want("g")]);
    let begun = Instant::now();
    let freed = async {
        until_waiting(&app, 2).await;
        for answer in &first[..2] {
            give_back(&app, &answer["id"]).await;
        }
    };
    let (answers, ()) = tokio::join!(take(&app, &list), freed);
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
    let taken: Vec<_> = answers
        .iter()
        .map(|answer| answer["id"].is_string())
        .collect();
    assert_eq!(taken, [true, true, false]);
    app.stop().await;
}

/// What was given to some while others wait comes back when the caller leaves.
#[tokio::test]
async fn who_leaves_leaves_no_permit_behind() {
    let app = TestApp::start(SMALL).await;
    let list = json!([
        want("a"), want("b"), want("c"), want("d"),
        { "upstream": "graph", "user": "e", "wait_ms": 9_000 }
    ])
    .to_string();
    let mut stream = TcpStream::connect(app.dashboard).await.unwrap();
    let head = format!(
        "POST /api/v1/permits HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        app.dashboard,
        list.len()
    );
    stream
        .write_all(format!("{head}{list}").as_bytes())
        .await
        .unwrap();
    until_waiting(&app, 1).await;
    drop(stream);
    let free = async {
        loop {
            let reply = post(&app, "/api/v1/permits", &[], &want("z").to_string()).await;
            if reply.status == StatusCode::OK {
                break give_back(&app, &reply.json()["id"]).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), free)
        .await
        .expect("a permit was left behind");
    assert_nothing_is_taken(&app).await;
    app.stop().await;
}
