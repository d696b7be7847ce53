//! Notion's lookalike: what a client reads and writes there, and what Notion would refuse.

use serde_json::{Value, json};
use spillway_simulator::{Latency, Rejected, Settings, Upstream, Windows};

use crate::support::{Answer, Lookalike};

const JSON: &str = "Content-Type: application/json";
const VERSION: &str = "Notion-Version: 2025-09-03";

/// Without latency, and with limits that the calls of one test do not reach.
async fn roomy() -> Lookalike {
    let mut settings = Settings {
        latency: Latency {
            min_ms: 0,
            max_ms: 0,
        },
        ..Settings::default()
    };
    settings.notion.rates.clear();
    Lookalike::start(settings).await
}

async fn send(notion: &Lookalike, method: &str, path: &str, body: &Value) -> Answer {
    let headers = ["Authorization: Bearer ntn_a", VERSION, JSON];
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let path = format!("/v1/{path}");
    notion.send(method, &path, &headers, &body).await.unwrap()
}

async fn get(notion: &Lookalike, path: &str) -> Value {
    let answer = send(notion, "GET", path, &Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn home(notion: &Lookalike) -> String {
    let found = send(notion, "POST", "search", &json!({"query": "home"})).await;
    found.json()["results"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn lines(count: usize) -> Value {
    let line = |n| json!({"paragraph": {"rich_text": [{"text": {"content": format!("New {n}")}}]}});
    (0..count).map(line).collect()
}

fn code(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(
        (&body["object"], &body["status"]),
        (&json!("error"), &json!(answer.status))
    );
    (answer.status, body["code"].as_str().unwrap().to_owned())
}

fn text_of(block: &Value) -> &str {
    block["paragraph"]["rich_text"][0]["plain_text"]
        .as_str()
        .unwrap()
}

#[tokio::test]
async fn a_client_finds_a_page_and_reads_it_in_parts() {
    let notion = roomy().await;
    assert_eq!(get(&notion, "users/me").await["type"], "bot");
    let home = home(&notion).await;
    let page = get(&notion, &format!("pages/{home}")).await;
    assert_eq!(
        page["properties"]["title"]["title"][0]["plain_text"],
        "Home"
    );
    assert_eq!(page["archived"], false);
    let mut path = format!("blocks/{}/children?page_size=50", home.replace('-', ""));
    let mut seen = Vec::new();
    loop {
        let part = get(&notion, &path).await;
        let blocks = part["results"].as_array().unwrap().iter();
        seen.extend(blocks.map(|block| text_of(block).to_owned()));
        match part["next_cursor"].as_str() {
            Some(cursor) => path = format!("blocks/{home}/children?start_cursor={cursor}"),
            None => break assert_eq!(part["has_more"], false),
        }
    }
    let expected: Vec<String> = (1..=130).map(|n| format!("Line {n}")).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn pages_and_blocks_can_be_made_changed_and_deleted() {
    let notion = roomy().await;
    let parent = json!({"page_id": home(&notion).await});
    let title = json!({"title": [{"text": {"content": "Made"}}]});
    let new = json!({"parent": parent, "properties": {"title": title}, "children": lines(2)});
    let page = send(&notion, "POST", "pages", &new).await.json();
    let page = page["id"].as_str().unwrap().to_owned();
    let children = format!("blocks/{page}/children");

    let first = get(&notion, &children).await["results"][0]["id"].clone();
    let more = json!({"children": lines(1), "position": {"type": "after_block", "after_block": {"id": first}}});
    let added = send(&notion, "PATCH", &children, &more).await.json();
    assert_eq!(added["results"][0]["parent"]["page_id"], page.as_str());
    let texts = |list: &Value| -> Vec<String> {
        let blocks = list["results"].as_array().unwrap().iter();
        blocks.map(|block| text_of(block).to_owned()).collect()
    };
    let listed = get(&notion, &children).await;
    assert_eq!(texts(&listed), ["New 0", "New 0", "New 1"]);

    let block = format!("blocks/{}", first.as_str().unwrap());
    let change = json!({"paragraph": {"rich_text": [{"text": {"content": "Changed"}}]}});
    let changed = send(&notion, "PATCH", &block, &change).await;
    assert_eq!(text_of(&changed.json()), "Changed");
    let deleted = send(&notion, "DELETE", &block, &Value::Null).await.json();
    assert_eq!(
        (&deleted["in_trash"], &deleted["archived"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(texts(&get(&notion, &children).await), ["New 0", "New 1"]);
    let again = send(&notion, "PATCH", &block, &change).await;
    assert_eq!(code(&again), (400, "validation_error".to_owned()));

    let renamed = json!({"properties": {"title": [{"text": {"content": "Renamed"}}]}});
    let own = format!("pages/{page}");
    send(&notion, "PATCH", &own, &renamed).await;
    let shown = get(&notion, &format!("blocks/{page}")).await;
    assert_eq!(shown["child_page"]["title"], "Renamed");
    send(&notion, "PATCH", &own, &json!({"in_trash": true})).await;
    let found = send(&notion, "POST", "search", &json!({"query": "renamed"})).await;
    assert_eq!(found.json()["results"], json!([]));
}

#[tokio::test]
async fn what_notion_would_refuse_is_refused_in_its_shape() {
    let notion = roomy().await;
    let home = home(&notion).await;
    let children = format!("blocks/{home}/children");
    let missing = "01234567-89ab-4def-bedc-ba9876543210";
    let refused = |status: u16, code: &str| (status, code.to_owned());
    for (method, path, body, expected) in [
        (
            "GET",
            "pages/x",
            Value::Null,
            refused(400, "validation_error"),
        ),
        (
            "GET",
            &format!("blocks/{missing}"),
            Value::Null,
            refused(404, "object_not_found"),
        ),
        (
            "GET",
            "nothing",
            Value::Null,
            refused(400, "invalid_request_url"),
        ),
        (
            "GET",
            &format!("{children}?page_size=101"),
            Value::Null,
            refused(400, "validation_error"),
        ),
        (
            "GET",
            &format!("{children}?start_cursor={missing}"),
            Value::Null,
            refused(400, "validation_error"),
        ),
        (
            "PATCH",
            &children,
            json!({"children": lines(101)}),
            refused(400, "validation_error"),
        ),
        (
            "PATCH",
            &children,
            json!({"children": lines(1), "after": missing}),
            refused(404, "object_not_found"),
        ),
        ("POST", "pages", json!([]), refused(400, "invalid_json")),
        (
            "POST",
            "pages",
            json!({"parent": {}}),
            refused(400, "validation_error"),
        ),
        (
            "POST",
            "pages",
            json!({"x": "x".repeat(500 * 1024)}),
            refused(400, "validation_error"),
        ),
    ] {
        let answer = send(&notion, method, path, &body).await;
        assert_eq!(
            code(&answer),
            expected,
            "{method} {path}: {}",
            answer.text()
        );
        let id = answer.json()["request_id"].as_str().unwrap().to_owned();
        assert_eq!(answer.header("x-notion-request-id"), Some(id.as_str()));
    }
    let me = "/v1/users/me";
    let nobody = notion.send("GET", me, &[VERSION], "").await.unwrap();
    assert_eq!(code(&nobody), refused(401, "unauthorized"));
    let token = "Authorization: Bearer ntn_a";
    let unversioned = notion.send("GET", me, &[token], "").await.unwrap();
    assert_eq!(code(&unversioned), refused(400, "missing_version"));
    let old = [token, "Notion-Version: 1999-01-01"];
    let old = notion.send("GET", me, &old, "").await.unwrap();
    assert_eq!(code(&old), refused(400, "validation_error"));
    let newest = [token, "Notion-Version: 2026-03-11", JSON];
    let after = json!({"children": lines(1), "after": missing}).to_string();
    let path = format!("/v1/{children}");
    let after = notion.send("PATCH", &path, &newest, &after).await.unwrap();
    assert!(after.text().contains("body.after should be not present"));
    let page = notion
        .send("GET", &format!("/v1/pages/{home}"), &newest, "")
        .await;
    let page = page.unwrap().json();
    assert_eq!(
        (page.get("archived"), &page["in_trash"]),
        (None, &json!(false))
    );
}

#[tokio::test]
async fn the_fourth_call_in_a_second_is_told_when_to_come_back() {
    let notion = Lookalike::start(Settings {
        windows: Windows::Sliding,
        rejected: Rejected::Ignore,
        latency: Latency {
            min_ms: 0,
            max_ms: 0,
        },
        ..Settings::default()
    })
    .await;
    for _ in 0..3 {
        get(&notion, "users/me").await;
    }
    let refused = send(&notion, "GET", "users/me", &Value::Null).await;
    assert_eq!(code(&refused), (429, "rate_limited".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    let reason = &refused.json()["additional_data"]["rate_limit_reason"];
    assert_eq!(reason, "public_api_request_rate_limit");
    // Another connection has a budget of its own, and so has Graph.
    let other = ["Authorization: Bearer ntn_b", VERSION];
    let other = notion
        .send("GET", "/v1/users/me", &other, "")
        .await
        .unwrap();
    assert_eq!(other.status, 200);
    assert_eq!(notion.get("/v1.0/me/onenote/notebooks").await.status, 200);

    let stats = notion.simulator.stats();
    assert_eq!((stats.arrived, stats.rejected), (6, 1));
    let budgets = stats.budgets.iter();
    let connections: Vec<_> = budgets.filter(|b| b.upstream == Upstream::Notion).collect();
    assert_eq!(connections.len(), 2);
    let peak = connections.iter().map(|b| b.layers[0].peak).max();
    assert_eq!(peak, Some(4));
    let shown = stats
        .budgets
        .iter()
        .any(|budget| budget.key.contains("ntn_"));
    assert!(!shown, "a token shows in the score");
}

#[tokio::test]
async fn faults_speak_notions_dialect() {
    let notion = roomy().await;
    let order = r#"{"match":"/v1/users","count":1,"fault":{"status":529,"retry_after":"3"}}"#;
    assert_eq!(notion.inject(order).await.status, 201);
    let overloaded = send(&notion, "GET", "users/me", &Value::Null).await;
    assert_eq!(code(&overloaded), (529, "service_overload".to_owned()));
    assert_eq!(overloaded.header("retry-after"), Some("3"));
    assert_eq!(get(&notion, "users/me").await["object"], "user");
}
