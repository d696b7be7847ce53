//! TLS and HTTP/2 on both listeners.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod support;

use std::{net::SocketAddr, path::Path, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use rustls::version::{TLS12, TLS13};
use support::{
    NOBODY, Process, Reply, TestApp, config_text,
    peer::{Peer, ok},
    spillway,
    tls::{Certificates, over_h2},
    with_server,
};
use tokio::{net::TcpStream, time::timeout};

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).body(Full::default()).unwrap()
}

async fn start(upstreams: &str) -> (TestApp, Certificates) {
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::new());
    let keys = certificates.write(dir.path());
    let app = TestApp::start_with(dir, &keys, upstreams).await;
    (app, certificates)
}

#[tokio::test]
async fn both_listeners_speak_both_versions_of_tls_and_of_http() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let (app, certificates) = start(&peer.onenote()).await;
    for tls in [&TLS12, &TLS13] {
        for (offered, spoken) in [
            (&["h2", "http/1.1"][..], Version::HTTP_2),
            (&["http/1.1"], Version::HTTP_11),
            (&[], Version::HTTP_11),
        ] {
            let client = certificates.client_of(&[tls], offered);
            let (version, reply) = client.send(app.dashboard, get("/healthz")).await;
            assert_eq!((version, reply.status), (spoken, StatusCode::OK));
            let (version, reply) = client.send(app.gateway, get("/graph/v1.0/me")).await;
            assert_eq!(
                (version, reply.text().as_str()),
                (spoken, "answer"),
                "{offered:?}"
            );
        }
    }
    assert_eq!(peer.counts().arrived, 6);
    app.stop().await;
}

#[tokio::test]
async fn http2_works_in_the_clear_for_those_who_know() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = TestApp::start(&peer.onenote()).await;
    for (to, path) in [(app.dashboard, "/healthz"), (app.gateway, "/graph/v1.0/me")] {
        let io = TokioIo::new(TcpStream::connect(to).await.unwrap());
        let reply = over_h2(io, to, "http", get(path)).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    }
    app.stop().await;
}

fn code(reply: &Reply) -> (u16, String) {
    let code = reply.json()["code"].as_str().unwrap().to_owned();
    (reply.status.as_u16(), code)
}

#[tokio::test]
async fn an_http2_call_names_one_host_and_it_is_ours() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let (app, certificates) = start(&peer.onenote()).await;
    let client = certificates.client(&["h2"]);
    for to in [app.dashboard, app.gateway] {
        let foreign = get("https://evil.example/graph/v1.0/me");
        let refused = client.send(to, foreign).await.1;
        assert_eq!(code(&refused), (421, "unknown_host".into()));
        let mut two = get("/graph/v1.0/me");
        let other = "evil.example".parse().unwrap();
        two.headers_mut().insert("host", other);
        let refused = client.send(to, two).await.1;
        assert_eq!(code(&refused), (400, "host_ambiguous".into()));
        let mut same = get("/none/v1.0/me");
        let own = to.to_string().parse().unwrap();
        same.headers_mut().insert("host", own);
        assert_eq!(client.send(to, same).await.1.status, StatusCode::NOT_FOUND);
    }
    let client = certificates.client(&["http/1.1"]);
    for to in [app.dashboard, app.gateway] {
        let mut foreign = get("/graph/v1.0/me");
        let other = "evil.example".parse().unwrap();
        foreign.headers_mut().insert("host", other);
        let refused = client.send(to, foreign).await.1;
        assert_eq!(code(&refused), (421, "unknown_host".into()));
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}

/// HTTP/2 splits cookies, and has no headers for connections; its upstream speaks HTTP/1.1.
#[tokio::test]
async fn an_http2_call_goes_on_as_http1_would_send_it() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let (app, certificates) = start(&peer.onenote()).await;
    let request = Request::post("/graph/v1.0/me?a=1")
        .header("cookie", "a=1")
        .header("cookie", "spillway_session=s")
        .header("cookie", "b=2; c=3")
        .header("te", "trailers")
        .header("x-twice", "1")
        .header("x-twice", "2");
    let request = request.body(Full::from("body")).unwrap();
    let (_, reply) = certificates
        .client(&["h2"])
        .send(app.gateway, request)
        .await;
    assert_eq!(reply.text(), "answer");
    let seen = peer.only();
    let mut headers: Vec<_> = seen
        .headers
        .iter()
        .map(|(n, v)| format!("{n}: {}", v.to_str().unwrap()))
        .collect();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            "content-length: 4",
            "cookie: a=1; b=2; c=3",
            &format!("host: {}", peer.address),
            "x-twice: 1",
            "x-twice: 2",
        ]
    );
    assert_eq!(seen.uri, "/v1.0/me?a=1");
    app.stop().await;
}

