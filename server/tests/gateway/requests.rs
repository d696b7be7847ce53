//! What of a call reaches the upstream, and what is refused before.

use crate::support::peer::{Peer, ok};
use crate::support::{Reply, TestApp, raw, send};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Calls for which no limit applies, so that a table of them meets none.
const FREE: &str = "/graph/v1.0/me";

async fn upstream() -> Peer {
    Peer::start(|_| async { ok("answer") }).await
}

async fn call(app: &TestApp, method: Method, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(app.gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_raw_path_is_appended_and_never_resolved() {
    let peer = upstream().await;
    let upstreams = format!(
        "[upstreams.graph]\nbase_url = 'http://{0}/'\npresets = ['onenote']\n\
         [upstreams.deep]\nbase_url = 'http://{0}/api/v1/'\npresets = ['onenote']\n",
        peer.address
    );
    let app = TestApp::start(&upstreams).await;
    for (sent, expected) in [
        ("/graph/v1.0/me", Ok("/v1.0/me")),
        ("/graph", Ok("/")),
        ("/graph/", Ok("/")),
        ("/graph?$top=1", Ok("/?$top=1")),
        ("/deep", Ok("/api/v1")),
        ("/deep/x?y=../%2e%2e//@z", Ok("/api/v1/x?y=../%2e%2e//@z")),
        (
            "/graph/users('a@b.example')/photo/$value",
            Ok("/users('a@b.example')/photo/$value"),
        ),
        (
            "/graph/me/drive/root:/a%20b%2Fc.txt:/content",
            Ok("/me/drive/root:/a%20b%2Fc.txt:/content"),
        ),
        ("/graph/a//b;c=1/...", Ok("/a//b;c=1/...")),
        ("/graph//evil.example/x", Err(400)),
        ("/graph/%2F/evil.example", Err(400)),
        ("/graph/@evil.example", Err(400)),
        ("/graph/%40evil.example", Err(400)),
        ("/graph/\\evil.example", Err(400)),
        ("/graph/a%5Cb", Err(400)),
        ("/graph/../deep", Err(400)),
        ("/graph/a/%2e%2E/b", Err(400)),
        ("/graph/a/.;x/b", Err(400)),
        ("/deep/..%2f..", Err(400)),
        ("/graph/%00", Err(400)),
        ("/graph/%0d%0aX-Evil:1", Err(400)),
        ("/graph/%", Err(400)),
        ("/graph@evil.example/x", Err(404)),
        ("//evil.example/x", Err(404)),
        ("/", Err(404)),
        ("/%67raph/x", Err(404)),
    ] {
        let before = peer.seen().len();
        let answer = raw(
            app.gateway,
            &format!(
                "GET {sent} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                app.gateway
            ),
        );
        let calls: Vec<_> = peer.seen().split_off(before);
        match expected {
            Ok(path) => {
                assert!(answer.starts_with("HTTP/1.1 200"), "{sent}: {answer}");
                assert_eq!(calls.len(), 1, "{sent}");
                assert_eq!(calls[0].uri.to_string(), path, "{sent}");
                assert_eq!(calls[0].headers["host"], peer.address.to_string());
            }
            Err(status) => {
                assert!(
                    answer.starts_with(&format!("HTTP/1.1 {status}")),
                    "{sent}: {answer}"
                );
                assert!(calls.is_empty(), "{sent} reached the upstream");
            }
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn an_unknown_upstream_is_told_the_known_ones() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = call(&app, Method::GET, "/grpah/v1.0/me", &[]).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert_eq!(reply.json()["code"], "unknown_upstream");
    assert!(reply.json()["detail"].as_str().unwrap().contains("graph"));
    app.stop().await;
}

#[tokio::test]
async fn spillway_s_own_headers_and_cookies_stay_here_and_the_rest_passes() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = call(
        &app,
        Method::PATCH,
        FREE,
        &[
            ("Spillway-Token", "secret"),
            ("Spillway-User", "ann"),
            ("spillway-anything", "x"),
            (
                "Cookie",
                "a=1; spillway_session=s; __Host-spillway_session=t; b=2",
            ),
            ("Connection", "X-Hop, keep-alive"),
            ("X-Hop", "1"),
            ("Proxy-Authorization", "Basic x"),
            ("TE", "trailers"),
            ("Upgrade", "h2c"),
            ("Authorization", "Bearer opaque"),
            ("X-Twice", "1"),
            ("X-Twice", "2"),
            ("Accept-Encoding", "gzip"),
        ],
    )
    .await;
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (StatusCode::OK, "answer")
    );
    let seen = peer.only();
    assert_eq!(seen.method, Method::PATCH);
    let mut headers: Vec<_> = seen
        .headers
        .iter()
        .map(|(n, v)| format!("{n}: {}", v.to_str().unwrap()))
        .collect();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            "accept-encoding: gzip",
            "authorization: Bearer opaque",
            "content-length: 0",
            "cookie: a=1; b=2",
            &format!("host: {}", peer.address),
            "x-twice: 1",
            "x-twice: 2",
        ]
    );
    app.stop().await;
}

