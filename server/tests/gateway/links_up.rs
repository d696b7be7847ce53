//! Links that clients kept from the gateway, on their way up: the upstream gets its own.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::links::here;
use crate::support::peer::{Peer, ok};
use crate::support::{Reply, TestApp, send};

/// An upstream that answers what it was sent.
async fn echo() -> Peer {
    Peer::start(|request: Request<Incoming>| async move {
        ok(request.into_body().collect().await.unwrap().to_bytes())
    })
    .await
}

async fn post(app: &TestApp, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/graph/v1.0/me");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = send(app.gateway, request.body(Full::new(body.into())).unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK);
    reply
}

const JSON: (&str, &str) = ("content-type", "application/json");
const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");

#[tokio::test]
async fn references_and_pictures_go_up_as_the_upstream_s() {
    let peer = echo().await;
    let app = TestApp::start(&peer.onenote()).await;
    let upstream = format!("http://{}", peer.address);
    for (kind, body) in [
        (
            JSON,
            r#"{"@odata.id":"{}/v1.0/directoryObjects/1","owners@odata.bind":["{}/v1.0/users('a')"],"note":"NOTE"}"#,
        ),
        (
            HTML,
            r#"<html><img src="{}/v1.0/me/onenote/resources/1/$value"></html>"#,
        ),
    ] {
        let sent = body.replace("{}", &here(&app));
        let digests = [
            kind,
            ("content-md5", "x"),
            ("digest", "x"),
            ("if-match", "\"e\""),
        ];
        let reply = post(&app, &digests, sent).await;
        let expected = body.replace("{}", &upstream);
        assert_eq!(reply.text(), expected);
        let seen = peer.seen().pop().unwrap().headers;
        assert_eq!(seen["content-length"], expected.len().to_string());
        assert!(!seen.contains_key("content-md5") && !seen.contains_key("digest"));
        assert_eq!(seen["if-match"], "\"e\"");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_names_no_gateway_goes_up_as_it_came() {
    let peer = echo().await;
    let app = TestApp::start(&peer.onenote()).await;
    let linked = format!(r#"{{"@odata.id":"{}/x"}}"#, here(&app));
    for (headers, body) in [
        (
            &[JSON, ("digest", "x")][..],
            r#"{"@odata.id":"https://other/x","a": "b" }"#,
        ),
        (&[JSON, ("digest", "x")], "no JSON"),
        (&[("content-type", "text/plain"), ("digest", "x")], &linked),
        (
            &[
                ("content-type", "multipart/form-data; boundary=x"),
                ("digest", "x"),
            ],
            &linked,
        ),
        (
            &[JSON, ("content-encoding", "gzip"), ("digest", "x")],
            &linked,
        ),
        (&[("digest", "x")], &linked),
    ] {
        assert_eq!(post(&app, headers, body.to_owned()).await.text(), body);
        let seen = peer.seen().pop().unwrap().headers;
        assert_eq!(
            (&seen["digest"], &seen["content-length"]),
            (&"x".parse().unwrap(), &body.len().into())
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn queries_go_up_as_the_upstream_s() {
    let peer = echo().await;
    let app = TestApp::start(&peer.onenote()).await;
    for (sent, up) in [
        (
            format!("@id={}/v1.0/directoryObjects/1", here(&app)),
            format!("@id=http://{}/v1.0/directoryObjects/1", peer.address),
        ),
        (
            "$skiptoken=a%20b&$filter=x eq 'y'".replace(' ', "%20"),
            "$skiptoken=a%20b&$filter=x eq 'y'".replace(' ', "%20"),
        ),
    ] {
        let request = Request::get(format!("/graph/v1.0/me?{sent}"))
            .body(Full::default())
            .unwrap();
        assert_eq!(send(app.gateway, request).await.status, StatusCode::OK);
        assert_eq!(peer.seen().pop().unwrap().uri.query(), Some(&*up));
    }
    app.stop().await;
}

/// Beyond 64 KiB, or of unknown length, a body streams, so that its length is not known ahead.
#[tokio::test]
async fn long_bodies_and_those_in_chunks_stream_and_go_up_in_chunks() {
    let peer = echo().await;
    let app = TestApp::start(&peer.onenote()).await;
    let upstream = format!("http://{}", peer.address);
    let long = format!(
        r#"{{"@odata.id":"{{}}/x","a":"{}","@odata.id":"{{}}/y"}}"#,
        "z".repeat(70_000)
    );
    let reply = post(&app, &[JSON], long.replace("{}", &here(&app))).await;
    assert!(reply.text() == long.replace("{}", &upstream));
    let seen = peer.seen().pop().unwrap().headers;
    assert_eq!(
        (seen.get("content-length"), &seen["transfer-encoding"]),
        (None, &"chunked".parse().unwrap())
    );

    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let body = format!(r#"{{"@odata.id":"{}/x"}}"#, here(&app));
    let (head, tail) = body.split_at(20);
    let request = format!(
        "POST /graph/v1.0/me HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{head}\r\n{:x}\r\n{tail}\r\n0\r\n\r\n",
        app.gateway,
        head.len(),
        tail.len()
    );
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.ends_with(&format!(r#"{{"@odata.id":"{upstream}/x"}}"#)),
        "{answer}"
    );
    app.stop().await;
}

/// Nothing of a short body goes up before all of it is there, so that a cut one costs nothing.
#[tokio::test]
async fn a_short_body_that_is_cut_never_goes_up() {
    let peer = echo().await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let request = format!(
        "POST /graph/v1.0/me HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{{\"a\"",
        app.gateway
    );
    client.write_all(request.as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.is_empty() || answer.contains("upload_cut"),
        "{answer}"
    );
    app.stop().await;
    assert_eq!(peer.counts().arrived, 0);
}
