//! What is written is there afterwards, and only what Graph takes is written.

use serde_json::{Value, json};

use crate::support::{Answer, Lookalike};

const HTML: &str = "Content-Type: text/html";
const JSON: &str = "Content-Type: application/json";

async fn send(graph: &Lookalike, method: &str, path: &str, kind: &str, body: &str) -> Answer {
    let headers = ["x-sim-user: u1", kind];
    graph.send(method, path, &headers, body).await.unwrap()
}

async fn get(graph: &Lookalike, path: &str) -> Answer {
    send(graph, "GET", path, "Accept: */*", "").await
}

async fn section(graph: &Lookalike) -> String {
    let notebook = r#"{"displayName":"Mine"}"#;
    let made = send(graph, "POST", "/v1.0/me/onenote/notebooks", JSON, notebook).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1.0/me/onenote/notebooks/{id}/sections");
    let made = send(graph, "POST", &path, JSON, r#"{"displayName":"New"}"#).await;
    let section = made.json();
    assert_eq!((made.status, &section["displayName"]), (201, &json!("New")));
    assert_eq!(section["parentNotebook"]["id"], id.as_str());
    section["id"].as_str().unwrap().to_owned()
}

fn titles(list: &Value) -> Vec<&str> {
    let pages = list["value"].as_array().unwrap().iter();
    pages.map(|page| page["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_page_can_be_made_changed_listed_and_deleted() {
    let graph = Lookalike::quick().await;
    let pages = format!("/v1.0/me/onenote/sections/{}/pages", section(&graph).await);
    for title in ["One", "Two"] {
        let html = format!(
            "<html><head><title>{title}</title></head><body><p>Text of {title}</p></body></html>"
        );
        let made = send(&graph, "POST", &pages, HTML, &html).await;
        let page = made.json();
        assert_eq!((made.status, &page["title"]), (201, &json!(title)));
        assert_eq!(made.header("location"), page["self"].as_str());
    }
    let listed = get(&graph, &pages).await.json();
    assert_eq!(titles(&listed), ["Two", "One"]);

    let page = listed["value"][1]["id"].as_str().unwrap();
    let content = format!("/v1.0/me/onenote/pages/{page}/content");
    let changes = r#"[{"target":"body","action":"append","content":"<p>last</p>"},
        {"target":"body","action":"prepend","content":"<p>first</p>"},
        {"target":"title","action":"replace","content":"Uno"}]"#;
    let changed = send(&graph, "PATCH", &content, JSON, changes).await;
    assert_eq!((changed.status, changed.body.len()), (204, 0));
    let html = get(&graph, &content).await;
    let at = |text: &str| html.text().find(text).unwrap();
    assert!(at("<title>Uno") < at("<p>first") && at("<p>first") < at("<p>Text of One"));
    assert!(at("<p>Text of One") < at("<p>last"));

    let own = format!("/v1.0/me/onenote/pages/{page}");
    assert_eq!(send(&graph, "DELETE", &own, HTML, "").await.status, 204);
    assert_eq!(get(&graph, &content).await.status, 404);
    assert_eq!(titles(&get(&graph, &pages).await.json()), ["Two"]);
    // Each of these calls was one of OneNote's; another user sees nothing of it.
    assert_eq!(graph.simulator.stats().budgets[1].layers[0].peak, 10);
    let of_another = graph.get_as("u2", &own).await;
    assert_eq!(of_another.status, 404);
}

#[tokio::test]
async fn an_invented_page_can_be_changed_too() {
    let graph = Lookalike::quick().await;
    let page = get(&graph, "/v1.0/me/onenote/pages?$top=1").await.json()["value"][0].clone();
    let content = format!(
        "/v1.0/me/onenote/pages/{}/content",
        page["id"].as_str().unwrap()
    );
    let before = get(&graph, &content).await;
    let change = r#"[{"target":"body","action":"append","content":"<p>more</p>"}]"#;
    assert_eq!(
        send(&graph, "PATCH", &content, JSON, change).await.status,
        204
    );
    let after = get(&graph, &content).await;
    assert_eq!(
        after.text().replace("\t\t\t<p>more</p>\n", ""),
        before.text()
    );
}

#[tokio::test]
async fn what_graph_would_refuse_is_refused() {
    let graph = Lookalike::quick().await;
    let section = section(&graph).await;
    let pages = format!("/v1.0/me/onenote/sections/{section}/pages");
    let notebooks = "/v1.0/me/onenote/notebooks";
    let long = format!(r#"{{"displayName":"{}"}}"#, "x".repeat(129));
    let large = "x".repeat(4 * 1024 * 1024 + 1);
    for (path, kind, body, status, code) in [
        (pages.as_str(), JSON, "{}", 415, "20131"),
        (
            "/v1.0/me/onenote/sections/1-x/pages",
            HTML,
            "<p>",
            404,
            "20102",
        ),
        (notebooks, HTML, "{}", 415, "20131"),
        (notebooks, JSON, "{", 400, "20126"),
        (notebooks, JSON, r#"{"displayName":"a/b"}"#, 400, "20153"),
        (notebooks, JSON, r#"{"displayName":""}"#, 400, "20152"),
        (notebooks, JSON, &long, 400, "20155"),
        (notebooks, JSON, r#"{"displayName":"mine"}"#, 409, "20117"),
        (pages.as_str(), HTML, &large, 413, "20008"),
    ] {
        let answer = send(&graph, "POST", path, kind, body).await;
        let got = (answer.status, answer.code());
        assert_eq!(got, (status, code.to_owned()), "{path} {}", body.len());
    }
    let made = send(&graph, "POST", &pages, HTML, "<p>x</p>").await.json();
    let content = format!(
        "/v1.0/me/onenote/pages/{}/content",
        made["id"].as_str().unwrap()
    );
    for (body, code) in [
        ("[]", "20125"),
        (
            r##"[{"target":"#p","action":"replace","content":""}]"##,
            "20133",
        ),
    ] {
        let answer = send(&graph, "PATCH", &content, JSON, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code));
    }
}
