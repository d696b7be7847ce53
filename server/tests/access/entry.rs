//! The gateway's door: tokens, and what is no token.

use std::time::Duration;

use http::{Request, StatusCode};
use spillway_server::access::{Role, Scope};
use tokio::sync::watch;

use crate::support::peer::{Peer, ok};
use crate::support::{TestApp, rights};
use crate::{PAGES, call, gateway_only, refused, sent, upstream, workload};

#[tokio::test]
async fn a_token_lets_in_and_never_goes_on() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    assert_eq!(sent(app.gateway, call(&token)).await.status, StatusCode::OK);
    let seen = peer.only();
    assert!(
        seen.headers
            .keys()
            .all(|name| !name.as_str().starts_with("spillway-")),
        "{seen:?}"
    );
    assert_eq!(seen.headers["authorization"], "Bearer opaque-of-ann");
    app.stop().await;
}

#[tokio::test]
async fn who_brings_no_token_is_told_in_the_upstream_s_words_what_to_send() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let bare = || Request::get(PAGES).header("authorization", "Bearer opaque-of-ann");
    let reply = sent(app.gateway, bare()).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert_eq!(reply.header("www-authenticate"), "Spillway-Token");
    assert_eq!(reply.header("content-type"), "application/json");
    let error = &reply.json()["error"];
    assert_eq!(error["code"], "InvalidAuthenticationToken");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("Spillway-Token"),
        "{error}"
    );
    assert!(error["innerError"]["request-id"].is_string(), "{error}");

    // Which upstreams there are is no stranger's business.
    let reply = sent(app.gateway, Request::get("/other/x")).await;
    assert_eq!(
        refused(&reply),
        (StatusCode::UNAUTHORIZED, "unauthorized".into())
    );
    assert!(!reply.text().contains("graph"), "{}", reply.text());
    let token = app.token(gateway_only()).await;
    let known = Request::get("/other/x").header("spillway-token", &token);
    let reply = sent(app.gateway, known).await;
    assert_eq!(
        refused(&reply),
        (StatusCode::NOT_FOUND, "unknown_upstream".into())
    );
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_valid_token_lets_nobody_in() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let past = Some(jiff::Timestamp::UNIX_EPOCH);
    let expired = app.token_until(gateway_only(), past).await;
    let good = app.token(gateway_only()).await;
    let (short, other) = (&good[..46], format!("spw_{}", "A".repeat(43)));
    for token in [
        &expired,
        "",
        "spw_",
        short,
        &other,
        &format!("Bearer {good}"),
        &good.to_uppercase(),
    ] {
        let reply = sent(app.gateway, call(token)).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{token}");
        let message = reply.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.starts_with("Spillway-Token: "), "{message}");
        assert_eq!(
            message.contains("expired at 1970"),
            token == expired,
            "{message}"
        );
        assert!(!message.contains("spw_"), "{message}");
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// Attacks: doubled and hidden headers.
#[tokio::test]
async fn a_doubled_or_hidden_token_is_400() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    for request in [
        call(&token).header("spillway-token", &token),
        call(&token).header("Spillway-Token", "x"),
        call(&token).header("connection", "spillway-token"),
        call(&token)
            .header("spillway-user", "a")
            .header("spillway-user", "b"),
    ] {
        let reply = sent(app.gateway, request).await;
        assert_eq!(
            refused(&reply),
            (StatusCode::BAD_REQUEST, "bad_header".into())
        );
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// Attacks: tokens for something else.
#[tokio::test]
async fn a_token_for_something_else_is_403() {
    let peer = upstream().await;
    let two = format!(
        "{}[upstreams.other]\nbase_url = 'http://{}/'\npresets = ['notion']\n",
        peer.onenote(),
        peer.address
    );
    let app = TestApp::closed(&two).await;
    let bound = spillway_server::access::Rights {
        upstreams: ["other".to_owned()].into(),
        ..gateway_only()
    };
    let everything_else = [
        Scope::Permits,
        Scope::Events,
        Scope::Metrics,
        Scope::Jobs,
        Scope::Read,
        Scope::Write,
    ];
    for (rights, code) in [
        (bound.clone(), "upstream_not_allowed"),
        (rights(Role::Admin, &everything_else), "scope_missing"),
    ] {
        let token = app.token(rights).await;
        let reply = sent(app.gateway, call(&token)).await;
        assert_eq!(refused(&reply), (StatusCode::FORBIDDEN, code.into()));
    }
    let token = app.token(bound).await;
    let own = Request::get("/other/v1/users").header("spillway-token", &token);
    let reply = sent(app.gateway, own.header("authorization", "Bearer ntn_1")).await;
    assert_eq!(reply.status, StatusCode::OK);
    app.stop().await;
}

#[tokio::test]
async fn a_call_whose_token_is_revoked_while_it_waits_does_not_go() {
    let gate = watch::Sender::new(false);
    let opens = gate.clone();
    let peer = Peer::start(move |_| {
        let mut gate = opens.subscribe();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            ok("")
        }
    })
    .await;
    let one_at_once = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\nhold_max_ms = 20000\n\
         [[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0']\n\
         layers = [{{ scope = 'app', dimension = 'concurrency', limit = 1 }}]\n",
        peer.address
    );
    let app = TestApp::closed(&one_at_once).await;
    let (stays, goes) = (
        app.token(gateway_only()).await,
        app.token(gateway_only()).await,
    );
    let first = tokio::spawn(sent(app.gateway, call(&stays)));
    peer.until(|counts| counts.in_flight == 1).await;
    // Somebody else's bearer, so that it waits for its permit and not for the bearer's turn.
    let other = |token: &str| {
        Request::get(PAGES)
            .header("spillway-token", token)
            .header("authorization", "Bearer opaque-of-bob")
    };
    let waiting = tokio::spawn(sent(app.gateway, other(&goes)));
    until_waiting(&app).await;
    app.revoke(&goes).await;
    let begun = std::time::Instant::now();
    while sent(app.gateway, other(&goes).header("spillway-wait-ms", 0))
        .await
        .status
        != StatusCode::UNAUTHORIZED
    {
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "a revocation takes hold within a second"
        );
    }
    gate.send_replace(true);
    assert_eq!(first.await.unwrap().status, StatusCode::OK);
    assert_eq!(waiting.await.unwrap().status, StatusCode::UNAUTHORIZED);
    assert_eq!(peer.counts().arrived, 1);
    assert_eq!(
        sent(app.gateway, call(&stays)).await.status,
        StatusCode::OK,
        "the slot came back"
    );
    app.stop().await;
}

/// Until a call waits for its permit.
async fn until_waiting(app: &TestApp) {
    while workload(app, "pages").await["lanes"]["foreground"]["waiting"] != 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
