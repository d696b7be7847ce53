//! What operators do: pausing background calls and forcing breakers, as callers feel it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::breakers::{answer, state};
use crate::calls::{
    PAGES, PATIENCE, assert_blocked, begin, call, five_at_once, gated, until_waiting,
};
use crate::support::peer::{Peer, ok};
use crate::support::{Reply, TestApp, send};

const PAUSE: &str = "/api/v1/lanes/graph/background/pause";
const RESUME: &str = "/api/v1/lanes/graph/background/resume";
const OPEN: &str = "/api/v1/breakers/graph/onenote/open";
const CLOSE: &str = "/api/v1/breakers/graph/onenote/close";
const RESET: &str = "/api/v1/breakers/graph/onenote/reset";

async fn post(app: &TestApp, path: &str, body: Value) -> Reply {
    let request = Request::post(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(Full::from(body.to_string())).unwrap();
    send(app.dashboard, request).await
}

/// An operation for a reason.
async fn operate(app: &TestApp, path: &str, mut body: Value) -> Reply {
    body["reason"] = "a test".into();
    post(app, path, body).await
}

/// One that is done.
async fn done(app: &TestApp, path: &str, body: Value) -> Value {
    let reply = operate(app, path, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.json()
}

async fn resumed(app: &TestApp, body: Value) -> StatusCode {
    operate(app, RESUME, body).await.status
}

fn assert_problem(reply: &Reply, status: StatusCode, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.json()["code"], code, "{reply:?}");
}

/// A background call of `user`.
async fn job(gateway: std::net::SocketAddr, user: &str, wait_ms: u64) -> Reply {
    let request = Request::get(PAGES)
        .header("spillway-user", user)
        .header("spillway-lane", "background")
        .header("spillway-wait-ms", wait_ms);
    send(gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

fn ahead(seconds: i64) -> String {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    at.to_string()
}

/// How far an answer's `until` is away.
fn seconds_until(answer: &Value) -> i64 {
    let until: jiff::Timestamp = answer["until"].as_str().unwrap().parse().unwrap();
    until.duration_since(jiff::Timestamp::now()).as_secs()
}

async fn well() -> (Peer, TestApp) {
    let peer = Peer::start(|_| async { ok("well") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    (peer, app)
}

#[tokio::test]
async fn a_pause_stops_new_background_calls_and_nothing_else() {
    let (gate, peer) = gated().await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    let gateway = app.gateway;
    let running = tokio::spawn(async move { job(gateway, "ann", 0).await });
    peer.until(|counts| counts.in_flight == 1).await;

    let paused = done(&app, PAUSE, json!({})).await;
    assert_eq!(
        (&paused["state"], &paused["scope"]),
        (&"paused".into(), &"upstream".into())
    );
    assert!(
        (3_500..=3_600).contains(&seconds_until(&paused)),
        "{paused}"
    );
    assert_blocked(&job(gateway, "ann", 0).await, "paused");
    let permit = json!({ "upstream": "graph", "user": "ann", "lane": "background" });
    let refused = post(&app, "/api/v1/permits", permit).await;
    assert_problem(&refused, StatusCode::TOO_MANY_REQUESTS, "throttled");
    assert_eq!(refused.json()["reason"], "paused");
    assert_eq!(
        refused.json()["blocked_by"],
        json!({ "lane": "background" })
    );
    assert_eq!(refused.json()["exact"], true);
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");

    let person = tokio::spawn(async move { call(gateway, "ann", 0).await });
    peer.until(|counts| counts.in_flight == 2).await;
    gate.send_replace(true);
    for call in [running, person] {
        let reply = timeout(PATIENCE, call).await.unwrap().unwrap();
        assert_eq!(reply.status, StatusCode::OK);
    }

    assert_eq!(resumed(&app, json!({})).await, StatusCode::NO_CONTENT);
    assert_eq!(job(gateway, "ann", 0).await.status, StatusCode::OK);
    let nothing = operate(&app, RESUME, json!({})).await;
    assert_problem(&nothing, StatusCode::NOT_FOUND, "not_paused");
    app.stop().await;
}

#[tokio::test]
async fn a_pause_is_of_whom_it_names() {
    let (_peer, app) = well().await;
    for (whose, stopped) in [
        (json!({ "scope": "user", "user": "ann" }), [true, false]),
        (json!({ "scope": "tenant", "tenant": "" }), [true, true]),
        (json!({ "scope": "app" }), [true, true]),
        (json!({ "scope": "app", "app": "graph" }), [true, true]),
        (json!({ "scope": "app", "app": "other" }), [false, false]),
        (json!({ "scope": "upstream" }), [true, true]),
    ] {
        let paused = done(&app, PAUSE, whose.clone()).await;
        assert_eq!(paused["scope"], whose["scope"]);
        for (user, stopped) in ["ann", "bob"].into_iter().zip(stopped) {
            let reply = job(app.gateway, user, 0).await;
            if stopped {
                assert_blocked(&reply, "paused");
            } else {
                assert_eq!(reply.status, StatusCode::OK, "{whose}");
            }
        }
        assert_eq!(resumed(&app, whose).await, StatusCode::NO_CONTENT);
    }
    app.stop().await;
}

#[tokio::test]
async fn of_those_who_wait_at_a_pause_who_cannot_outwait_it_is_told_at_once() {
    let (gate, peer) = gated().await;
    let upstreams = five_at_once(&peer).replace("hold_max_ms = 10000", "hold_max_ms = 120000");
    let app = TestApp::start(&upstreams).await;
    let gateway = app.gateway;
    let mut busy = Vec::new();
    for _ in 0..5 {
        busy.push(begin(gateway, "ann").await);
    }
    peer.until(|counts| counts.in_flight == 5).await;
    let begun = Instant::now();
    let short = tokio::spawn(async move { job(gateway, "ann", 30_000).await });
    let long = tokio::spawn(async move { job(gateway, "ann", 120_000).await });
    until_waiting(&app, "background", 2).await;

    done(&app, PAUSE, json!({ "until": ahead(60) })).await;
    assert_blocked(&timeout(PATIENCE, short).await.unwrap().unwrap(), "paused");
    assert!(begun.elapsed() < Duration::from_secs(30), "not at once");
    until_waiting(&app, "background", 1).await;
    gate.send_replace(true);
    // The slots come free, and still it waits.
    peer.until(|counts| counts.in_flight == 0).await;
    assert_eq!(call(gateway, "ann", 0).await.status, StatusCode::OK);
    assert_eq!(peer.counts().arrived, 6);
    assert_eq!(resumed(&app, json!({})).await, StatusCode::NO_CONTENT);
    let gone = timeout(PATIENCE, long).await.unwrap().unwrap();
    assert_eq!(gone.status, StatusCode::OK);
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "the pause had ended"
    );
    app.stop().await;
}

#[tokio::test]
async fn a_pause_ends_by_itself() {
    let (_peer, app) = well().await;
    let begun = Instant::now();
    done(&app, PAUSE, json!({ "until": ahead(4) })).await;
    // Told again, it lasts as long as is told last.
    done(&app, PAUSE, json!({ "until": ahead(3) })).await;
    assert_eq!(job(app.gateway, "ann", 10_000).await.status, StatusCode::OK);
    assert!(begun.elapsed() >= Duration::from_secs(3), "too early");
    assert_eq!(resumed(&app, json!({})).await, StatusCode::NOT_FOUND);
    app.stop().await;
}

#[tokio::test]
async fn pauses_are_bounded() {
    let (_peer, app) = well().await;
    let user = |n: usize| json!({ "scope": "user", "user": format!("u{n}") });
    for n in 0..spillway::PAUSES_MAX {
        done(&app, PAUSE, user(n)).await;
    }
    let refused = operate(&app, PAUSE, json!({})).await;
    assert_problem(&refused, StatusCode::CONFLICT, "too_many_pauses");
    done(&app, PAUSE, user(7)).await;
    assert_eq!(resumed(&app, user(7)).await, StatusCode::NO_CONTENT);
    done(&app, PAUSE, json!({})).await;
    app.stop().await;
}

#[tokio::test]
async fn a_breaker_is_forced_open_and_closed_and_reset() {
    let (peer, app) = well().await;
    let user = json!({ "scope": "user", "user": "ann" });
    let open = done(&app, OPEN, user.clone()).await;
    assert_eq!(
        (&open["state"], &open["reason"]),
        (&"open".into(), &"forced".into())
    );
    assert!((500..=600).contains(&seconds_until(&open)), "{open}");
    assert!(open["since"].is_string(), "{open}");
    assert_blocked(&call(app.gateway, "ann", 0).await, "user/breaker");
    assert_eq!(call(app.gateway, "bob", 0).await.status, StatusCode::OK);
    let budgets = state(&app).await;
    let shown = budgets.as_array().unwrap().iter();
    let shown = shown.filter(|budget| budget["user"] == "ann");
    let shown: Vec<_> = shown.map(|budget| &budget["breaker"]["state"]).collect();
    assert_eq!(shown, ["open"]);

    let closed = done(&app, CLOSE, user.clone()).await;
    assert_eq!(closed["state"], "closed");
    assert_eq!(closed["reason"], "forced");
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);

    let until = json!({ "scope": "app", "app": "graph", "until": ahead(86_400) });
    let open = done(&app, OPEN, until).await;
    assert!(seconds_until(&open) > 86_300, "{open}");
    assert_blocked(&call(app.gateway, "bob", 0).await, "app/breaker");
    let reset = done(&app, RESET, json!({ "scope": "app" })).await;
    assert_eq!(reset, json!({ "state": "closed" }));
    assert_eq!(call(app.gateway, "bob", 0).await.status, StatusCode::OK);
    assert_eq!(peer.counts().arrived, 3);
    app.stop().await;
}

#[tokio::test]
async fn what_was_learnt_is_overruled_or_forgotten() {
    let peer = Peer::start(|_| async { answer(429, &[("retry-after", "30")], "") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    let throttled = async || {
        let before = peer.counts().arrived;
        call(app.gateway, "ann", 0).await;
        assert_eq!(peer.counts().arrived, before + 1, "it went upstream");
        assert_blocked(&call(app.gateway, "ann", 0).await, "user/breaker");
    };
    throttled().await;
    let user = json!({ "scope": "user", "user": "ann" });
    done(&app, RESET, user.clone()).await;
    throttled().await;
    done(&app, CLOSE, user).await;
    for _ in 0..3 {
        // The upstream's own refusals, for as long as the operator says so.
        let passed_on = call(app.gateway, "ann", 0).await;
        assert_eq!(passed_on.header("spillway-blocked-by"), "");
    }
    assert_eq!(peer.counts().arrived, 5);
    app.stop().await;
}

#[tokio::test]
async fn the_upstream_s_own_breaker_stops_every_workload_s_calls() {
    let (_peer, app) = well().await;
    let path = |what: &str| format!("/api/v1/breakers/graph/_global/{what}");
    done(&app, &path("open"), json!({ "scope": "app" })).await;
    assert_blocked(&call(app.gateway, "ann", 0).await, "app/breaker");
    done(&app, &path("reset"), json!({ "scope": "app" })).await;
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    app.stop().await;
}

#[tokio::test]
async fn what_is_not_said_right_is_refused_and_changes_nothing() {
    let (_peer, app) = well().await;
    for (path, body, says) in [
        (
            OPEN,
            json!({ "scope": "app", "untill": "x", "reason": "r" }),
            "`untill`",
        ),
        (OPEN, json!({ "reason": "r" }), "scope"),
        (OPEN, json!({ "scope": "upstream", "reason": "r" }), "scope"),
        (
            OPEN,
            json!({ "scope": "everything", "reason": "r" }),
            "everything",
        ),
        (
            OPEN,
            json!({ "scope": "user", "reason": "r" }),
            "user is missing",
        ),
        (
            OPEN,
            json!({ "scope": "user", "user": "", "reason": "r" }),
            "user must",
        ),
        (
            OPEN,
            json!({ "scope": "tenant", "reason": "r" }),
            "tenant is missing",
        ),
        (
            OPEN,
            json!({ "scope": "app", "user": "ann", "reason": "r" }),
            "user says",
        ),
        (
            OPEN,
            json!({ "scope": "app", "app": "a\nb", "reason": "r" }),
            "app must",
        ),
        (
            OPEN,
            json!({ "scope": "app", "until": ahead(-1), "reason": "r" }),
            "ahead",
        ),
        (
            OPEN,
            json!({ "scope": "tenant", "tenant": "t", "reason": "r" }),
            "limits of: user, app",
        ),
        (
            OPEN,
            json!({ "scope": "app", "until": ahead(86_460), "reason": "r" }),
            "24 hours",
        ),
        (
            OPEN,
            json!({ "scope": "app", "until": "1h", "reason": "r" }),
            "RFC 3339",
        ),
        (OPEN, json!({ "scope": "app" }), "`reason`"),
        (
            OPEN,
            json!({ "scope": "app", "reason": " " }),
            "reason must",
        ),
        (
            OPEN,
            json!({ "scope": "app", "reason": "r".repeat(501) }),
            "reason must",
        ),
        (
            RESET,
            json!({ "scope": "app", "until": ahead(60), "reason": "r" }),
            "until",
        ),
        (
            RESUME,
            json!({ "until": ahead(60), "reason": "r" }),
            "until",
        ),
        (PAUSE, json!({ "user": "ann", "reason": "r" }), "user says"),
        (
            PAUSE,
            json!({ "until": ahead(31 * 86_400 + 60), "reason": "r" }),
            "31 days",
        ),
    ] {
        let reply = post(&app, path, body.clone()).await;
        assert_problem(&reply, StatusCode::UNPROCESSABLE_ENTITY, "bad_field");
        let detail = reply.json()["detail"].to_string();
        assert!(detail.contains(says), "{body}: {detail}");
    }
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    assert_eq!(job(app.gateway, "ann", 0).await.status, StatusCode::OK);
    app.stop().await;
}

#[tokio::test]
async fn names_methods_and_media_types_are_as_everywhere() {
    let (_peer, app) = well().await;
    let body = json!({ "scope": "app" });
    for (path, code) in [
        ("/api/v1/breakers/grahp/onenote/open", "unknown_upstream"),
        ("/api/v1/breakers/graph/onenotes/open", "unknown_workload"),
        ("/api/v1/breakers/graph/onenote/break", "not_found"),
        ("/api/v1/breakers/%ff/onenote/open", "not_found"),
        ("/api/v1/lanes/grahp/background/pause", "unknown_upstream"),
        ("/api/v1/lanes/graph/foreground/pause", "not_found"),
    ] {
        let reply = operate(&app, path, body.clone()).await;
        assert_problem(&reply, StatusCode::NOT_FOUND, code);
    }
    let reply = operate(&app, "/api/v1/breakers/graph/x/open", body.clone()).await;
    let detail = "the workloads are: onenote, _global";
    assert_eq!(reply.json()["detail"], detail);
    for path in [OPEN, CLOSE, RESET, PAUSE, RESUME] {
        assert_problem(
            &app.get(path).await,
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
        );
        // What a form or a script of another site could send without being asked first.
        for media_type in ["text/plain", "application/x-www-form-urlencoded"] {
            let request = Request::builder().method(Method::POST).uri(path);
            let request = request.header(CONTENT_TYPE, media_type);
            let request = request.body(Full::from(r#"{"reason":"r"}"#)).unwrap();
            let reply = send(app.dashboard, request).await;
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            assert_problem(&reply, status, "unsupported_media_type");
        }
        let long = json!({ "scope": "app", "app": "a".repeat(64 * 1024) });
        let reply = operate(&app, path, long).await;
        assert_problem(&reply, StatusCode::PAYLOAD_TOO_LARGE, "too_large");
    }
    app.stop().await;
}
