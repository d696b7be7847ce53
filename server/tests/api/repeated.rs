//! `Idempotency-Key`: the same request again is no second request.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    lists::{SMALL, assert_nothing_is_taken, post, until_waiting, want},
    support::{Reply, TestApp},
};

async fn take(app: &TestApp, key: &str, body: &Value) -> Reply {
    post(
        app,
        "/api/v1/permits",
        &[("Idempotency-Key", key)],
        &body.to_string(),
    )
    .await
}

async fn complete(app: &TestApp, id: &Value) {
    let path = format!("/api/v1/permits/{}/complete", id.as_str().unwrap());
    let reply = post(app, &path, &[], r#"{"status":200}"#).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
}

/// What is left of a user's three.
fn left(reply: &Reply) -> &str {
    let (_, rest) = reply.header("ratelimit").split_once(";r=").unwrap();
    rest.split(';').next().unwrap()
}

#[tokio::test]
async fn the_same_request_gets_the_same_permit_and_costs_nothing() {
    let app = TestApp::start(SMALL).await;
    let first = take(&app, "k-1", &want("ann")).await;
    let id = first.json()["id"].clone();
    for key in ["k-1", "\"k-1\""] {
        let again = take(&app, key, &want("ann")).await;
        assert_eq!(again.status, StatusCode::OK);
        assert_eq!(again.json()["id"], id);
        let ttl_ms = again.json()["ttl_ms"].as_u64().unwrap();
        assert!((110_000..=120_000).contains(&ttl_ms), "{ttl_ms}");
        assert_eq!(left(&again), "2");
    }
    // An end that is known is told: the call must not be made again.
    complete(&app, &id).await;
    let ended = take(&app, "k-1", &want("ann")).await;
    assert_eq!(
        (&ended.json()["id"], &ended.json()["ttl_ms"]),
        (&id, &json!(0))
    );
    let other = take(&app, "k-2", &want("ann")).await;
    assert_ne!(other.json()["id"], id);
    assert_eq!(left(&other), "1");
    app.stop().await;
}

#[tokio::test]
async fn a_key_with_another_body_is_refused() {
    let app = TestApp::start(SMALL).await;
    let first = take(&app, "k", &want("ann")).await;
    assert_eq!(first.status, StatusCode::OK);
    for other in [want("bob"), json!([want("ann")])] {
        let reply = take(&app, "k", &other).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{other}");
        assert_eq!(reply.json()["code"], "idempotency_key_reused");
    }
    for bad in ["", "\"\"", "a b", &"x".repeat(256)] {
        let reply = take(&app, bad, &want("ann")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{bad}");
        assert_eq!(reply.json()["code"], "bad_idempotency_key");
    }
    app.stop().await;
}

/// A refusal did nothing: the same key asks again when its caller was told to.
#[tokio::test]
async fn what_was_refused_may_be_tried_again_under_its_key() {
    let app = TestApp::start(SMALL).await;
    let mut ids = Vec::new();
    for user in ["a", "b", "c", "d"] {
        ids.push(take(&app, user, &want(user)).await.json()["id"].clone());
    }
    let refused = take(&app, "k", &want("ann")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    complete(&app, &ids[0]).await;
    let granted = take(&app, "k", &want("ann")).await;
    assert_eq!(granted.status, StatusCode::OK);
    app.stop().await;
}

/// The second comes while the first still waits, and outlives it: there is one call in the
/// queue and one permit in the end.
#[tokio::test]
async fn who_asks_again_while_it_waits_shares_the_wait() {
    let app = TestApp::start(SMALL).await;
    let mut ids = Vec::new();
    for user in ["a", "b", "c", "d"] {
        ids.push(take(&app, user, &want(user)).await.json()["id"].clone());
    }
    let patient = json!({ "upstream": "graph", "user": "ann", "wait_ms": 20_000 });
    let (first, second, third, ()) = tokio::join!(
        take(&app, "k", &patient),
        take(&app, "k", &patient),
        take(&app, "k", &patient),
        async {
            until_waiting(&app, 1).await;
            complete(&app, &ids[0]).await;
        }
    );
    let id = first.json()["id"].clone();
    assert!(id.is_string(), "{first:?}");
    assert_eq!((&second.json()["id"], &third.json()["id"]), (&id, &id));
    let state = app.get("/api/v1/state").await.json();
    let lane = &state["upstreams"][0]["workloads"][0]["lanes"]["foreground"];
    assert_eq!(
        (&lane["admitted"], &lane["waiting"]),
        (&json!(5), &json!(0))
    );
    complete(&app, &id).await;
    for id in &ids[1..] {
        complete(&app, id).await;
    }
    assert_nothing_is_taken(&app).await;
    app.stop().await;
}

#[tokio::test]
async fn lists_are_repeated_whole() {
    let app = TestApp::start(SMALL).await;
    let list = json!([want("ann"), { "upstream": "graph" }, want("bob")]);
    let first = take(&app, "k", &list).await.json();
    let again = take(&app, "k", &list).await.json();
    for place in [0, 2] {
        assert!(first[place]["id"].is_string(), "{first}");
        assert_eq!(first[place]["id"], again[place]["id"]);
    }
    assert_eq!(first[1], again[1]);
    app.stop().await;
}
