//! Bearers that nobody has verified yet: what forged ones can do to whom they claim to be.

use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::task::JoinSet;

use crate::support::peer::{Peer, PeerBody, body, ok};
use crate::support::{Reply, TestApp, send};
use crate::whose::{charged, claiming_as};
use crate::{PAGES, gateway_only, workload};

/// An upstream that knows good bearers from forged ones, after a while.
async fn knowing() -> Peer {
    Peer::start(|request: Request<Incoming>| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let bearer = request.headers()["authorization"].to_str().unwrap();
        if bearer.ends_with("good") {
            ok("{}")
        } else {
            not_you()
        }
    })
    .await
}

fn not_you() -> Response<PeerBody> {
    let mut response = Response::new(body("{}"));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

async fn call(app: &TestApp, token: &str, bearer: &str, wait_ms: u64) -> Reply {
    let request = Request::get(PAGES)
        .header("spillway-token", token)
        .header("authorization", bearer)
        .header("spillway-wait-ms", wait_ms);
    send(app.gateway, request.body(Default::default()).unwrap()).await
}

/// Attacks: forged claims.
#[tokio::test]
async fn forged_bearers_are_tried_one_at_a_time_and_cost_the_victim_no_rate() {
    let peer = knowing().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    let mut forgers = JoinSet::new();
    for n in 0..30 {
        let request = Request::get(PAGES)
            .header("spillway-token", &token)
            .header(
                "authorization",
                claiming_as("victim", &format!("forged{n}")),
            )
            .header("spillway-wait-ms", 10_000);
        forgers.spawn(send(app.gateway, request.body(Default::default()).unwrap()));
    }
    while let Some(reply) = forgers.join_next().await {
        assert_eq!(reply.unwrap().status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!((peer.counts().arrived, peer.counts().peak), (30, 1));
    let state = workload(&app, "onenote").await;
    let budgets = state["budgets"].as_array().unwrap();
    let used: u64 = budgets
        .iter()
        .filter(|budget| budget["scope"] == "user")
        .flat_map(|budget| budget["layers"].as_array().unwrap())
        .map(|layer| layer["used"].as_u64().unwrap())
        .sum();
    assert_eq!(used, 0, "{state}");

    // The victim itself, once accepted, waits for nobody.
    let good = claiming_as("victim", "good");
    assert_eq!(
        call(&app, &token, &good, 5_000).await.status,
        StatusCode::OK
    );
    assert_eq!(charged(&app).await, ["graph//victim"]);
    app.stop().await;
}

#[tokio::test]
async fn a_bearer_answered_401_is_refused_here_in_the_upstream_s_words_for_60_s() {
    let peer = knowing().await;
    // A minute of the limits passes in a fifth of a second.
    let app = TestApp::closed_scaled(&peer.onenote(), 300).await;
    let token = app.token(gateway_only()).await;
    let forged = claiming_as("ann", "forged");
    assert_eq!(
        call(&app, &token, &forged, 0).await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(peer.counts().arrived, 1);
    let refused_at = Instant::now();
    let reply = call(&app, &token, &forged, 0).await;
    if refused_at.elapsed() < Duration::from_millis(150) {
        assert_eq!(peer.counts().arrived, 1, "no call went upstream");
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
        assert_eq!(reply.header("www-authenticate"), "Bearer");
        let error = &reply.json()["error"];
        assert_eq!(error["code"], "InvalidAuthenticationToken", "{error}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("less than a minute ago"),
            "{error}"
        );
    }
    // Another bearer of the same user is not refused for it.
    let good = claiming_as("ann", "good");
    assert_eq!(
        call(&app, &token, &good, 5_000).await.status,
        StatusCode::OK
    );
    let before = peer.counts().arrived;
    while peer.counts().arrived == before {
        assert!(
            refused_at.elapsed() < Duration::from_secs(20),
            "it is tried again"
        );
        call(&app, &token, &forged, 0).await;
    }
    assert!(
        refused_at.elapsed() >= Duration::from_millis(150),
        "{:?}",
        refused_at.elapsed()
    );
    app.stop().await;
}

#[tokio::test]
async fn an_accepted_bearer_calls_as_often_at_once_as_its_limits_let_it() {
    let peer = Peer::start(|_| async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        ok("{}")
    })
    .await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    let good = claiming_as("ann", "good");
    assert_eq!(
        call(&app, &token, &good, 5_000).await.status,
        StatusCode::OK
    );
    let (first, second, third) = tokio::join!(
        call(&app, &token, &good, 5_000),
        call(&app, &token, &good, 5_000),
        call(&app, &token, &good, 5_000)
    );
    for reply in [first, second, third] {
        assert_eq!(reply.status, StatusCode::OK);
    }
    assert_eq!(peer.counts().peak, 3);
    app.stop().await;
}
