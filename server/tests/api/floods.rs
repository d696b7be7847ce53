//! The flood guard at its boundary.

use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::access::{Role, Scope};

use crate::policies::ask;
use crate::support::{NOBODY, Reply, TestApp, rights, send};

pub const EVENTS: &str = "/api/v1/events";
const LIST: &str = "/api/v1/sites/s1/lists/l1";

pub fn event(list: &str) -> Value {
    json!({ "site": "s1", "list": list, "component": "action", "trigger": "event" })
}

pub fn with(mut event: Value, name: &str, value: impl Into<Value>) -> Value {
    event[name] = value.into();
    event
}

pub async fn post(app: &TestApp, path: &str, body: &Value) -> Reply {
    ask(app, Method::POST, path, "", body).await
}

/// Reports events; the answers as `handle 1 0`, problems by their code.
pub async fn report(app: &TestApp, events: &[Value]) -> Vec<String> {
    let reply = post(app, EVENTS, &json!(events)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json().as_array().unwrap().iter().map(told).collect()
}

fn told(answer: &Value) -> String {
    match answer["code"].as_str() {
        Some(code) => code.to_owned(),
        None => format!(
            "{} {} {}",
            answer["decision"].as_str().unwrap(),
            answer["count"],
            answer["strikes"]
        ),
    }
}

pub fn refused(reply: &Reply) -> (u16, String) {
    let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
    (reply.status.as_u16(), code)
}

/// All lists get this policy.
pub async fn policy(app: &TestApp, per_minute: u32, strikes_per_day: u32, grace: u32) {
    let path = "/api/v1/flood-policies/action";
    let base = app.get(path).await.header("etag").to_owned();
    let wish = json!({
        "policy": { "per_minute": per_minute, "strikes_per_day": strikes_per_day, "grace": grace },
        "reason": "a test",
    });
    let changed = ask(app, Method::PUT, path, &base, &wish).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
}

/// That instant, but for how the engine's clock and the wall's round.
fn assert_at(shown: &Value, expected: jiff::Timestamp) {
    let shown: jiff::Timestamp = shown.as_str().unwrap().parse().unwrap();
    let apart_ms = shown.duration_since(expected).as_millis();
    assert!(apart_ms.abs() <= 5, "{shown} {expected}");
}

/// A server whose clock begins so many seconds into a minute to come, so that all that a test does
/// is within that minute.
pub async fn at_second(dir: tempfile::TempDir, second: i64) -> TestApp {
    let minute: jiff::Timestamp = "2100-03-01T12:00:00Z".parse().unwrap();
    TestApp::start_at(
        dir,
        NOBODY,
        minute + jiff::SignedDuration::from_secs(second),
    )
    .await
}

pub async fn in_a_minute() -> TestApp {
    at_second(tempfile::tempdir().unwrap(), 0).await
}

#[tokio::test]
async fn events_are_answered_one_by_one_in_lists_and_as_lines() {
    let app = in_a_minute().await;
    policy(&app, 4, 20, 0).await;
    let one = post(&app, EVENTS, &event("l1")).await;
    assert_eq!(
        (one.status, told(&one.json())),
        (StatusCode::OK, "handle 1 0".into())
    );
    assert_eq!(one.header("cache-control"), "no-store");

    let list = [
        event("l1"),
        with(event("l1"), "trigger", "manual"),
        with(event("l1"), "trigger", "sometimes"),
        with(event("l1"), "more", 1),
        json!(7),
        with(event("l1"), "at", "yesterday"),
        with(event("l1"), "at", "2020-01-01T00:00:00Z"),
        with(event("l1"), "at", "2120-01-01T00:00:00Z"),
        with(event("l1"), "site", ""),
        with(event("l1"), "list", "a\u{0}b"),
        with(event("l1"), "id", ""),
        event("l1"),
        event("l1"),
        event("l1"),
        event("another"),
    ];
    let bad = "bad_field";
    assert_eq!(
        report(&app, &list).await,
        [
            "handle 2 0",
            "handle 2 0",
            bad,
            bad,
            bad,
            bad,
            "too_late",
            bad,
            bad,
            bad,
            bad,
            "handle 3 0",
            "handle 4 1",
            "stop 5 1",
            "handle 1 0",
        ]
    );
    assert_eq!(report(&app, &[]).await, Vec::<String>::new());
    // Members in their order are no object, and a bracket in a name is but a bracket.
    let members = json!(["s1", "l1", "action", "event", null, null]);
    assert_eq!(report(&app, &[members]).await, [bad]);
    let odd = [event("[odd]"), event("\u{e9}\"\\ \u{1f600}")];
    assert_eq!(report(&app, &odd).await, ["handle 1 0"; 2]);

    let lines = format!("{}\n\nnonsense\n{}", event("l1"), event("another"));
    let request = Request::post(EVENTS)
        .header(header::CONTENT_TYPE, "application/x-ndjson")
        .body(lines.into())
        .unwrap();
    let reply = send(app.dashboard, request).await;
    assert_eq!(reply.header("content-type"), "application/x-ndjson");
    let answers: Vec<_> = reply
        .text()
        .lines()
        .map(|line| told(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(answers, ["stop 6 1", "bad_json", "handle 2 0"]);

    let many = vec![event("l1"); 1_001];
    let refusal = post(&app, EVENTS, &json!(many)).await;
    assert_eq!(refused(&refusal), (422, "too_many_items".into()));
    app.stop().await;
}

#[tokio::test]
async fn an_event_that_is_reported_again_is_not_counted_again() {
    let app = in_a_minute().await;
    let mine = with(event("l1"), "id", "7f9f");
    let events = [mine.clone(), mine.clone(), event("l1"), mine.clone()];
    let answers = report(&app, &events).await;
    assert_eq!(
        answers,
        ["handle 1 0", "handle 1 0", "handle 2 0", "handle 1 0"]
    );
    // Of another list or component it is another event.
    let others = [
        with(mine.clone(), "list", "l2"),
        with(mine, "component", "alert"),
    ];
    assert_eq!(report(&app, &others).await, ["handle 1 0", "handle 1 0"]);
    app.stop().await;
}

#[tokio::test]
async fn a_flooding_list_is_disabled_until_a_person_enables_it() {
    let app = in_a_minute().await;
    policy(&app, 3, 1, 0).await;
    let flood = vec![event("l1"); 4];
    let answers = report(&app, &flood).await;
    assert_eq!(
        answers,
        ["handle 1 0", "handle 2 0", "handle 3 1", "disabled 3 1"]
    );
    let list = app.get(LIST).await.json();
    let component = &list["components"][0];
    assert_eq!(
        (
            &component["state"],
            &component["strikes"],
            &component["per_minute"]
        ),
        (&json!("disabled"), &json!(1), &json!(3))
    );
    assert!(component["disabled_since"].is_string());
    assert_eq!(
        (&list["history"][0]["kind"], &list["history"][0]["disables"]),
        (&json!("strike"), &json!(true))
    );

    let wish = json!({ "component": "action", "reason": "rule mended" });
    let enabled = post(&app, &format!("{LIST}/enable"), &wish).await;
    assert_eq!(enabled.status, StatusCode::NO_CONTENT, "{}", enabled.text());
    let again = post(&app, &format!("{LIST}/enable"), &wish).await;
    assert_eq!(refused(&again), (409, "not_disabled".into()));
    // Reached again the same day, it is disabled at once.
    let answers = report(&app, &flood).await;
    assert_eq!(
        answers,
        ["handle 1 1", "handle 2 1", "handle 3 2", "disabled 3 2"]
    );

    let audit = app.get("/api/v1/audit?action=flood.").await.json();
    let actions: Vec<_> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["action"].clone())
        .collect();
    assert_eq!(actions, ["flood.disable", "flood.enable", "flood.disable"]);
    assert_eq!(audit["entries"][1]["reason"], "rule mended");
    assert_eq!(audit["entries"][1]["subject"], "list:s1/l1");
    app.stop().await;
}

#[tokio::test]
async fn paused_lists_and_sites_are_neither_handled_nor_counted() {
    let app = in_a_minute().await;
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let wish = json!({ "until": format!("{until:.3}"), "reason": "bulk import" });
    let paused = post(&app, &format!("{LIST}/pause"), &wish).await;
    assert_eq!(paused.status, StatusCode::OK, "{}", paused.text());
    assert_at(&paused.json()["until"], until);
    let manual = with(event("l1"), "trigger", "timer");
    let events = [event("l1"), manual, event("l2")];
    assert_eq!(
        report(&app, &events).await,
        ["paused 0 0", "handle 0 0", "handle 1 0"]
    );

    post(&app, "/api/v1/sites/s1/pause", &wish).await;
    assert_eq!(report(&app, &[event("l2")]).await, ["paused 1 0"]);
    let list = app.get(LIST).await.json();
    assert_at(&list["paused_until"], until);
    assert_at(&list["site_paused_until"], until);

    // A restart ends no pause.
    let dir = app.stop().await;
    let app = at_second(dir, 12).await;
    assert_eq!(report(&app, &events).await[0], "paused 0 0");
    let resumed = post(&app, "/api/v1/sites/s1/resume", &json!({})).await;
    assert_eq!(resumed.status, StatusCode::NO_CONTENT);
    let again = post(&app, "/api/v1/sites/s1/resume", &json!({})).await;
    assert_eq!(refused(&again), (409, "not_paused".into()));
    assert_eq!(report(&app, &[event("l1")]).await, ["paused 0 0"]);
    post(
        &app,
        &format!("{LIST}/resume"),
        &json!({ "reason": "done" }),
    )
    .await;
    assert_eq!(report(&app, &[event("l1")]).await, ["handle 1 0"]);

    for until in ["", "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"] {
        let wish = json!({ "until": until, "reason": "r" });
        let refusal = post(&app, &format!("{LIST}/pause"), &wish).await;
        assert_eq!(refused(&refusal), (422, "bad_field".into()), "{until}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_restart_keeps_counts_strikes_and_what_is_disabled() {
    let app = in_a_minute().await;
    policy(&app, 3, 2, 0).await;
    report(&app, &[event("counted"), event("counted")]).await;
    report(&app, &vec![event("struck"); 4]).await;
    let alert = with(event("l1"), "component", "alert");
    report(&app, std::slice::from_ref(&alert)).await;
    let dir = app.stop().await;

    let app = at_second(dir, 12).await;
    let events = [event("counted"), event("struck"), alert];
    assert_eq!(
        report(&app, &events).await,
        ["handle 3 1", "stop 5 1", "handle 2 0"]
    );
    let dir = app.stop().await;

    let app = at_second(dir, 24).await;
    policy(&app, 3, 1, 0).await;
    assert_eq!(report(&app, &vec![event("l1"); 4]).await[3], "disabled 3 1");
    let dir = app.stop().await;
    let app = at_second(dir, 36).await;
    assert_eq!(report(&app, &[event("l1")]).await, ["disabled 3 1"]);
    app.stop().await;
}

#[tokio::test]
async fn sites_are_told_of_whole_and_what_is_wrong_is_named() {
    let app = TestApp::start(NOBODY).await;
    let path = "/api/v1/sites/s1";
    assert_eq!(refused(&app.get(path).await), (404, "unknown_site".into()));
    let site = json!({
        "title": "</script><img src=x onerror=alert(1)>", "url": "https://example.org/",
        "admins": ["a@example.org"], "time_zone": "Europe/Berlin", "region": "eu"
    });
    let put = ask(&app, Method::PUT, path, "", &site).await;
    assert_eq!((put.status, put.json()), (StatusCode::OK, site.clone()));
    assert_eq!(app.get(path).await.json(), site);
    for (name, value, says) in [
        ("time_zone", json!("Berlin"), "time_zone must be"),
        (
            "admins",
            json!(["a@example.org\r\nBcc: x@example.org"]),
            "admins[0]",
        ),
        ("url", json!("javascript:alert(1)"), "url must be"),
        ("title", json!("a\nb"), "title must be"),
    ] {
        let reply = ask(
            &app,
            Method::PUT,
            path,
            "",
            &with(site.clone(), name, value),
        )
        .await;
        assert_eq!(refused(&reply), (422, "bad_field".into()), "{name}");
        assert!(
            reply.json()["detail"].as_str().unwrap().starts_with(says),
            "{}",
            reply.text()
        );
    }
    let bare = ask(&app, Method::PUT, path, "", &json!({})).await;
    assert_eq!(bare.json()["time_zone"], "UTC");
    let lists = app.get(&format!("{path}/lists")).await;
    assert_eq!(lists.json(), json!({ "lists": [] }));
    app.stop().await;
}

#[tokio::test]
async fn a_sites_lists_come_with_those_in_trouble_first_a_page_at_a_time() {
    let app = in_a_minute().await;
    policy(&app, 2, 1, 0).await;
    report(&app, &[event("b"), event("a"), event("z"), event("z")]).await;
    let names = |reply: &Reply| -> Vec<String> {
        let lists = reply.json()["lists"].as_array().unwrap().clone();
        lists
            .iter()
            .map(|it| it["list"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = app.get("/api/v1/sites/s1/lists?limit=2").await;
    assert_eq!(names(&first), ["z", "a"]);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let second = app
        .get(&format!("/api/v1/sites/s1/lists?limit=2&cursor={cursor}"))
        .await;
    assert_eq!(
        (names(&second), second.json().get("next_cursor").cloned()),
        (vec!["b".to_owned()], None)
    );
    for query in ["limit=0", "limit=1001", "limit=x", "cursor=x", "sort=name"] {
        let reply = app.get(&format!("/api/v1/sites/s1/lists?{query}")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{query}");
    }
    app.stop().await;
}

#[tokio::test]
async fn policies_are_versioned_and_lists_may_have_their_own() {
    let app = in_a_minute().await;
    let path = "/api/v1/flood-policies/action";
    let seeded = app.get(path).await;
    assert_eq!(
        (seeded.header("etag"), &seeded.json()["policy"]),
        (
            "\"1\"",
            &json!({ "per_minute": 100, "strikes_per_day": 20, "grace": 3 })
        )
    );
    let own =
        json!({ "site": "s1", "list": "busy", "per_minute": 4, "strikes_per_day": 20, "grace": 0 });
    let wish = json!({
        "policy": { "per_minute": 2, "strikes_per_day": 20, "grace": 0, "lists": [own] },
        "reason": "busy is busier",
    });
    let changed = ask(&app, Method::PUT, path, "\"1\"", &wish).await;
    assert_eq!(
        (changed.status, changed.header("etag")),
        (StatusCode::OK, "\"2\""),
        "{}",
        changed.text()
    );
    let events: Vec<_> = ["l1", "l1", "l1", "busy", "busy", "busy"].map(event).into();
    assert_eq!(
        report(&app, &events).await,
        [
            "handle 1 0",
            "handle 2 1",
            "stop 3 1",
            "handle 1 0",
            "handle 2 0",
            "handle 3 0"
        ]
    );
    let late = ask(&app, Method::PUT, path, "\"1\"", &wish).await;
    assert_eq!(refused(&late), (412, "version_conflict".into()));
    assert_eq!(late.json()["current"]["version"], 2);
    assert_eq!(late.json()["base"]["policy"]["per_minute"], 100);
    let impossible =
        json!({ "policy": { "per_minute": 0, "strikes_per_day": 1, "grace": 0 }, "reason": "r" });
    let refusal = ask(&app, Method::PUT, path, "\"2\"", &impossible).await;
    assert_eq!(refused(&refusal), (422, "bad_policy".into()));
    assert_eq!(
        refused(&app.get("/api/v1/flood-policies/x").await),
        (404, "unknown_component".into())
    );
    let versions = app.get(&format!("{path}/versions?limit=1")).await.json();
    assert_eq!(
        (
            &versions["versions"][0]["version"],
            &versions["next_cursor"]
        ),
        (&json!(2), &json!("2"))
    );

    let dir = app.stop().await;
    let app = at_second(dir, 12).await;
    assert_eq!(
        report(&app, &[event("busy"), event("busy")]).await,
        ["handle 4 1", "stop 5 1"]
    );
    app.stop().await;
}

#[tokio::test]
async fn a_token_reports_events_of_its_sites_alone() {
    let app = TestApp::closed(NOBODY).await;
    let mut bound = rights(Role::Member, &[Scope::Events]);
    bound.sites = ["s2".to_owned()].into();
    let token = app.token(bound).await;
    let events = json!([event("l1"), with(event("l1"), "site", "s2")]);
    let request = Request::post(EVENTS)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(events.to_string().into())
        .unwrap();
    let reply = send(app.dashboard, request).await;
    let answers: Vec<_> = reply.json().as_array().unwrap().iter().map(told).collect();
    assert_eq!(answers, ["site_not_allowed", "handle 1 0"]);
    app.stop().await;
}
