//! Who may ask at all, what is logged, and how the server ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Full;
use support::{NOBODY, Process, Reply, TestApp, config_text, raw, send};

/// Routes of both listeners, known and unknown.
const PATHS: [&str; 9] = [
    "/",
    "/healthz",
    "/readyz",
    "/api/v1/state",
    "/api/none",
    "/sign-in",
    "/set-up",
    "/none",
    "/graph/v1.0/me",
];

fn get(path: &str) -> http::request::Builder {
    Request::get(path)
}

fn empty(request: http::request::Builder) -> Request<Full<Bytes>> {
    request.body(Full::default()).unwrap()
}

fn code(reply: &Reply) -> String {
    assert_eq!(
        reply.header("content-type"),
        "application/problem+json",
        "{reply:?}"
    );
    reply.json()["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_route_of_both_listeners_answers_for_its_own_hosts_alone() {
    let app = TestApp::start(NOBODY).await;
    for listener in [app.dashboard, app.gateway] {
        for path in PATHS {
            for host in ["evil.example", "127.0.0.1", "localhost:3000", "127.0.0.1:1"] {
                let reply = send(listener, empty(get(path).header(header::HOST, host))).await;
                assert_eq!(
                    reply.status,
                    StatusCode::MISDIRECTED_REQUEST,
                    "{host}{path}"
                );
                assert_eq!(code(&reply), "unknown_host");
            }
        }
    }
    for own in [app.dashboard, app.gateway] {
        let request = get("/healthz").header(header::HOST, own.to_string());
        assert_eq!(
            send(app.dashboard, empty(request)).await.status,
            StatusCode::OK
        );
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_exactly_one_host() {
    let app = TestApp::start(NOBODY).await;
    let own = app.dashboard;
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\n".to_owned(), "400"),
        (
            format!("GET /healthz HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\n"),
            "400",
        ),
        (
            format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: {own}\r\n"),
            "421",
        ),
        (
            format!("GET http://{own}/healthz HTTP/1.1\r\nHost: evil.example\r\n"),
            "421",
        ),
        (
            format!("GET http://{own}/healthz HTTP/1.1\r\nHost: {own}\r\n"),
            "200",
        ),
    ] {
        let answer = raw(own, &format!("{request}Connection: close\r\n\r\n"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}{answer}"
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn while_open_forwarded_requests_are_refused_everywhere() {
    let app = TestApp::start(NOBODY).await;
    for listener in [app.dashboard, app.gateway] {
        for name in [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-host",
            "X-Forwarded-Anything",
        ] {
            let reply = send(
                listener,
                empty(get("/healthz").header(name, "for=192.0.2.1")),
            )
            .await;
            assert_eq!(
                (reply.status, code(&reply)),
                (StatusCode::FORBIDDEN, "forwarded".to_owned()),
                "{name}"
            );
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn health_says_that_it_is_up_and_ready() {
    let app = TestApp::start(NOBODY).await;
    assert_eq!(app.get("/healthz").await.json()["status"], "up");
    let ready = app.get("/readyz").await;
    assert_eq!(ready.status, StatusCode::OK);
    let checks = serde_json::json!({ "database": "ok", "limiters": "ok", "running": "ok" });
    assert_eq!(
        ready.json(),
        serde_json::json!({ "status": "ready", "checks": checks })
    );
    app.stop().await;
}

#[tokio::test]
async fn the_api_answers_with_problems() {
    let app = TestApp::start(NOBODY).await;
    for path in ["/api", "/api/v1/none", "/api/v2/state"] {
        let reply = app.get(path).await;
        assert_eq!(
            (reply.status, code(&reply)),
            (StatusCode::NOT_FOUND, "not_found".to_owned()),
            "{path}"
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn pages_are_rendered_under_a_policy_of_their_own() {
    let app = TestApp::start(NOBODY).await;
    let page = app.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.header("content-type").starts_with("text/html"),
        "{page:?}"
    );
    assert_eq!(page.header("cache-control"), "no-store");
    let policy = page.header("content-security-policy");
    let nonce = policy
        .split("'nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert!(
        page.text().contains(nonce),
        "the page's scripts carry its nonce"
    );
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_ne!(
        policy,
        app.get("/").await.header("content-security-policy"),
        "each page has its own"
    );
    for path in ["/no/such/page", "/../", "/%2e%2e/", "/none/..", "//"] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert!(
            reply.text().contains("There is no such page"),
            "{path}: {reply:?}"
        );
    }
    for path in ["/", "/healthz", "/no/such/page", "/api/none"] {
        let reply = app.get(path).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert!(
            reply
                .header("content-security-policy")
                .contains("frame-ancestors 'none'"),
            "{path}"
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn files_are_served_compressed_and_always_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let pkg = dir.path().join("site/pkg");
    std::fs::create_dir_all(&pkg).unwrap();
    std::fs::write(pkg.join("spillway.js"), "plain").unwrap();
    std::fs::write(pkg.join("spillway.js.br"), "brotli").unwrap();
    std::fs::write(dir.path().join("site/secret"), "s").unwrap();
    let app = TestApp::start_in(dir, NOBODY).await;

    let plain = app.get("/pkg/spillway.js").await;
    assert_eq!(
        (plain.text().as_str(), plain.header("cache-control")),
        ("plain", "no-cache")
    );
    assert!(
        plain.header("content-type").contains("javascript"),
        "{plain:?}"
    );
    let since = plain.header("last-modified");
    let again = send(
        app.dashboard,
        empty(get("/pkg/spillway.js").header(header::IF_MODIFIED_SINCE, since)),
    )
    .await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    assert_eq!(again.header("vary"), "accept-encoding");
    let brotli = send(
        app.dashboard,
        empty(get("/pkg/spillway.js").header(header::ACCEPT_ENCODING, "br")),
    )
    .await;
    assert_eq!(
        (brotli.text().as_str(), brotli.header("content-encoding")),
        ("brotli", "br")
    );
    for reply in [&plain, &brotli] {
        assert_eq!(reply.header("vary"), "accept-encoding", "{reply:?}");
    }
    for path in [
        "/pkg/../../spillway.db",
        "/pkg/%2e%2e/%2e%2e/spillway.db",
        "/pkg/none.js",
        "/pkg/",
        "/pkg/spillway.js.br",
        "/pkg/spillway.js.%62r",
    ] {
        assert_eq!(app.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    app.stop().await;
}

#[test]
fn sigterm_ends_streams_at_once_persists_and_exits_with_0() {
    let dir = tempfile::tempdir().unwrap();
    let server = Process::serve(dir.path(), &config_text(dir.path(), NOBODY));
    let mut stream = Stream::open(server.dashboard);
    stream.read_until("event: snapshot");
    let begun = Instant::now();
    server.terminate();
    stream.read_to_its_end();
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "an endless answer must not be waited for"
    );
    assert!(log.contains("\"ended\""), "{log}");
}

#[test]
fn the_log_holds_each_request_and_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let server = Process::serve(dir.path(), &config_text(dir.path(), NOBODY));
    for to in [server.dashboard, server.gateway] {
        let request = format!(
            "POST /graph/v1.0/me/onenote/pages?q=secret-query HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer secret-bearer\r\n\
             Cookie: id=secret-cookie\r\nSpillway-Token: secret-token\r\nContent-Length: 11\r\nConnection: close\r\n\r\nsecret-body"
        );
        assert!(raw(to, &request).starts_with("HTTP/1.1 "));
    }
    server.terminate();
    let (_, log) = server.wait();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    for listener in ["dashboard", "gateway"] {
        let line = lines
            .iter()
            .find(|line| line["listener"] == listener)
            .unwrap_or_else(|| panic!("{log}"));
        assert_eq!(line["path"], "/graph/v1.0/me/onenote/pages");
        assert_eq!(line["method"], "POST");
        assert!(
            line["status"].as_u64().unwrap() >= 400
                && line["request_id"].is_string()
                && line["duration_ms"].is_u64()
        );
    }
    assert!(!log.contains("secret-"), "{log}");
}

/// The live stream, read as it comes.
struct Stream(TcpStream);

impl Stream {
    fn open(dashboard: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(dashboard).unwrap();
        let patience = Duration::from_secs(30);
        stream.set_read_timeout(Some(patience)).unwrap();
        let request = format!("GET /api/v1/live HTTP/1.1\r\nHost: {dashboard}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Self(stream)
    }

    fn read_until(&mut self, text: &str) {
        let mut read = Vec::new();
        let mut some = [0; 1024];
        while !String::from_utf8_lossy(&read).contains(text) {
            let bytes = self.0.read(&mut some).unwrap();
            assert_ne!(bytes, 0, "ended before {text}");
            read.extend_from_slice(&some[..bytes]);
        }
    }

    fn read_to_its_end(&mut self) {
        self.0.read_to_end(&mut Vec::new()).unwrap();
    }
}
