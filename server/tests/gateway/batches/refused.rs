//! Batches that are refused as Graph does, with nothing sent or charged.

use http::Method;
use serde_json::{Value, json};

use super::{BATCH, Batches, after, batch, batch_with, lane, part, parts, raw, status};
use crate::support::{Reply, TestApp};

fn code(reply: &Reply) -> (u16, String) {
    let error = &reply.json()["error"];
    assert_eq!(
        error["innerError"]["request-id"],
        reply.header("request-id")
    );
    (
        reply.status.as_u16(),
        error["code"].as_str().unwrap().to_owned(),
    )
}

fn addressed(url: &str) -> Vec<Value> {
    vec![json!({"id": "1", "method": "GET", "url": url})]
}

#[tokio::test]
async fn malformed_batches_are_400_in_graph_s_words() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let with = |name: &str, value: Value| {
        let mut part = part("1", "GET");
        part[name] = value;
        vec![part]
    };
    for (listed, expected) in [
        (parts(21), "MaximumValueExceeded"),
        (vec![], "BadRequest"),
        (vec![part("a", "GET"), part("A", "GET")], "BadRequest"),
        (vec![after("1", "GET", &["2"])], "BadRequest"),
        (
            vec![after("1", "GET", &["2"]), after("2", "GET", &["1"])],
            "BadRequest",
        ),
        (
            addressed("https://graph.microsoft.com/v1.0/me"),
            "BadRequest",
        ),
        (addressed("//evil.example/me"), "BadRequest"),
        (addressed("/@evil.example/me"), "BadRequest"),
        (addressed("/me/../users/bob"), "BadRequest"),
        (addressed("/me\\x"), "BadRequest"),
        (addressed("/$batch"), "BadRequest"),
        (
            with("headers", json!({"Spillway-User": "bob"})),
            "BadRequest",
        ),
        (
            with("headers", json!({"Authorization": "Bearer bob"})),
            "BadRequest",
        ),
        (with("id", json!(1)), "BadRequest"),
        (with("method", json!("CONNECT")), "BadRequest"),
    ] {
        let told = format!("{listed:?}");
        let reply = batch(&app, "ann", listed).await;
        assert_eq!(code(&reply), (400, expected.to_owned()), "{told}");
    }
    for message in [
        "",
        "{",
        "[]",
        "null",
        r#"{"requests":1}"#,
        r#"{"requests":[],"requests":[]}"#,
    ] {
        let reply = raw(
            &app,
            Method::POST,
            BATCH,
            &[("spillway-user", "ann")],
            message,
        )
        .await;
        assert_eq!(code(&reply), (400, "BadRequest".to_owned()), "{message}");
    }
    assert!(upstream.rounds().is_empty());
    for workload in ["all", "_global"] {
        assert_eq!(lane(&app, workload, "admitted").await, 0);
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_batch_at_all_is_told_so() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    for method in ["GET", "PUT", "post", "OPTIONS"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let other = raw(&app, method, "/graph/v1.0/%24BATCH/", &[], "").await;
        assert_eq!((code(&other).0, other.header("allow")), (405, "POST"));
    }
    let mixed = ("content-type", "multipart/mixed; boundary=x");
    let one = json!({"requests": parts(1)}).to_string();
    for header in [mixed, ("content-encoding", "gzip")] {
        let reply = raw(&app, Method::POST, BATCH, &[header], one.clone()).await;
        assert_eq!(code(&reply).0, 415, "{header:?}");
    }
    let long = format!("{{\"requests\":\"{}\"}}", "x".repeat(4 * 1024 * 1024));
    let reply = raw(&app, Method::POST, BATCH, &[], long).await;
    assert_eq!(code(&reply).0, 413);
    assert!(upstream.rounds().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn spillway_s_own_headers_never_go_on_and_hide_nowhere() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let headers = [
        ("spillway-user", "ann"),
        ("spillway-lane", "background"),
        ("digest", "x"),
        ("x-own", "1"),
    ];
    let reply = batch_with(&app, &headers, parts(1)).await;
    assert_eq!(reply.status, 200);
    let seen = upstream.peer.only();
    assert_eq!(seen.uri.path(), "/v1.0/$batch");
    assert!(
        !seen
            .headers
            .keys()
            .any(|name| name.as_str().starts_with("spillway-"))
    );
    assert!(!seen.headers.contains_key("digest") && seen.headers.contains_key("x-own"));
    assert_eq!(seen.headers["accept-encoding"], "identity");
    let twice = [("spillway-user", "ann"), ("spillway-user", "bob")];
    assert_eq!(batch_with(&app, &twice, parts(1)).await.status, 400);
    app.stop().await;
}