#[tokio::test]
async fn clients_that_never_finish_their_handshake_are_in_nobody_s_way() {
    let (app, certificates) = start(NOBODY).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(app.dashboard).await.unwrap());
    }
    let client = certificates.client(&["h2"]);
    let answered = timeout(PATIENCE, client.send(app.dashboard, get("/healthz")));
    assert_eq!(answered.await.unwrap().1.status, StatusCode::OK);
    let plain = support::raw_async(app.dashboard, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(!plain.starts_with(b"HTTP/"), "{plain:?}");
    // Nor are they waited for at the end.
    timeout(PATIENCE, app.stop()).await.unwrap();
}

/// Looks at the certificate until it is not `old`.
async fn renewed(certificates: &Certificates, at: SocketAddr, old: &[u8]) {
    let client = certificates.client(&["h2"]);
    let renewed = async {
        while client.certificate(at).await.as_ref() == old {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, renewed).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_files_are_served_without_a_restart_and_broken_ones_are_not() {
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::new());
    let keys = certificates.write(dir.path());
    let config = with_server(&config_text(dir.path(), NOBODY), &keys);
    let server = Process::serve(dir.path(), &config);
    let client = certificates.client(&["h2"]);
    let first = client.certificate(server.gateway).await;

    // By itself, and without touching the connections that are open.
    let mut open = client.connect(server.gateway).await.unwrap();
    certificates.write(dir.path());
    renewed(&certificates, server.gateway, &first).await;
    let second = client.certificate(server.dashboard).await;
    assert_ne!(second, first);
    tokio::io::AsyncWriteExt::write_all(&mut open, b"PRI")
        .await
        .unwrap();

    // Half of a pair changes nothing, the other half completes it.
    let old_key = std::fs::read(dir.path().join("key.pem")).unwrap();
    certificates.write(dir.path());
    let new_key = std::fs::read(dir.path().join("key.pem")).unwrap();
    std::fs::write(dir.path().join("key.pem"), old_key).unwrap();
    server.signal("HUP");
    server.until_logged("does not belong to the certificate");
    assert_eq!(client.certificate(server.gateway).await, second);
    std::fs::write(dir.path().join("key.pem"), new_key).unwrap();
    server.signal("HUP");
    renewed(&certificates, server.gateway, &second).await;

    server.terminate();
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// What is said on standard error; it must be one line, with exit code 2.
fn refused(dir: &Path, keys: &str) -> String {
    let config = with_server(&config_text(dir, NOBODY), keys);
    std::fs::write(dir.join("spillway.toml"), config).unwrap();
    let output = spillway()
        .args(["serve", "--open"])
        .current_dir(dir)
        .output()
        .unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    line
}

#[test]
fn a_certificate_that_cannot_be_served_ends_the_start_by_its_key() {
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::new());
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (file, content, problem) in [
        (
            &cert,
            None,
            "server.tls_cert: CERT cannot be read: No such file",
        ),
        (
            &key,
            None,
            "server.tls_key: KEY cannot be read: No such file",
        ),
        (
            &cert,
            Some("DER"),
            "server.tls_cert: CERT holds no certificate",
        ),
        (
            &key,
            Some("DER"),
            "server.tls_key: KEY holds no private key",
        ),
        (&key, Some(encrypted), "server.tls_key: KEY is encrypted"),
        (
            &cert,
            Some("-----BEGIN CERTIFICATE-----\nAAAA\n"),
            "server.tls_cert: CERT is not PEM",
        ),
        (
            &cert,
            Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            "server.tls_cert: CERT cannot be served",
        ),
    ] {
        let keys = certificates.write(dir.path());
        match content {
            Some(content) => std::fs::write(file, content).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        let line = refused(dir.path(), &keys);
        let line = line
            .replace(cert.to_str().unwrap(), "CERT")
            .replace(key.to_str().unwrap(), "KEY");
        assert!(line.starts_with(&format!("spillway: {problem}")), "{line}");
    }
    certificates.write(dir.path());
    let other = std::fs::read(&key).unwrap();
    let keys = certificates.write(dir.path());
    std::fs::write(&key, other).unwrap();
    let line = refused(dir.path(), &keys);
    assert!(
        line.contains("server.tls_key: ") && line.contains("does not belong to the certificate"),
        "{line}"
    );
}
