//! Limits that are changed at the boundary: who was first, what was wrong, and what came before.

use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::lists::{SMALL, post, want};
use crate::support::{Reply, TestApp, send};

const PAGES: &str = "/api/v1/policies/graph/pages";
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e} = \"quoted\" é";

/// `SMALL`'s limits, with another one for a user.
pub fn policy(user_limit: i64) -> Value {
    json!({ "background_share_permille": 500, "layers": [
        { "scope": "user", "dimension": "rate", "window_ms": 60_000, "limit": user_limit },
        { "scope": "app", "dimension": "concurrency", "limit": 4 },
    ] })
}

pub async fn ask(app: &TestApp, method: Method, path: &str, base: &str, body: &Value) -> Reply {
    let request = Request::builder().method(method).uri(path);
    let mut request = request.header(header::CONTENT_TYPE, "application/json");
    if !base.is_empty() {
        request = request.header(header::IF_MATCH, base);
    }
    let request = request.body(body.to_string().into()).unwrap();
    send(app.dashboard, request).await
}

pub async fn put(app: &TestApp, base: &str, policy: Value, reason: &str) -> Reply {
    let wish = json!({ "policy": policy, "reason": reason });
    ask(app, Method::PUT, PAGES, base, &wish).await
}

fn refused(reply: &Reply) -> (u16, String) {
    let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
    (reply.status.as_u16(), code)
}

#[tokio::test]
async fn a_change_names_the_version_it_follows_and_who_is_late_sees_both() {
    let app = TestApp::start(SMALL).await;
    let seeded = app.get(PAGES).await;
    assert_eq!(
        (
            seeded.status,
            seeded.header("etag"),
            seeded.header("cache-control")
        ),
        (StatusCode::OK, "\"1\"", "no-store")
    );
    let shown = seeded.json();
    assert_eq!(
        (&shown["policy"], &shown["version"]),
        (&policy(3), &json!(1))
    );
    assert_eq!(
        (&shown["in_force"], &shown["editable"]),
        (&json!(true), &json!(true))
    );

    for (base, expected) in [
        ("", (428, "precondition_required".to_owned())),
        ("*", (400, "bad_header".to_owned())),
        ("1", (400, "bad_header".to_owned())),
        ("\"2\"", (412, "version_conflict".to_owned())),
    ] {
        assert_eq!(
            refused(&put(&app, base, policy(5), "r").await),
            expected,
            "{base}"
        );
    }
    let first = put(&app, "\"1\"", policy(5), HOSTILE).await;
    assert_eq!(
        (first.status, first.header("etag")),
        (StatusCode::OK, "\"2\"")
    );
    let first = first.json();
    assert_eq!(
        (&first["policy"], &first["reason"]),
        (&policy(5), &json!(HOSTILE))
    );
    assert_eq!(first["in_force"], true);

    let late = put(&app, "\"1\"", policy(7), "r").await;
    assert_eq!(refused(&late), (412, "version_conflict".to_owned()));
    let late = late.json();
    assert_eq!(
        (&late["base"]["version"], &late["base"]["policy"]),
        (&json!(1), &policy(3))
    );
    assert_eq!(
        (&late["current"]["version"], &late["current"]["policy"]),
        (&json!(2), &policy(5))
    );
    assert_eq!(late["current"]["reason"], HOSTILE);

    // What holds already makes no version.
    let same = put(&app, "\"2\"", policy(5), "r").await;
    assert_eq!(
        (same.status, same.header("etag")),
        (StatusCode::OK, "\"2\"")
    );
    app.stop().await;
}

