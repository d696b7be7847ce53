//! Batches of upstreams that no preset tells anything of.

use http::Method;
use serde_json::json;

use super::{Batches, answers, lane, part, parts, raw, status, with};
use crate::support::TestApp;

fn config(upstream: &Batches, rest: &str) -> String {
    format!(
        "[upstreams.own]\nbase_url = 'http://{}/'\nuser_from = 'header'\n{rest}\n\
         [[upstreams.own.workloads]]\nname = 'all'\npaths = ['/api']\n\
         layers = [{{ scope = 'user', dimension = 'rate', window_ms = 600000, limit = 5 }}]\n",
        upstream.peer.address
    )
}

const AT_ONCE: [(&str, &str); 2] = [("spillway-user", "ann"), ("spillway-wait-ms", "0")];

fn message(count: usize) -> String {
    json!({"requests": parts(count)}).to_string()
}

#[tokio::test]
async fn a_batch_is_known_by_its_path_and_each_part_is_charged() {
    for path in [
        "/own/api/$batch",
        "/own/api/v9.1/$batch",
        "/own/api/%24batch",
        "/own/api/%24BATCH/",
        "/own/api/$Batch?x=y",
    ] {
        let upstream = Batches::of_parts(|_, _| status(200)).await;
        let app = TestApp::start(&config(&upstream, "")).await;
        let reply = raw(&app, Method::POST, path, &AT_ONCE, message(8)).await;
        assert_eq!((with(&reply, 200), with(&reply, 429)), (5, 3), "{path}");
        assert_eq!(lane(&app, "all", "admitted").await, 5, "{path}");
        let none = raw(&app, Method::POST, path, &AT_ONCE, message(1)).await;
        assert_eq!(with(&none, 429), 1, "{path}");
        app.stop().await;
    }
}

#[tokio::test]
async fn other_calls_of_such_a_path_are_calls() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&config(&upstream, "")).await;
    for path in ["/own/api/$batches", "/own/api/$batch/x", "/own/api/batch"] {
        let message = json!({"requests": [part("1", "GET")]}).to_string();
        let reply = raw(&app, Method::POST, path, &AT_ONCE, message).await;
        assert_eq!(reply.status, 200, "{path}");
    }
    assert_eq!(lane(&app, "all", "admitted").await, 3);
    app.stop().await;
}

/// A server that folds the case of methods would serve the parts, past their limits.
#[tokio::test]
async fn a_batch_by_another_method_is_refused_and_not_passed_on_as_one_call() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&config(&upstream, "")).await;
    for method in ["post", "Post", "PUT", "PATCH", "GET", "HEAD", "OPTIONS"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let reply = raw(
            &app,
            method.clone(),
            "/own/api/$batch",
            &AT_ONCE,
            message(8),
        )
        .await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("allow")),
            (405, "POST"),
            "{method}"
        );
    }
    assert!(upstream.rounds().is_empty());
    assert_eq!(lane(&app, "all", "admitted").await, 0);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_batch_of_json_is_refused_and_not_passed_on_as_one_call() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&config(&upstream, "")).await;
    let mixed = [
        AT_ONCE[0],
        ("content-type", "multipart/mixed; boundary=batch_1"),
    ];
    let reply = raw(
        &app,
        Method::POST,
        "/own/api/$batch",
        &mixed,
        "--batch_1--\r\n",
    )
    .await;
    assert_eq!(reply.status, 415);
    assert!(reply.text().contains("split_batches"), "{}", reply.text());
    assert!(upstream.peer.seen().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn a_batch_passes_as_one_call_where_the_configuration_says_so_or_the_vendor_has_none() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let own = config(&upstream, "split_batches = false");
    let app = TestApp::start(&own).await;
    let reply = raw(&app, Method::POST, "/own/api/$batch", &AT_ONCE, message(8)).await;
    assert_eq!(answers(&reply).len(), 8);
    assert_eq!(lane(&app, "all", "admitted").await, 1);
    app.stop().await;

    let notion = format!(
        "[upstreams.own]\nbase_url = 'http://{}/'\nuser_from = 'header'\npresets = ['notion']\n",
        upstream.peer.address
    );
    let app = TestApp::start(&notion).await;
    let reply = raw(&app, Method::POST, "/own/v1/$batch", &AT_ONCE, message(2)).await;
    assert_eq!(answers(&reply).len(), 2);
    assert_eq!(lane(&app, "notion", "admitted").await, 1);
    app.stop().await;
}
