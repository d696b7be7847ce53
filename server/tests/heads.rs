//! Heads that lie, hide a second request or never end: on both listeners, in plain text and
//! under TLS, byte by byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header::ALLOW};
use http_body_util::Full;
use support::{
    TestApp,
    peer::{Peer, ok},
    raw_async, send,
    tls::Certificates,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call for which no limit applies.
const FREE: &str = "/graph/v1.0/me";

/// Any one answer: the head has one meaning after all, or the connection ends without.
const ONE: u16 = 0;

/// What is wrong with a head, and what it is answered with.
fn bad_heads(host: SocketAddr) -> Vec<(String, u16)> {
    let post = |headers: &str, body: &str| {
        format!("POST {FREE} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n\r\n{body}")
    };
    let get = |target: &str, headers: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n\r\n")
    };
    let smuggled = format!("GET /graph/smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let chunked = format!("0\r\n\r\n{smuggled}");
    let many: String = (0..101).map(|n| format!("X-{n}: 1\r\n")).collect();
    vec![
        // Two lengths: the chunks count (RFC 9112, 6.1), and the upstream is told of them alone.
        (
            post("Content-Length: 4\r\nTransfer-Encoding: chunked", &chunked),
            ONE,
        ),
        (
            post("Transfer-Encoding: chunked\r\nContent-Length: 4", &chunked),
            ONE,
        ),
        (post("Content-Length: 3 ", "abc"), ONE),
        // The same length twice is one (RFC 9112, 6.3); the upstream is told it once.
        (post("Content-Length: 3\r\nContent-Length: 3", "abc"), ONE),
        // Lines that end in LF alone (RFC 9112, 2.2) go on with CRLF.
        (
            format!("GET {FREE} HTTP/1.1\nHost: {host}\nConnection: close\n\n"),
            ONE,
        ),
        // Lengths that nobody can know.
        (
            post("Content-Length: 0\r\nContent-Length: 60", &smuggled),
            400,
        ),
        (post("Content-Length: 0, 60", &smuggled), 400),
        (post("Content-Length: +3", "abc"), 400),
        (post("Content-Length: -1", "abc"), 400),
        (post("Transfer-Encoding: chunked, identity", &chunked), 400),
        (post("Transfer-Encoding: identity, chunked", &chunked), 400),
        (post("Transfer-Encoding: gzip, chunked", &chunked), 400),
        (post("Transfer-Encoding: chunked, chunked", &chunked), 400),
        (
            post(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                &chunked,
            ),
            400,
        ),
        (post("Transfer-Encoding: \u{b}chunked", &chunked), 400),
        (
            format!(
                "POST {FREE} HTTP/1.0\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"
            ),
            400,
        ),
        (post("Transfer-Encoding: xchunked", &chunked), 400),
        (
            post(
                "Transfer-Encoding: identity\r\nContent-Length: 0",
                &smuggled,
            ),
            400,
        ),
        // Headers that are not what they look like.
        (post("Transfer-Encoding : chunked", &chunked), 400),
        (post("X-A: 1\r\n Transfer-Encoding: chunked", &chunked), 400),
        (get(FREE, "X-A: a\rSpillway-User: eve"), 400),
        (get(FREE, "X-A: \0"), 400),
        (get(FREE, "X A: 1"), 400),
        (get(FREE, &format!("Host: {host}")), 400),
        (
            format!("GET {FREE} HTTP/1.1\r\nConnection: close\r\n\r\n"),
            400,
        ),
        (get(&format!("{FREE} /x"), "X: 1"), 400),
        (format!("GET {FREE} HTTP/2.0\r\nHost: {host}\r\n\r\n"), 400),
        (format!("GET {FREE}\r\n\r\n"), 400),
        ("\u{16}\u{3}\u{1}\r\n\r\n".to_owned(), 400),
        // What has no end.
        (get(&format!("{FREE}?{}", "a".repeat(20_000)), "X: 1"), 414),
        (get(&format!("{FREE}?{}", "a".repeat(70_000)), "X: 1"), 431),
        (get(FREE, &format!("X: {}", "a".repeat(70_000))), 431),
        (get(FREE, &format!("{many}X: 1")), 431),
        // What is no call.
        (
            format!("TRACE {FREE} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            405,
        ),
        (
            format!("TRACK {FREE} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            405,
        ),
        (
            format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            405,
        ),
        (
            format!("CONNECT evil.example:443 HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            421,
        ),
        (
            format!("GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            421,
        ),
        (
            format!("GET {FREE} HTTP/1.1\r\nHost: {host}@evil.example\r\n\r\n"),
            421,
        ),
        (
            format!("GET {FREE} HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            421,
        ),
    ]
}

fn assert_refused(answer: &[u8], head: &str, expected: u16) {
    let answer = String::from_utf8_lossy(answer);
    let head: String = head.chars().take(120).collect();
    let status = answer.get(9..12).and_then(|it| it.parse().ok());
    assert!(
        expected == ONE || status == Some(expected),
        "{head:?} is answered with {answer:?}"
    );
    let answers = answer.matches("HTTP/1.1 ").count();
    assert!(answers <= 1, "{head:?} is answered twice: {answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_in_two_ways_is_refused_and_nothing_is_smuggled() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    for to in [app.dashboard, app.gateway] {
        for (head, expected) in bad_heads(to) {
            let answer = timeout(PATIENCE, raw_async(to, &closing(&head))).await;
            assert_refused(&answer.expect("the server closes"), &head, expected);
        }
    }
    assert_untouched(&peer);
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_tls_they_are_refused_as_well() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::new());
    let keys = certificates.write(dir.path());
    let app = TestApp::start_with(dir, &keys, &peer.onenote()).await;
    let client = certificates.client(&["http/1.1"]);
    for to in [app.dashboard, app.gateway] {
        for (head, expected) in bad_heads(to) {
            let mut stream = client.connect(to).await.unwrap();
            stream.write_all(closing(&head).as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // A server that closes on what it has not read resets the connection.
            let _ = timeout(PATIENCE, stream.read_to_end(&mut answer))
                .await
                .unwrap();
            assert_refused(&answer, &head, expected);
        }
    }
    assert_untouched(&peer);
    app.stop().await;
}

/// The same head, asking for the connection's end, so that a test can wait for it.
fn closing(head: &str) -> String {
    head.replacen("\r\nHost: ", "\r\nConnection: close\r\nHost: ", 1)
}

/// Only the calls that have one meaning arrived, framed once.
fn assert_untouched(peer: &Peer) {
    let seen = peer.seen();
    let framing = |name: &str| {
        let framed = seen.iter().filter_map(|seen| seen.headers.get(name));
        framed.map(|it| it.to_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(framing("transfer-encoding"), ["chunked"; 2]);
    assert_eq!(framing("content-length"), ["3"; 2]);
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.iter().all(|seen| seen.uri == "/v1.0/me"), "{seen:?}");
}

/// Attacks: two lengths, on a connection that a proxy in front shares among its clients. What it
/// took for the rest of a body, or for the next call, is behind the end of the connection
/// (RFC 9112, 6.1), even if nobody asked for that end.
#[tokio::test]
async fn behind_two_lengths_the_connection_ends() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    for to in [app.dashboard, app.gateway] {
        let next = format!("GET /graph/smuggled HTTP/1.1\r\nHost: {to}\r\n\r\n");
        let call = |framing: &str| {
            format!("POST {FREE} HTTP/1.1\r\nHost: {to}\r\n{framing}\r\n\r\n0\r\n\r\n{next}")
        };
        for framing in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Transfer-Encoding: chunked\r\nX: 1\r\nContent-Length: 0",
        ] {
            let answer = timeout(PATIENCE, raw_async(to, &call(framing))).await;
            let answer = String::from_utf8(answer.expect("the server closes")).unwrap();
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        }
    }
    let seen = peer.seen();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(seen.iter().all(|seen| seen.uri == "/v1.0/me"), "{seen:?}");
    app.stop().await;
}

#[tokio::test]
async fn heads_of_http2_have_the_same_bounds() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::new());
    let keys = certificates.write(dir.path());
    let app = TestApp::start_with(dir, &keys, &peer.onenote()).await;
    let client = certificates.client(&["h2"]);
    for to in [app.dashboard, app.gateway] {
        let get = |target: &str| Request::get(target).body(Full::<Bytes>::default()).unwrap();
        let long = get(&format!("{FREE}?{}", "a".repeat(20_000)));
        assert_eq!(
            client.send(to, long).await.1.status,
            StatusCode::URI_TOO_LONG
        );
        let mut many = get(FREE);
        for n in 0..101 {
            let name = http::HeaderName::try_from(format!("x-{n}")).unwrap();
            many.headers_mut()
                .insert(name, http::HeaderValue::from_static("1"));
        }
        let told = client.send(to, many).await.1;
        assert_eq!(told.status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        let mut trace = get(FREE);
        *trace.method_mut() = Method::TRACE;
        let told = client.send(to, trace).await.1;
        assert_eq!(told.status, StatusCode::METHOD_NOT_ALLOWED);
        assert!(told.headers.contains_key(ALLOW));
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// Every answer has a number, which the log has, too; the client's own is repeated.
#[tokio::test]
async fn every_answer_of_both_listeners_has_a_number() {
    let peer = Peer::start(|request| async move {
        let mut response = ok("answer");
        if request.uri().path().ends_with("own") {
            let own = "upstream-s".parse().unwrap();
            response.headers_mut().insert("request-id", own);
        }
        response
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    for (to, path) in [
        (app.dashboard, "/healthz"),
        (app.dashboard, "/none"),
        (app.gateway, FREE),
        (app.gateway, "/none"),
    ] {
        let request = Request::get(path).header("client-request-id", "mine");
        let reply = send(to, request.body(Full::default()).unwrap()).await;
        assert_eq!(reply.header("request-id").len(), 36, "{path}: {reply:?}");
    }
    let own = Request::get("/graph/own").body(Full::default()).unwrap();
    let reply = send(app.gateway, own).await;
    assert_eq!(reply.header("request-id"), "upstream-s");
    app.stop().await;
}
