//! What callers send along and no upstream may get.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{Request, StatusCode};
use serde_json::json;

use crate::support::{TestApp, send};
use crate::{PAGES, call, gateway_only, refused, sent, upstream};

/// Attacks: cookies, queries and the wrong header.
#[tokio::test]
async fn a_token_counts_in_its_own_header_alone() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    let basic = |plain: String| format!("Basic {}", STANDARD.encode(plain));
    let escaped = token.replace('_', "%5F");
    // Anywhere else it would be sent to the upstream: it is not, whoever calls.
    for (name, value, target) in [
        (
            "cookie",
            format!("spillway_session={token}"),
            PAGES.to_owned(),
        ),
        (
            "cookie",
            format!("a=b; Spillway-Token={token}"),
            PAGES.to_owned(),
        ),
        ("authorization", format!("Bearer {token}"), PAGES.to_owned()),
        ("authorization", format!("token  {token}"), PAGES.to_owned()),
        ("authorization", token.clone(), PAGES.to_owned()),
        (
            "authorization",
            basic(format!("ann:{token}")),
            PAGES.to_owned(),
        ),
        (
            "authorization",
            basic(format!("{token}:")),
            PAGES.to_owned(),
        ),
        ("x-api-key", token.clone(), PAGES.to_owned()),
        (
            "x-a",
            "1".to_owned(),
            format!("{PAGES}?spillway-token={token}"),
        ),
        ("x-a", "1".to_owned(), format!("{PAGES}?a=1&t={escaped}")),
        ("x-a", "1".to_owned(), format!("{PAGES}/{token}")),
    ] {
        for request in [
            Request::get(&target),
            Request::get(&target).header("spillway-token", &token),
        ] {
            let reply = sent(app.gateway, request.header(name, &value)).await;
            let told = (StatusCode::BAD_REQUEST, "misplaced_token".into());
            assert_eq!(refused(&reply), told, "{name}: {value} {target}");
            assert!(reply.text().contains("Spillway-Token"), "{}", reply.text());
            assert!(!reply.text().contains(&token), "{}", reply.text());
        }
    }
    for (url, headers) in [
        (format!("/me/onenote/pages?t={token}"), json!({})),
        (
            "/me/onenote/pages".to_owned(),
            json!({ "x-api-key": token }),
        ),
    ] {
        let part = json!({"id": "1", "method": "GET", "url": url, "headers": headers});
        let batch = Request::post("/graph/v1.0/$batch")
            .header("spillway-token", &token)
            .header("authorization", "Bearer opaque-of-ann")
            .header("content-type", "application/json");
        let message = json!({ "requests": [part] }).to_string();
        let reply = send(app.gateway, batch.body(message.into()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{reply:?}");
        assert!(reply.text().contains("Spillway token"), "{}", reply.text());
        assert!(!reply.text().contains(&token), "{}", reply.text());
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// Attacks: spoofed headers of proxies. Nobody vouches for what a client says of its way here, so
/// that the upstream does not get to hear it.
#[tokio::test]
async fn what_says_how_a_call_got_here_ends_here() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let token = app.token(gateway_only()).await;
    let of_the_way = [
        ("forwarded", "for=198.51.100.1;host=evil.example"),
        ("via", "1.1 proxy.example"),
        ("x-forwarded-for", "198.51.100.1"),
        ("x-forwarded-host", "evil.example"),
        ("X-Forwarded-Anything", "1"),
        ("X-Real-IP", "198.51.100.1"),
        ("true-client-ip", "198.51.100.1"),
        ("cf-connecting-ip", "198.51.100.1"),
        ("x-client-ip", "198.51.100.1"),
        ("x-original-url", "/admin"),
        ("x-rewrite-url", "/admin"),
    ];
    let request = call(&token).header("x-of-its-own", "passes");
    let request = of_the_way.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    assert_eq!(sent(app.gateway, request).await.status, StatusCode::OK);
    let seen = peer.only().headers;
    for (name, _) in of_the_way {
        assert!(!seen.contains_key(name), "{name}: {seen:?}");
    }
    assert_eq!(seen["x-of-its-own"], "passes");
    app.stop().await;
}
