//! What is recorded of lists' minutes, and what a policy would have done to it.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::floods::{at_second, event, in_a_minute, post, refused, report, with};
use crate::policies::ask;
use crate::support::{NOBODY, TestApp};

const POLICY: &str = "/api/v1/flood-policies/action";

async fn many(app: &TestApp, list: &str, times: usize) {
    report(app, &vec![event(list); times]).await;
}

async fn counts(app: &TestApp, list: &str) -> Value {
    let path = format!("/api/v1/sites/s1/lists/{list}/minutes");
    let reply = app.get(&path).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["components"].clone()
}

/// The minutes with events of a list's first component: how long ago, and how many.
fn minutes(counts: &Value) -> Vec<(usize, u64)> {
    let minutes = counts[0]["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 60);
    let minutes = minutes.iter().rev().map(|it| it.as_u64().unwrap());
    minutes.enumerate().filter(|it| it.1 > 0).collect()
}

#[tokio::test]
async fn a_lists_minutes_and_busiest_minutes_are_kept_over_restarts() {
    let app = in_a_minute().await;
    assert_eq!(counts(&app, "l1").await, json!([]));
    many(&app, "l1", 12).await;
    many(&app, "quiet", 3).await;
    report(&app, &[with(event("l1"), "component", "alert")]).await;
    let dir = app.stop().await;

    let app = at_second(dir, 65).await;
    many(&app, "l1", 5).await;
    let dir = app.stop().await;
    let app = at_second(dir, 130).await;
    let l1 = counts(&app, "l1").await;
    assert_eq!(minutes(&l1), [(1, 5), (2, 12)]);
    assert_eq!(
        (&l1[1]["component"], &l1[1]["peaks"][0]["count"]),
        (&json!("alert"), &json!(1))
    );
    let peak = &l1[0]["peaks"];
    assert_eq!(
        (
            &peak[0]["day"],
            &peak[0]["count"],
            peak.as_array().unwrap().len()
        ),
        (&json!("2100-03-01"), &json!(12), 1)
    );
    assert_eq!(minutes(&counts(&app, "quiet").await), [(2, 3)]);
    let dir = app.stop().await;

    // Beyond what late reports reach, the database remembers minutes of ten events or more.
    let app = at_second(dir, 40 * 60).await;
    assert_eq!(minutes(&counts(&app, "l1").await), [(40, 12)]);
    let quiet = counts(&app, "quiet").await;
    assert_eq!(
        (minutes(&quiet), &quiet[0]["peaks"][0]["count"]),
        (vec![], &json!(3))
    );
    let dir = app.stop().await;
    let app = at_second(dir, 31 * 86_400).await;
    assert_eq!(counts(&app, "l1").await, json!([]));
    app.stop().await;
}

#[tokio::test]
async fn a_policy_is_tried_on_what_was_recorded_and_changes_nothing() {
    let app = in_a_minute().await;
    let preview = format!("{POLICY}/preview");
    let trial = json!({ "policy": { "per_minute": 20, "strikes_per_day": 1, "grace": 0 } });
    let nothing = post(&app, &preview, &trial).await.json();
    assert_eq!((nothing.get("from"), &nothing["lists"]), (None, &json!(0)));
    assert_eq!(
        nothing["says"],
        "no event is recorded yet: nothing to try it on"
    );

    many(&app, "flood", 150).await;
    many(&app, "busy", 30).await;
    for n in 0..8 {
        many(&app, &format!("quiet {n}"), 1).await;
    }
    let alert = with(event("flood"), "component", "alert");
    report(&app, &vec![alert; 500]).await;
    let reply = post(&app, &preview, &trial).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let told = reply.json();
    assert_eq!(
        told["peaks"],
        json!({ "p50": 1, "p90": 30, "p95": 150, "p99": 150, "p999": 150, "max": 150 })
    );
    assert_eq!(
        (&told["complete_from"], told.get("left_out_at")),
        (&json!(10), None)
    );
    assert_eq!(told["per_minute"], json!({ "now": 100, "then": 20 }));
    let outcome = |struck, disabled, strikes, stopped| json!({ "lists_struck": struck, "lists_disabled": disabled, "strikes": strikes, "events_stopped": stopped });
    assert_eq!(told["now"], outcome(1, 0, 1, 0));
    assert_eq!(told["then"], outcome(2, 2, 2, 140));
    let lists = told["differing"].as_array().unwrap();
    let lists = lists
        .iter()
        .map(|it| (it["list"].as_str().unwrap(), it["peak"].as_u64().unwrap()));
    assert_eq!(lists.collect::<Vec<_>>(), [("flood", 150), ("busy", 30)]);
    assert_eq!(told["differing"][0]["then"]["events_stopped"], 130);
    assert!(told["differing"][0]["then"]["disabled_at"].is_string());
    assert_eq!(
        told["says"],
        "of 10 lists it would have struck 2 (now 1), stopped 140 events (now 0) and disabled 2 lists (now 0)"
    );

    // A list's own policy is its own.
    let own = json!({ "site": "s1", "list": "flood", "per_minute": 500, "strikes_per_day": 1, "grace": 0 });
    let trial =
        json!({ "policy": { "per_minute": 40, "strikes_per_day": 1, "grace": 0, "lists": [own] } });
    let told = post(&app, &preview, &trial).await.json();
    assert_eq!(told["then"], outcome(0, 0, 0, 0));
    let impossible = json!({ "policy": { "per_minute": 0, "strikes_per_day": 1, "grace": 0 } });
    let refusal = post(&app, &preview, &impossible).await;
    assert_eq!(refused(&refusal), (422, "bad_policy".into()));
    assert_eq!(app.get(POLICY).await.json()["version"], 1);
    app.stop().await;
}

#[tokio::test]
async fn an_old_flood_policy_is_put_in_force_again() {
    let app = TestApp::start(NOBODY).await;
    let back = format!("{POLICY}/rollback");
    let policy = json!({ "per_minute": 2, "strikes_per_day": 20, "grace": 0 });
    let wish = json!({ "policy": policy, "reason": "a test" });
    ask(&app, Method::PUT, POLICY, "\"1\"", &wish).await;
    let to = |version: i64| json!({ "version": version, "reason": "too strict" });
    let unnamed = ask(&app, Method::POST, &back, "", &to(1)).await;
    assert_eq!(refused(&unnamed), (428, "precondition_required".into()));
    let late = ask(&app, Method::POST, &back, "\"1\"", &to(1)).await;
    assert_eq!(refused(&late), (412, "version_conflict".into()));
    for version in [0, 3, -1, i64::MAX] {
        let none = ask(&app, Method::POST, &back, "\"2\"", &to(version)).await;
        assert_eq!(refused(&none), (404, "unknown_version".into()), "{version}");
    }
    let done = ask(&app, Method::POST, &back, "\"2\"", &to(1)).await;
    assert_eq!(
        (done.status, done.header("etag")),
        (StatusCode::OK, "\"3\""),
        "{}",
        done.text()
    );
    assert_eq!(done.json()["policy"]["per_minute"], 100);
    let told = report(&app, &vec![event("l1"); 3]).await;
    assert_eq!(told[2], "handle 3 0");
    let audit = app.get("/api/v1/audit?action=policy.rollback").await.json();
    assert_eq!(audit["entries"][0]["reason"], "too strict");
    app.stop().await;
}
