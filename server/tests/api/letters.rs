//! What a site's admins are told, as the API shows it.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    policies::ask,
    support::{NOBODY, TestApp},
};

const LIST: &str = "/api/v1/sites/s1/lists/l1";

/// A server whose lists are disabled by the second event of a minute.
async fn strict() -> TestApp {
    let app = TestApp::start(NOBODY).await;
    let path = "/api/v1/flood-policies/action";
    let base = app.get(path).await.header("etag").to_owned();
    let policy = json!({ "per_minute": 2, "strikes_per_day": 1, "grace": 0 });
    let wish = json!({ "policy": policy, "reason": "a test" });
    let changed = ask(&app, Method::PUT, path, &base, &wish).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
    app
}

async fn flood(app: &TestApp, site: &str) {
    let event = json!({ "site": site, "list": "l1", "component": "action", "trigger": "event" });
    let two = ask(
        app,
        Method::POST,
        "/api/v1/events",
        "",
        &json!([event, event]),
    )
    .await;
    assert_eq!(two.json()[1]["strikes"], 1, "{}", two.text());
}

/// The letters about the list, once none of them waits any more.
async fn settled(app: &TestApp) -> Vec<Value> {
    for _ in 0..1_000 {
        let letters = app.get(LIST).await.json()["letters"].clone();
        let letters = letters.as_array().unwrap();
        if letters.iter().all(|it| it["settled_at"].is_string()) {
            return letters.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the letters wait for ever");
}

#[tokio::test]
async fn what_each_admin_was_told_is_shown_with_what_became_of_it_and_without_the_link() {
    let app = strict().await;
    let site = json!({
        "title": "Orders", "admins": ["ann@example.org", "bob@example.org"],
        "time_zone": "Europe/Berlin"
    });
    ask(&app, Method::PUT, "/api/v1/sites/s1", "", &site).await;
    flood(&app, "s1").await;
    let letters = settled(&app).await;
    let to: Vec<_> = letters
        .iter()
        .map(|it| it["to"].as_str().unwrap())
        .collect();
    assert_eq!(to, ["bob@example.org", "ann@example.org"]);
    for letter in &letters {
        assert_eq!(letter["component"], "action");
        assert_eq!(
            letter["subject"],
            "[Spillway] Orders: action is disabled on l1"
        );
        let text = letter["text"].as_str().unwrap();
        assert!(
            text.contains("2/1/0: a minute with 2 events is a strike"),
            "{text}"
        );
        assert!(
            text.contains("(a link that only the reader gets)"),
            "{text}"
        );
        assert!(!text.contains("key="), "{text}");
        // This server was given no mail server.
        assert_eq!(letter["state"], "failed");
        assert_eq!(letter["error"], "no mail server is configured");
        assert_eq!(letter["attempts"], 1);
        assert!(letter.get("next_at").is_none());
    }
    // Nor is a link anywhere in the database.
    let store = app.store().await;
    let messages = store.messages(10).await.unwrap();
    assert!(messages.iter().all(|it| !it.body.contains("key=")));
    assert!(
        messages
            .iter()
            .all(|it| !it.html.as_deref().unwrap().contains("key="))
    );
    store.close().await;
    app.stop().await;
}

#[tokio::test]
async fn nobody_is_told_of_a_site_that_nobody_told_of() {
    let app = strict().await;
    flood(&app, "s1").await;
    let list = app.get(LIST).await.json();
    assert_eq!(list["components"][0]["state"], "disabled", "{list}");
    assert_eq!(list["letters"], json!([]));
    app.stop().await;
}
