//! Callers that need no token, found by their address, behind proxies or not.

use crate::support::TestApp;
use crate::{PAGES, sent, upstream, workload};
use http::{Request, StatusCode, request::Builder};

fn bare() -> Builder {
    Request::get(PAGES).header("authorization", "Bearer opaque-of-ann")
}

/// An upstream that lets in a network.
fn letting_in(upstream: &str, cidr: &str) -> String {
    format!(
        "{upstream}\
         [[upstreams.graph.clients]]\ncidr = '{cidr}'\napp = 'portal'\nlane = 'background'\n"
    )
}

#[tokio::test]
async fn a_network_lets_in_as_its_app_in_its_lane() {
    let peer = upstream().await;
    let config = letting_in(&peer.onenote(), "127.0.0.0/8");
    let app = TestApp::closed(&config).await;
    assert_eq!(sent(app.gateway, bare()).await.status, StatusCode::OK);
    for (name, value) in [("spillway-user", "victim"), ("spillway-app", "victim")] {
        let reply = sent(app.gateway, bare().header(name, value)).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{name}");
    }
    // A token that is shown must be valid, wherever it comes from.
    let reply = sent(app.gateway, bare().header("spillway-token", "spw_x")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);

    let workload = workload(&app, "onenote").await;
    assert_eq!(workload["budgets"][0]["app"], "portal", "{workload}");
    assert_eq!(workload["lanes"]["background"]["admitted"], 1, "{workload}");
    // The network is the gateway's alone.
    let reply = sent(app.dashboard, Request::get("/api/v1/state")).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    app.stop().await;
}

#[tokio::test]
async fn another_network_s_caller_is_not_let_in() {
    let peer = upstream().await;
    let app = TestApp::closed(&letting_in(&peer.onenote(), "192.0.2.0/24")).await;
    assert_eq!(
        sent(app.gateway, bare()).await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// Attacks: a proxy on this machine publishes loopback; addresses are spoofed.
#[tokio::test]
async fn a_proxy_that_is_not_trusted_lets_nobody_in_by_address() {
    let peer = upstream().await;
    let app = TestApp::closed(&letting_in(&peer.onenote(), "127.0.0.0/8")).await;
    for (name, value) in [
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "for=127.0.0.1"),
    ] {
        let reply = sent(app.gateway, bare().header(name, value)).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{name}");
        let message = reply.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains("server.trusted_proxies"), "{message}");
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

#[tokio::test]
async fn behind_trusted_proxies_the_right_most_other_address_counts() {
    let peer = upstream().await;
    let proxies = "trusted_proxies = ['127.0.0.1', '10.0.0.0/8']\n";
    let config = letting_in(&peer.onenote(), "192.0.2.0/24");
    let app = TestApp::closed_with(proxies, &config).await;
    for (forwarded_for, status) in [
        (&["192.0.2.7"][..], StatusCode::OK),
        (&["203.0.113.9, 192.0.2.7, 10.0.0.1"], StatusCode::OK),
        (&["203.0.113.9", "192.0.2.7"], StatusCode::OK),
        (&["192.0.2.7, 203.0.113.9"], StatusCode::UNAUTHORIZED),
        (&["192.0.2.7", "203.0.113.9"], StatusCode::UNAUTHORIZED),
        (&["192.0.2.7, unknown"], StatusCode::UNAUTHORIZED),
        (&[], StatusCode::UNAUTHORIZED),
    ] {
        let request = forwarded_for.iter().fold(bare(), |request, value| {
            request.header("x-forwarded-for", *value)
        });
        let reply = sent(app.gateway, request).await;
        assert_eq!(reply.status, status, "{forwarded_for:?}");
    }
    assert_eq!(peer.counts().arrived, 3);
    app.stop().await;
}
