//! Batches: each part a call of its own.

use serde_json::{Value, json};
use spillway_simulator::{Latency, Settings, bearer};

use crate::support::{Answer, Lookalike};

const PAGES: &str = "/me/onenote/pages?$top=1";

async fn send(graph: &Lookalike, batch: &Value) -> Option<Answer> {
    let token = format!("Authorization: Bearer {}", bearer("u1", "t1", "notes"));
    let headers = [token.as_str(), "Content-Type: application/json"];
    graph
        .send("POST", "/v1.0/$batch", &headers, &batch.to_string())
        .await
}

fn get(id: &str, url: &str) -> Value {
    json!({"id": id, "method": "GET", "url": url})
}

/// `(id, status)` of each part, by id.
fn statuses(answer: &Answer) -> Vec<(String, u64)> {
    let responses = answer.json()["responses"].as_array().unwrap().clone();
    let told = |part: &Value| {
        (
            part["id"].as_str().unwrap().to_owned(),
            part["status"].as_u64().unwrap(),
        )
    };
    let mut statuses: Vec<_> = responses.iter().map(told).collect();
    statuses.sort();
    statuses
}

fn part(answer: &Answer, id: &str) -> Value {
    let responses = answer.json()["responses"].as_array().unwrap().clone();
    responses.into_iter().find(|part| part["id"] == id).unwrap()
}

#[tokio::test]
async fn parts_are_calls_and_the_envelope_is_none() {
    let graph = Lookalike::quick().await;
    let batch =
        json!({"requests": [get("a", PAGES), get("B", "me/onenote/notebooks"), get("c", "/me")]});
    let answer = send(&graph, &batch).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(
        statuses(&answer),
        [("B".into(), 200), ("a".into(), 200), ("c".into(), 200)]
    );
    let pages = part(&answer, "a");
    assert!(
        pages["headers"]["Content-Type"]
            .as_str()
            .unwrap()
            .starts_with("application/json")
    );
    assert_eq!(pages["body"]["value"].as_array().unwrap().len(), 1);
    let stats = graph.simulator.stats();
    assert_eq!((stats.arrived, stats.batches, stats.parts), (3, 1, 3));
    let minute = &stats.budgets[0].layers[0];
    assert_eq!(
        (minute.peak, stats.rejected),
        (2, 0),
        "OneNote's two alone are limited"
    );
}

#[tokio::test]
async fn each_part_is_throttled_by_itself() {
    let graph = Lookalike::quick().await;
    let parts: Vec<_> = (0..20).map(|n| get(&n.to_string(), PAGES)).collect();
    let answer = send(&graph, &json!({"requests": parts})).await.unwrap();
    assert_eq!(answer.status, 200);
    let throttled = statuses(&answer)
        .iter()
        .filter(|(_, status)| *status == 429)
        .count();
    assert_eq!(throttled, 15, "five at once");
    assert_eq!(graph.simulator.stats().rejected, 15);
    let body = answer.json();
    let one = body["responses"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["status"] == 429)
        .unwrap();
    assert_eq!(one["body"]["error"]["code"], "20166");
    assert!(one["headers"].get("Retry-After").is_none());
    assert_eq!(graph.in_flight("u1"), 0);
}

#[tokio::test]
async fn what_depends_on_others_runs_after_them_or_not_at_all() {
    let graph = Lookalike::quick().await;
    let after = |id: &str, url: &str, other: &str| json!({"id": id, "method": "GET", "url": url, "dependsOn": [other]});
    let batch = json!({"requests": [
        after("3", PAGES, "2"), after("2", PAGES, "1"), get("1", PAGES),
        get("x", "/me/onenote/pages/1-none"), after("y", PAGES, "X"), after("z", PAGES, "y"),
    ]});
    let answer = send(&graph, &batch).await.unwrap();
    let expected = [
        ("1", 200),
        ("2", 200),
        ("3", 200),
        ("x", 404),
        ("y", 424),
        ("z", 424),
    ];
    assert_eq!(
        statuses(&answer),
        expected.map(|(id, status)| (id.to_owned(), status))
    );
    let stats = graph.simulator.stats();
    assert_eq!((stats.arrived, stats.parts), (4, 6));
}

