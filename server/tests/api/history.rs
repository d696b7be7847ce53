//! What was, as the API tells it.

use http::StatusCode;
use serde_json::Value;

use crate::lists::{post, want};
use crate::support::TestApp;

const PAGES: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'rate', window_ms = 3600000, limit = 4 },\n\
    { scope = 'app', dimension = 'concurrency', limit = 1000 }]\n";

async fn history(app: &TestApp, query: &str) -> Value {
    let reply = app.get(&format!("/api/v1/history?{query}")).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    reply.json()
}

fn sum(history: &Value, field: &str) -> u64 {
    let points = history["points"].as_array().unwrap().iter();
    let counts = points.map(|it| it["lanes"]["foreground"][field].as_u64().unwrap());
    counts.sum()
}

fn most(history: &Value, scope: &str) -> u64 {
    let points = history["points"].as_array().unwrap().iter();
    let layers = points.flat_map(|it| it["layers"].as_array().unwrap());
    let of = layers.filter(|it| it["scope"] == scope);
    of.map(|it| it["used_permille"].as_u64().unwrap())
        .max()
        .unwrap()
}

/// What was seen until the end is written at the end: nobody has to wait for it.
#[tokio::test]
async fn what_was_survives_restarts_and_is_counted_once_in_each_grade() {
    let app = TestApp::start(PAGES).await;
    for n in 0..6 {
        let taken = post(&app, "/api/v1/permits", &[], &want("ana").to_string()).await;
        let expected = match n {
            0..4 => StatusCode::OK,
            _ => StatusCode::TOO_MANY_REQUESTS,
        };
        assert_eq!(taken.status, expected);
    }
    let app = TestApp::start_in(app.stop().await, PAGES).await;
    let taken = post(&app, "/api/v1/permits", &[], &want("ben").to_string()).await;
    assert_eq!(taken.status, StatusCode::OK);
    let app = TestApp::start_in(app.stop().await, PAGES).await;
    for (range, step_ms) in [("1h", 10_000), ("24h", 60_000), ("30d", 3_600_000)] {
        let history = history(
            &app,
            &format!("upstream=graph&workload=pages&range={range}"),
        )
        .await;
        assert_eq!(history["step_ms"], step_ms);
        assert_eq!(
            (sum(&history, "admitted"), sum(&history, "refused")),
            (5, 2),
            "{range}"
        );
        assert_eq!(
            (most(&history, "user"), most(&history, "app")),
            (1_000, 5),
            "{range}"
        );
        assert!(!history.to_string().contains("ana"), "it names nobody");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_said() {
    let app = TestApp::start(PAGES).await;
    let empty = history(&app, "upstream=graph&workload=pages").await;
    assert_eq!(
        (&empty["range"], &empty["points"]),
        (&"1h".into(), &Value::Array(vec![]))
    );
    for (query, status, code) in [
        (
            "upstream=teams&workload=pages",
            StatusCode::NOT_FOUND,
            "unknown_upstream",
        ),
        (
            "upstream=graph&workload=x",
            StatusCode::NOT_FOUND,
            "unknown_workload",
        ),
        ("upstream=graph", StatusCode::BAD_REQUEST, "bad_query"),
        (
            "upstream=graph&workload=pages&range=2h",
            StatusCode::BAD_REQUEST,
            "bad_query",
        ),
    ] {
        let reply = app.get(&format!("/api/v1/history?{query}")).await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (status, &code.into()),
            "{query}"
        );
    }
    app.stop().await;
}