#[tokio::test]
async fn the_history_survives_and_an_old_version_comes_back_as_a_new_one() {
    let app = TestApp::start(SMALL).await;
    for (base, limit) in [("\"1\"", 5), ("\"2\"", 6), ("\"3\"", 7)] {
        let changed = put(&app, base, policy(limit), "why").await;
        assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    }
    let rollback = format!("{PAGES}/rollback");
    let back = |version| json!({ "version": version, "reason": "too many refusals" });
    let none = ask(&app, Method::POST, &rollback, "\"4\"", &back(9)).await;
    assert_eq!(refused(&none), (404, "unknown_version".to_owned()));
    let late = ask(&app, Method::POST, &rollback, "\"3\"", &back(2)).await;
    assert_eq!(refused(&late), (412, "version_conflict".to_owned()));
    let done = ask(&app, Method::POST, &rollback, "\"4\"", &back(2)).await;
    assert_eq!(
        (done.status, &done.json()["policy"]),
        (StatusCode::OK, &policy(5))
    );

    let app = TestApp::start_in(app.stop().await, SMALL).await;
    let shown = app.get(PAGES).await.json();
    assert_eq!(
        (&shown["version"], &shown["policy"], &shown["in_force"]),
        (&json!(5), &policy(5), &json!(true))
    );
    let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = app.get(&format!("{PAGES}/versions{query}")).await.json();
        for version in page["versions"].as_array().unwrap() {
            let limit = &version["policy"]["layers"][0]["limit"];
            seen.push((
                version["version"].as_i64().unwrap(),
                limit.as_i64().unwrap(),
            ));
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, [(5, 5), (4, 7), (3, 6), (2, 5), (1, 3)]);
    let audit = app
        .get("/api/v1/audit?subject=policy:graph/pages")
        .await
        .json();
    let newest = &audit["entries"][0];
    assert_eq!(
        (&newest["action"], &newest["reason"]),
        (&json!("policy.rollback"), &json!("too many refusals"))
    );
    assert_eq!(
        (&newest["before"]["policy"], &newest["after"]["policy"]),
        (&policy(7), &policy(5))
    );
    assert_eq!(
        audit["entries"].as_array().unwrap().len(),
        5,
        "what was refused left nothing"
    );
    for query in ["?limit=0", "?limit=101", "?cursor=x", "?more=1"] {
        let bad = app.get(&format!("{PAGES}/versions{query}")).await;
        assert_eq!(refused(&bad), (400, "bad_query".to_owned()), "{query}");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_field_by_field_and_changes_nothing() {
    let app = TestApp::start(SMALL).await;
    let wrong = json!({ "background_share_permille": 1001, "layers": [
        { "scope": "user", "dimension": "rate", "limit": 3 },
        { "scope": "app", "dimension": "concurrency", "limit": 0 },
    ] });
    let reply = put(&app, "\"1\"", wrong, "r").await;
    assert_eq!(refused(&reply), (422, "bad_policy".to_owned()));
    let errors = reply.json()["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = errors
        .iter()
        .map(|it| it["field"].as_str().unwrap())
        .collect();
    let expected = [
        "policy.background_share_permille",
        "policy.layers[0].window_ms",
        "policy.layers[1].limit",
    ];
    assert_eq!(fields, expected);
    assert!(
        errors[2]["detail"]
            .as_str()
            .unwrap()
            .contains("pause the lane instead")
    );

    let mut unknown = policy(5);
    unknown["layers"][0]["burst"] = 9.into();
    for (body, says) in [
        (
            json!({ "policy": unknown, "reason": "r" }),
            "policy.layers[0]",
        ),
        (json!({ "policy": policy(5) }), "reason"),
        (
            json!({ "policy": policy(5), "reason": " " }),
            "reason must be",
        ),
        (
            json!({ "policy": policy(5), "reason": "a\nb" }),
            "reason must be",
        ),
        (
            json!({ "policy": policy(5), "reason": "x".repeat(501) }),
            "reason must be",
        ),
        (
            json!({ "policy": policy(5), "reason": "r", "force": true }),
            "force",
        ),
    ] {
        let reply = ask(&app, Method::PUT, PAGES, "\"1\"", &body).await;
        assert_eq!(refused(&reply), (422, "bad_field".to_owned()), "{body}");
        assert!(
            reply.json()["detail"].as_str().unwrap().contains(says),
            "{reply:?}"
        );
    }
    for (path, code) in [
        ("none/pages", "unknown_upstream"),
        ("graph/none", "unknown_workload"),
    ] {
        let reply = app.get(&format!("/api/v1/policies/{path}")).await;
        assert_eq!(refused(&reply), (404, code.to_owned()));
    }
    assert_eq!(app.get(PAGES).await.header("etag"), "\"1\"");
    app.stop().await;
}

#[tokio::test]
async fn where_the_file_rules_limits_are_read_alone_and_a_start_takes_the_file_s() {
    let files = "policy_source = 'file'\n";
    let app = TestApp::start_with(tempfile::tempdir().unwrap(), files, SMALL).await;
    assert_eq!(app.get(PAGES).await.json()["editable"], false);
    let reply = put(&app, "\"1\"", policy(5), "r").await;
    assert_eq!(refused(&reply), (409, "policy_source_file".to_owned()));
    let back = json!({ "version": 1, "reason": "r" });
    let reply = ask(
        &app,
        Method::POST,
        &format!("{PAGES}/rollback"),
        "\"1\"",
        &back,
    )
    .await;
    assert_eq!(refused(&reply), (409, "policy_source_file".to_owned()));

    let dir = app.stop().await;
    let changed = SMALL.replace("limit = 3", "limit = 1");
    let app = TestApp::start_with(dir, files, &changed).await;
    let shown = app.get(PAGES).await.json();
    assert_eq!(
        (&shown["version"], &shown["policy"]),
        (&json!(2), &policy(1))
    );
    let taken = post(&app, "/api/v1/permits", &[], &want("ann").to_string()).await;
    assert_eq!(taken.status, StatusCode::OK);
    let taken = post(&app, "/api/v1/permits", &[], &want("ann").to_string()).await;
    assert_eq!(taken.status, StatusCode::TOO_MANY_REQUESTS);

    // Back to the database's rule: it has the history, and the file says nothing any more.
    let app = TestApp::start_in(app.stop().await, SMALL).await;
    let shown = app.get(PAGES).await.json();
    assert_eq!(
        (&shown["version"], &shown["editable"]),
        (&json!(2), &json!(true))
    );
    app.stop().await;
}

#[tokio::test]
async fn a_preview_tries_limits_on_what_called_and_changes_nothing() {
    let app = TestApp::start(SMALL).await;
    let path = format!("{PAGES}/preview");
    let try_out = |limit| json!({ "policy": policy(limit) });
    let nothing = ask(&app, Method::POST, &path, "", &try_out(1)).await.json();
    assert_eq!(
        nothing["says"],
        "nothing called in the last quarter of an hour"
    );
    // Ann asks five times for her three, ben once.
    for user in ["ann", "ann", "ann", "ann", "ann", "ben"] {
        let taken = post(&app, "/api/v1/permits", &[], &want(user).to_string()).await;
        if let Some(id) = taken.json()["id"].as_str() {
            let path = format!("/api/v1/permits/{id}/complete");
            post(&app, &path, &[], r#"{"status":200,"headers":{}}"#).await;
        }
    }
    for (limit, refused) in [(3, 2), (1, 4), (5, 0)] {
        let tried = ask(&app, Method::POST, &path, "", &try_out(limit)).await;
        assert_eq!(tried.status, StatusCode::OK, "{tried:?}");
        let tried = tried.json();
        let of = |which: &str| tried[which]["foreground"]["refused"].as_u64().unwrap();
        assert_eq!(
            (of("really"), of("current"), of("changed")),
            (2, 2, refused),
            "{tried}"
        );
        let said = format!("would have refused {refused} of 6 calls (now 2): foreground");
        assert!(
            tried["says"].as_str().unwrap().starts_with(&said),
            "{tried}"
        );
        let text = tried.to_string();
        assert!(!text.contains("ann") && !text.contains("house"), "{text}");
    }
    let wrong = ask(&app, Method::POST, &path, "", &try_out(0)).await;
    assert_eq!(refused(&wrong), (422, "bad_policy".to_owned()));
    assert_eq!(app.get(PAGES).await.header("etag"), "\"1\"");
    app.stop().await;
}