#[tokio::test]
async fn bodies_that_are_no_json_come_and_go_as_base64() {
    let graph = Lookalike::start(Settings {
        time_scale: 100,
        pages_per_section: (1, 1),
        ..Settings::default()
    })
    .await;
    let html =
        base64_of("<html><head><title>From a batch</title></head><body><p>x</p></body></html>");
    let batch = json!({"requests": [{
        "id": "1", "method": "POST", "url": "/me/onenote/pages",
        "headers": {"Content-Type": "text/html"}, "body": html,
    }]});
    let created = part(&send(&graph, &batch).await.unwrap(), "1");
    assert_eq!(
        (&created["status"], &created["body"]["title"]),
        (&json!(201), &json!("From a batch"))
    );
    let id = created["body"]["id"].as_str().unwrap();
    let content = json!({"requests": [get("1", &format!("/me/onenote/pages/{id}/content"))]});
    let content = part(&send(&graph, &content).await.unwrap(), "1");
    assert!(
        content["headers"]["Content-Type"]
            .as_str()
            .unwrap()
            .starts_with("text/html")
    );
    assert!(
        content["body"]
            .as_str()
            .unwrap()
            .starts_with(&base64_of("<html ")[..8])
    );
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test]
async fn malformed_batches_are_400_and_nothing_runs() {
    let graph = Lookalike::quick().await;
    let many: Vec<_> = (0..21).map(|n| get(&n.to_string(), PAGES)).collect();
    let depends = |on: &str| json!({"id": "1", "method": "GET", "url": PAGES, "dependsOn": [on]});
    for (batch, code) in [
        (json!({"requests": many}), "MaximumValueExceeded"),
        (json!({"requests": []}), "BadRequest"),
        (json!({}), "BadRequest"),
        (
            json!({"requests": [{"method": "GET", "url": PAGES}]}),
            "BadRequest",
        ),
        (
            json!({"requests": [get("a", PAGES), get("A", PAGES)]}),
            "BadRequest",
        ),
        (json!({"requests": [depends("2")]}), "BadRequest"),
        (json!({"requests": [depends("1")]}), "BadRequest"),
        (
            json!({"requests": [get("1", "https://graph.microsoft.com/v1.0/me")]}),
            "BadRequest",
        ),
        (
            json!({"requests": [get("1", "//evil.example/me")]}),
            "BadRequest",
        ),
    ] {
        let answer = send(&graph, &batch).await.unwrap();
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, code),
            "{batch}"
        );
    }
    assert_eq!(graph.simulator.stats().arrived, 0);
    let get = graph.get("/v1.0/$batch").await;
    assert_eq!((get.status, get.header("allow")), (405, Some("POST")));
}

#[tokio::test]
async fn faults_befall_parts_and_envelopes() {
    let graph = Lookalike::quick().await;
    let batch = json!({"requests": [get("1", PAGES), get("2", "/me/onenote/notebooks")]});
    let order = r#"{"match":"/notebooks","fault":{"status":503,"retry_after":"7"}}"#;
    graph.inject(order).await;
    let answer = send(&graph, &batch).await.unwrap();
    assert_eq!(statuses(&answer), [("1".into(), 200), ("2".into(), 503)]);
    assert_eq!(part(&answer, "2")["headers"]["Retry-After"], "7");

    graph
        .inject(r#"{"match":"$batch","fault":{"status":424}}"#)
        .await;
    let answer = send(&graph, &batch).await.unwrap();
    assert_eq!((answer.status, statuses(&answer).len()), (424, 2));

    let before = graph.simulator.stats().arrived;
    graph
        .inject(r#"{"match":"$batch","fault":{"status":502,"body":"html"}}"#)
        .await;
    let answer = send(&graph, &batch).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (502, Some("text/html"))
    );
    assert_eq!(graph.simulator.stats().arrived, before, "nothing ran");

    graph
        .inject(r#"{"match":"$batch","fault":{"cut":"before_headers"}}"#)
        .await;
    assert!(send(&graph, &batch).await.is_none());
    assert_eq!(graph.simulator.stats().arrived, before + 2, "all ran");
}

#[tokio::test]
async fn a_write_may_be_carried_out_and_fail_all_the_same() {
    let graph = Lookalike::start(Settings {
        time_scale: 100,
        pages_per_section: (0, 0),
        latency: Latency {
            min_ms: 1,
            max_ms: 1,
        },
        ..Settings::default()
    })
    .await;
    graph
        .inject(r#"{"match":"/pages","fault":{"status":504,"acts":true}}"#)
        .await;
    let page = json!({
        "id": "1", "method": "POST", "url": "/me/onenote/pages",
        "headers": {"Content-Type": "text/html"},
        "body": "<html><head><title>kept</title></head><body></body></html>",
    });
    let answer = send(&graph, &json!({"requests": [page]})).await.unwrap();
    assert_eq!(statuses(&answer), [("1".into(), 504)]);
    let pages = graph.get("/v1.0/me/onenote/pages").await.json();
    assert_eq!(pages["value"][0]["title"], "kept");
}
