//! The limits, the score and the misbehaviour over HTTP.

use serde_json::json;
use spillway_simulator::{Latency, Rejected, Settings, Windows};

use crate::support::Lookalike;

/// Every call takes so many milliseconds on the wall.
fn taking(wall_ms: u64) -> Settings {
    Settings {
        latency: Latency {
            min_ms: wall_ms,
            max_ms: wall_ms,
        },
        ..Settings::default()
    }
}

#[tokio::test]
async fn the_121st_call_in_a_minute_gets_onenotes_429_and_the_score_says_so() {
    let settings = Settings {
        windows: Windows::Sliding,
        rejected: Rejected::Ignore,
        ..taking(0)
    };
    let graph = Lookalike::start(settings).await;
    for _ in 0..120 {
        assert_eq!(graph.get("/v1.0/me/onenote/notebooks").await.status, 200);
    }
    let answer = graph.get("/v1.0/me/onenote/notebooks").await;
    assert_eq!((answer.status, answer.code().as_str()), (429, "20166"));
    assert_eq!(answer.header("retry-after"), None);
    let stats = graph
        .send("GET", "/_sim/stats", &[], "")
        .await
        .unwrap()
        .json();
    assert_eq!(
        (&stats["arrived"], &stats["rejected"]),
        (&json!(121), &json!(1))
    );
    let budgets = stats["budgets"].as_array().unwrap();
    let user = budgets
        .iter()
        .find(|budget| budget["scope"] == "user")
        .unwrap();
    assert_eq!(user["key"], "notes/t1/u1");
    assert_eq!(
        user["layers"],
        json!([
            {"window_ms": 60_000, "limit": 120, "peak": 121, "rejected": 1, "last_window": 121},
            {"window_ms": 3_600_000, "limit": 400, "peak": 121, "rejected": 0, "last_window": 121},
            {"window_ms": null, "limit": 5, "peak": 1, "rejected": 0, "in_flight": 0},
        ])
    );
    let app = budgets
        .iter()
        .find(|budget| budget["scope"] == "app")
        .unwrap();
    assert_eq!(
        (&app["key"], &app["layers"][0]["limit"]),
        (&json!("notes"), &json!(240))
    );
}

#[tokio::test]
async fn the_time_scale_shortens_windows_and_latencies() {
    // A minute takes 200 ms, and a call 1 ms.
    let settings = Settings {
        time_scale: 300,
        windows: Windows::Sliding,
        rejected: Rejected::Ignore,
        ..taking(300)
    };
    let graph = Lookalike::start(settings).await;
    let started = std::time::Instant::now();
    let mut passed = 0;
    while passed < 241 {
        passed += u32::from(graph.get("/v1.0/me/onenote/notebooks").await.status == 200);
    }
    assert!(
        started.elapsed().as_millis() >= 400,
        "{:?}",
        started.elapsed()
    );
    let stats = graph.simulator.stats();
    assert_eq!(stats.time_scale, 300);
    assert!(stats.as_of_ms >= 120_000);
}

#[tokio::test]
async fn a_cut_connection_keeps_its_slot() {
    let graph = Lookalike::start(taking(1500)).await;
    for n in 1..=5 {
        let stream = graph
            .request("GET", "/v1.0/me/onenote/pages", &["x-sim-user: u1"], "")
            .await;
        graph.until_in_flight("u1", |calls| calls == n).await;
        drop(stream);
    }
    let refused = graph
        .send("GET", "/v1.0/me/onenote/pages", &["x-sim-user: u1"], "")
        .await
        .unwrap();
    assert_eq!(refused.status, 429);
    assert_eq!(graph.in_flight("u1"), 5);
    graph.until_in_flight("u1", |calls| calls == 0).await;
    let served = graph
        .send("GET", "/v1.0/me/onenote/pages", &["x-sim-user: u1"], "")
        .await
        .unwrap();
    assert_eq!(served.status, 200);
}

#[tokio::test]
async fn a_large_body_holds_its_slot_until_it_is_read_or_cut() {
    let graph = Lookalike::start(taking(0)).await;
    let large = "/v1.0/me/onenote/resources/large-67108864/$value";
    let unread = graph.request("GET", large, &["x-sim-user: u1"], "").await;
    graph.until_in_flight("u1", |calls| calls == 1).await;
    let other = graph
        .send("GET", "/v1.0/me/onenote/notebooks", &["x-sim-user: u1"], "")
        .await;
    assert_eq!((other.unwrap().status, graph.in_flight("u1")), (200, 1));
    drop(unread);
    graph.until_in_flight("u1", |calls| calls == 0).await;
}