/// A client's library may leave such a body out; hyper's does.
#[tokio::test]
async fn a_body_of_unknown_length_goes_up_whatever_its_method() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        ok(request.into_body().collect().await.unwrap().to_bytes())
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    for method in ["GET", "DELETE", "POST"] {
        let mut client = TcpStream::connect(app.gateway).await.unwrap();
        let sent = format!(
            "{method} {FREE} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            app.gateway
        );
        client.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{method}: {answer}");
        assert!(answer.contains("hello"), "{method}: {answer}");
    }
    app.stop().await;
}

/// Servers answer 411 to a `POST` that says nothing of its body.
#[tokio::test]
async fn a_method_that_expects_a_body_says_when_it_has_none() {
    for (method, length) in [
        (Method::POST, Some("0")),
        (Method::PUT, Some("0")),
        (Method::PATCH, Some("0")),
        (Method::GET, None),
        (Method::DELETE, None),
    ] {
        let peer = upstream().await;
        let app = TestApp::start(&peer.onenote()).await;
        call(&app, method.clone(), FREE, &[]).await;
        let seen = peer.only();
        let told = seen.headers.get("content-length");
        assert_eq!(told.map(|told| told.to_str().unwrap()), length, "{method}");
        assert!(!seen.headers.contains_key("transfer-encoding"), "{method}");
        app.stop().await;
    }
}

#[tokio::test]
async fn what_is_malformed_or_no_call_is_refused() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let get = Method::GET;
    for (method, headers, status, code) in [
        (
            &get,
            vec![("Spillway-User", "a"), ("Spillway-User", "b")],
            400,
            "bad_header",
        ),
        (
            &get,
            vec![("Spillway-Unknown", "a"), ("Spillway-Unknown", "a")],
            400,
            "bad_header",
        ),
        (
            &get,
            vec![("Connection", "close, Spillway-Token")],
            400,
            "bad_header",
        ),
        (
            &get,
            vec![
                ("Connection", "Authorization"),
                ("Authorization", "Bearer x"),
            ],
            400,
            "bad_header",
        ),
        (&get, vec![("Spillway-Weight", "0")], 400, "bad_header"),
        (&get, vec![("Spillway-Weight", "1.5")], 400, "bad_header"),
        (&get, vec![("Spillway-Wait-Ms", "-1")], 400, "bad_header"),
        (&get, vec![("Spillway-Wait-Ms", "soon")], 400, "bad_header"),
        (&get, vec![("Spillway-Lane", "middle")], 400, "bad_header"),
        (
            &get,
            vec![("Sec-Fetch-Mode", "navigate")],
            403,
            "navigation",
        ),
        (
            &get,
            vec![("Connection", "Upgrade"), ("Upgrade", "websocket")],
            501,
            "upgrade_unsupported",
        ),
        (&get, vec![("Expect", "something")], 417, "expectation"),
        (
            &Method::OPTIONS,
            vec![("Access-Control-Request-Method", "GET")],
            403,
            "origin_not_allowed",
        ),
    ] {
        let reply = call(&app, method.clone(), FREE, &headers).await;
        assert_eq!(reply.status, status, "{headers:?}");
        assert_eq!(reply.json()["code"], code, "{headers:?}");
        assert_eq!(
            reply.header("content-security-policy"),
            "sandbox",
            "{headers:?}"
        );
        assert_eq!(
            reply.header("x-content-type-options"),
            "nosniff",
            "{headers:?}"
        );
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

#[tokio::test]
async fn a_limited_call_needs_somebody_to_charge() {
    let peer = upstream().await;
    let app = TestApp::start(&peer.onenote()).await;
    let pages = "/graph/v1.0/me/onenote/pages";
    let nobody = call(&app, Method::GET, pages, &[]).await;
    assert_eq!(nobody.status, StatusCode::BAD_REQUEST);
    assert_eq!(nobody.json()["code"], "no_identity");
    assert!(
        nobody.json()["detail"]
            .as_str()
            .unwrap()
            .contains("Authorization")
    );
    let two = [("Authorization", "Bearer a"), ("Authorization", "Bearer b")];
    assert_eq!(
        call(&app, Method::GET, pages, &two).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(peer.counts().arrived, 0);
    for somebody in [("Authorization", "Bearer opaque"), ("Spillway-User", "ann")] {
        assert_eq!(
            call(&app, Method::GET, pages, &[somebody]).await.status,
            StatusCode::OK
        );
    }
    app.stop().await;
}
