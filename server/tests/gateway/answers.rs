//! What of the upstream's answers reaches the caller, and how bodies stream.

use std::{convert::Infallible, time::Duration};

use crate::support::peer::{Peer, PeerBody, body, ok};
use crate::support::{Reply, TestApp, send};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};

const FREE: &str = "/graph/v1.0/me";

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

async fn get(app: &TestApp, method: Method, path: &str) -> Reply {
    let request = Request::builder().method(method).uri(path);
    send(app.gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

/// A body whose chunks come when a test sends them.
fn dripping() -> (mpsc::Sender<Bytes>, PeerBody) {
    let (sender, mut receiver) = mpsc::channel(1);
    let chunks = futures_util::stream::poll_fn(move |context| {
        receiver
            .poll_recv(context)
            .map(|chunk| chunk.map(|data: Bytes| Ok::<_, Infallible>(Frame::data(data))))
    });
    (sender, StreamBody::new(chunks).boxed())
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn statuses_and_headers_pass_but_nothing_that_sets_state() {
    let peer = Peer::start(|_| async {
        Response::builder()
            .status(207)
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("clear-site-data", "\"*\"")
            .header("strict-transport-security", "max-age=1")
            .header("alt-svc", "h3=\":443\"")
            .header("service-worker-allowed", "/")
            .header("spillway-blocked-by", "queue")
            .header("content-security-policy", "default-src *")
            .header("retry-after", "7")
            .header("x-ms-ags-diagnostic", "{}")
            .header("etag", "\"e\"")
            .body(body("multi"))
            .unwrap()
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = get(&app, Method::GET, FREE).await;
    assert_eq!(
        (reply.status.as_u16(), reply.text().as_str()),
        (207, "multi")
    );
    let mut names: Vec<_> = reply
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "content-length",
            "content-security-policy",
            "content-security-policy",
            "date",
            "etag",
            "request-id",
            "retry-after",
            "x-content-type-options",
            "x-ms-ags-diagnostic",
        ]
    );
    assert!(
        reply
            .headers
            .get_all("content-security-policy")
            .iter()
            .any(|policy| policy == "sandbox")
    );
    app.stop().await;
}

#[tokio::test]
async fn redirects_are_passed_back_and_never_followed() {
    let peer = Peer::start(|_| async {
        Response::builder()
            .status(302)
            .header("location", "http://127.0.0.1:9/elsewhere")
            .body(body(""))
            .unwrap()
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = get(&app, Method::GET, FREE).await;
    assert_eq!(reply.status, StatusCode::FOUND);
    assert_eq!(reply.header("location"), "http://127.0.0.1:9/elsewhere");
    assert_eq!(peer.counts().arrived, 1);
    app.stop().await;
}

#[tokio::test]
async fn answers_without_a_body_keep_their_lengths() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        let response = Response::builder();
        match (request.method(), request.uri().path()) {
            (&Method::HEAD, _) => response.header("content-length", "12345").body(body("")),
            (_, "/v1.0/none") => response.status(204).body(body("")),
            (_, "/v1.0/same") => response.status(304).header("etag", "\"e\"").body(body("")),
            _ => response.header("content-length", "0").body(body("")),
        }
        .unwrap()
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let head = get(&app, Method::HEAD, FREE).await;
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (StatusCode::OK, "12345", 0)
    );
    let none = get(&app, Method::DELETE, "/graph/v1.0/none").await;
    assert_eq!(
        (none.status, none.headers.contains_key("transfer-encoding")),
        (StatusCode::NO_CONTENT, false)
    );
    let same = get(&app, Method::GET, "/graph/v1.0/same").await;
    assert_eq!(
        (same.status, same.header("etag")),
        (StatusCode::NOT_MODIFIED, "\"e\"")
    );
    let empty = get(&app, Method::GET, FREE).await;
    assert_eq!((empty.header("content-length"), empty.body.len()), ("0", 0));
    app.stop().await;
}

#[tokio::test]
async fn an_answer_streams_its_first_chunk_long_before_its_last() {
    let (chunks, dripping) = dripping();
    let dripping = std::sync::Arc::new(std::sync::Mutex::new(Some(dripping)));
    let peer = Peer::start(move |_| {
        let body = dripping.lock().unwrap().take().unwrap();
        async { Response::new(body) }
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let request = format!("GET {FREE} HTTP/1.1\r\nHost: {}\r\n\r\n", app.gateway);
    client.write_all(request.as_bytes()).await.unwrap();
    assert!(
        timeout(PATIENCE, head(&mut client))
            .await
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    let mut chunk = [0; 10];
    for _ in 0..3 {
        // The next is sent only after this one has been seen: nothing waits for more.
        chunks.send(Bytes::from_static(b"12345")).await.unwrap();
        timeout(PATIENCE, client.read_exact(&mut chunk))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&chunk, b"5\r\n12345\r\n");
    }
    drop(chunks);
    timeout(PATIENCE, client.read_exact(&mut chunk[..5]))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&chunk[..5], b"0\r\n\r\n");
    app.stop().await;
}

#[tokio::test]
async fn a_call_streams_its_first_chunk_long_before_its_last() {
    let (arrived, mut arrivals) = mpsc::channel::<Bytes>(1);
    let peer = Peer::start(move |mut request: Request<Incoming>| {
        let arrived = arrived.clone();
        async move {
            while let Some(frame) = request.body_mut().frame().await {
                arrived
                    .send(frame.unwrap().into_data().unwrap())
                    .await
                    .unwrap();
            }
            ok("got it")
        }
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let request = format!(
        "POST {FREE} HTTP/1.1\r\nHost: {}\r\nContent-Length: 15\r\n\r\n",
        app.gateway
    );
    client.write_all(request.as_bytes()).await.unwrap();
    for chunk in ["12345", "67890", "abcde"] {
        client.write_all(chunk.as_bytes()).await.unwrap();
        assert_eq!(
            timeout(PATIENCE, arrivals.recv()).await.unwrap().unwrap(),
            chunk
        );
    }
    assert!(
        timeout(PATIENCE, head(&mut client))
            .await
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    assert_eq!(peer.only().headers["content-length"], "15");
    app.stop().await;
}

#[tokio::test]
async fn a_chunked_call_stays_chunked_and_a_stated_length_beside_it_is_dropped() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        ok(request.into_body().collect().await.unwrap().to_bytes())
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    for length in ["", "Content-Length: 3\r\n"] {
        let mut client = TcpStream::connect(app.gateway).await.unwrap();
        let request = format!(
            "POST {FREE} HTTP/1.1\r\nHost: {}\r\n{length}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
             5\r\n12345\r\n2\r\n67\r\n0\r\n\r\n",
            app.gateway
        );
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("1234567"), "{answer}");
    }
    assert!(
        peer.seen()
            .iter()
            .all(|seen| !seen.headers.contains_key("content-length"))
    );
    app.stop().await;
}

#[tokio::test]
async fn a_large_body_arrives_whole_both_ways() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        ok(request.into_body().collect().await.unwrap().to_bytes())
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let large: Bytes = (0..5_000_003_u32).map(|n| (n % 251) as u8).collect();
    let request = Request::put(FREE).body(Full::new(large.clone())).unwrap();
    let reply = send(app.gateway, request).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.body == large, "the body came back changed");
    app.stop().await;
}

#[tokio::test]
async fn who_expects_100_continue_is_asked_for_the_body_once_admitted() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        ok(request.into_body().collect().await.unwrap().to_bytes())
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let request = format!(
        "POST {FREE} HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
        app.gateway
    );
    client.write_all(request.as_bytes()).await.unwrap();
    assert!(
        timeout(PATIENCE, head(&mut client))
            .await
            .unwrap()
            .starts_with("HTTP/1.1 100")
    );
    client.write_all(b"hello").await.unwrap();
    let answer = timeout(PATIENCE, head(&mut client)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!peer.only().headers.contains_key("expect"));
    app.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_cut_never_looks_whole() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
    ] {
        let peer = Peer::raw(move |mut stream| async move {
            head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        })
        .await;
        let app = TestApp::start(&peer.onenote()).await;
        let mut client = TcpStream::connect(app.gateway).await.unwrap();
        let request = format!("GET {FREE} HTTP/1.1\r\nHost: {}\r\n\r\n", app.gateway);
        client.write_all(request.as_bytes()).await.unwrap();
        let mut told = String::new();
        // The connection ends; a reset is as good as a close.
        let _ = timeout(PATIENCE, client.read_to_string(&mut told))
            .await
            .unwrap();
        assert!(told.contains("12345"), "{told}");
        assert!(!told.contains("\r\n0\r\n"), "{told}");
        app.stop().await;
    }
}

#[tokio::test]
async fn an_answer_with_chunks_and_a_length_is_as_long_as_its_chunks() {
    let peer = Peer::raw(|mut stream| async move {
        head(&mut stream).await;
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                      5\r\nhello\r\n0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = get(&app, Method::GET, FREE).await;
    assert_eq!(
        (reply.text().as_str(), reply.header("content-length")),
        ("hello", "")
    );
    app.stop().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_told_so_and_not_asked_for_again() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Y: z\r\n".repeat(200));
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd".to_owned(),
        "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n".to_owned(),
        many,
    ] {
        let sent = answer.clone();
        let peer = Peer::raw(move |mut stream| {
            let sent = sent.clone();
            async move {
                head(&mut stream).await;
                stream.write_all(sent.as_bytes()).await.unwrap();
            }
        })
        .await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = get(&app, Method::GET, FREE).await;
        assert_eq!(reply.status, StatusCode::BAD_GATEWAY, "{answer:.40}");
        let detail = reply.json()["detail"].to_string();
        assert!(detail.contains("cannot be read"), "{detail}");
        assert_eq!(peer.counts().arrived, 1, "{answer:.40}");
        app.stop().await;
    }
}

#[tokio::test]
async fn an_upstream_that_breaks_off_is_502() {
    for answer in [
        "",
        "HTTP/1.1 2",
        "nonsense\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        let peer = Peer::raw(move |mut stream| async move {
            head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        })
        .await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = get(&app, Method::POST, FREE).await;
        assert_eq!(reply.status, StatusCode::BAD_GATEWAY, "{answer:?}");
        assert_eq!(reply.json()["code"], "upstream_broken");
        assert_eq!(peer.counts().arrived, 1, "it is not tried again");
        app.stop().await;
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let peer = Peer::raw(|mut stream| async move {
        for _ in 0..3 {
            head(&mut stream).await;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .await
                .unwrap();
        }
        // The fourth call finds it closed, and goes on a new one.
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    for _ in 0..3 {
        assert_eq!(get(&app, Method::GET, FREE).await.text(), "ok");
    }
    assert_eq!(peer.counts().arrived, 1);
    peer.until(|counts| counts.in_flight == 0).await;
    app.stop().await;
}

#[tokio::test]
async fn an_answer_that_comes_before_the_call_was_read_passes() {
    let peer = Peer::raw(|mut stream| async move {
        head(&mut stream).await;
        let answer = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";
        stream.write_all(answer).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut client = TcpStream::connect(app.gateway).await.unwrap();
    let request = format!(
        "PUT {FREE} HTTP/1.1\r\nHost: {}\r\nContent-Length: 9000000\r\n\r\n",
        app.gateway
    );
    client.write_all(request.as_bytes()).await.unwrap();
    client.write_all(&[b'x'; 100_000]).await.unwrap();
    let answer = timeout(PATIENCE, head(&mut client)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let mut body = [0; 3];
    client.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"big");
    app.stop().await;
}