#[tokio::test]
async fn faults_come_in_every_shape() {
    let graph = Lookalike::start(taking(0)).await;
    let page = "/v1.0/me/onenote/pages";
    for (fault, body) in [
        (
            r#"{"status":503,"retry_after":"7","code":"20166"}"#,
            "\"code\":\"20166\"",
        ),
        (r#"{"status":429,"body":"root"}"#, "{\"code\":\"20166\""),
        (
            r#"{"status":429,"body":"html"}"#,
            "<h2>429 Too Many Requests</h2>",
        ),
        (r#"{"status":504}"#, "\"code\":\"UnknownError\""),
    ] {
        let order = format!(r#"{{"match":"/pages","fault":{fault}}}"#);
        assert_eq!(graph.inject(&order).await.status, 201);
        assert_eq!(graph.get("/v1.0/me/onenote/notebooks").await.status, 200);
        let answer = graph.get(page).await;
        assert!(
            answer.status >= 429 && answer.text().contains(body),
            "{}",
            answer.text()
        );
        assert_eq!(
            answer.header("retry-after"),
            fault.contains("retry_after").then_some("7")
        );
        assert_eq!(graph.get(page).await.status, 200);
    }
    graph
        .inject(r#"{"fault":{"status":429,"body":"empty"}}"#)
        .await;
    let empty = graph.get(page).await;
    assert_eq!((empty.status, empty.body.len()), (429, 0));
    graph
        .inject(r#"{"fault":{"headers":{"Set-Cookie":"a=b","Alt-Svc":"clear"}}}"#)
        .await;
    assert_eq!(graph.get(page).await.header("set-cookie"), Some("a=b"));
    let stats = graph.simulator.stats();
    assert_eq!((stats.faulted, stats.rejected), (6, 0));
}

#[tokio::test]
async fn connections_break_where_told() {
    let graph = Lookalike::start(taking(0)).await;
    graph.inject(r#"{"fault":{"cut":"before_headers"}}"#).await;
    let nothing = graph.send("GET", "/v1.0/me", &["x-sim-user: u1"], "").await;
    assert!(nothing.is_none(), "{nothing:?}");
    for path in [
        "/v1.0/me/onenote/pages",
        "/v1.0/me/onenote/resources/large-300000/$value",
    ] {
        graph.inject(r#"{"fault":{"cut":"mid_body"}}"#).await;
        let half = graph.get(path).await;
        let length: usize = half.header("content-length").unwrap().parse().unwrap();
        assert_eq!((half.status, half.body.len()), (200, length / 2), "{path}");
        assert_eq!(graph.in_flight("u1"), 0);
    }
}

#[tokio::test]
async fn an_injected_latency_is_on_the_wall_whatever_the_scale() {
    let graph = Lookalike::start(Settings {
        time_scale: 1000,
        ..taking(0)
    })
    .await;
    graph
        .inject(r#"{"user":"slow","fault":{"latency_ms":150}}"#)
        .await;
    let started = std::time::Instant::now();
    graph.get_as("quick", "/v1.0/me/onenote/notebooks").await;
    graph.get_as("slow", "/v1.0/me/onenote/notebooks").await;
    assert!(started.elapsed().as_millis() >= 150);
    assert_eq!(graph.simulator.stats().faulted, 1);
}

#[tokio::test]
async fn bad_orders_are_refused_by_name_and_good_ones_listed() {
    let graph = Lookalike::quick().await;
    for (order, status, word) in [
        (r#"{"mach":"/x","fault":{"status":500}}"#, 400, "mach"),
        (r#"{"fault":{"body":"xml"}}"#, 400, "xml"),
        (r#"{"fault":{}}"#, 400, "fault"),
        ("{", 400, "JSON"),
    ] {
        let answer = graph.inject(order).await;
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(
            answer.status == status && error.contains(word),
            "{order}: {error}"
        );
    }
    let big = format!(
        r#"{{"match":"{}","fault":{{"status":500}}}}"#,
        "x".repeat(70_000)
    );
    assert_eq!(graph.inject(&big).await.status, 413);
    let form = graph
        .send("POST", "/_sim/faults", &["Content-Type: text/plain"], "{}")
        .await;
    assert_eq!(form.unwrap().status, 415);
    for _ in 0..100 {
        assert_eq!(
            graph.inject(r#"{"fault":{"status":500}}"#).await.status,
            201
        );
    }
    assert_eq!(
        graph.inject(r#"{"fault":{"status":500}}"#).await.status,
        409
    );
    let listed = graph
        .send("GET", "/_sim/faults", &[], "")
        .await
        .unwrap()
        .json();
    let first = &listed["faults"][0];
    assert_eq!(
        first,
        &json!({"match": "", "count": 1, "fault": {"status": 500}})
    );
    assert_eq!(
        graph
            .send("DELETE", "/_sim/faults", &[], "")
            .await
            .unwrap()
            .status,
        204
    );
    let listed = graph
        .send("GET", "/_sim/faults", &[], "")
        .await
        .unwrap()
        .json();
    assert_eq!(listed, json!({"faults": []}));
}
