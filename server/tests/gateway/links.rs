//! Links in what comes from the upstream: those that come back pointing here, and those that
//! are left alone.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::calls::{PATIENCE, five_at_once};
use crate::support::coded::coded;
use crate::support::peer::{Peer, PeerBody};
use crate::support::{Reply, TestApp, send};

/// Where the upstream is, as it knows itself.
fn base(headers: &HeaderMap) -> String {
    format!("http://{}", headers["host"].to_str().unwrap())
}

/// Where the gateway has it.
pub fn here(app: &TestApp) -> String {
    format!("http://{}/graph", app.gateway)
}

/// A body in pieces of `size` bytes.
fn in_pieces(body: &[u8], size: usize) -> PeerBody {
    let pieces: Vec<_> = body
        .chunks(size)
        .map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::copy_from_slice(piece))))
        .collect();
    StreamBody::new(futures_util::stream::iter(pieces)).boxed()
}

/// An upstream that answers every call with `headers` and `text`, its address at each `{}`.
async fn saying(headers: &'static [(&str, &str)], text: &'static str) -> Peer {
    Peer::start(move |request: Request<Incoming>| async move {
        let base = base(request.headers());
        let body = text.replace("{}", &base);
        let length = body.len();
        let body = if request.method() == Method::HEAD {
            String::new()
        } else {
            body
        };
        let mut response = Response::new(in_pieces(body.as_bytes(), 7));
        response
            .headers_mut()
            .insert("content-length", length.into());
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = value.replace("{}", &base).parse().unwrap();
            response.headers_mut().insert(name, value);
        }
        response
    })
    .await
}

async fn get(app: &TestApp, method: Method, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri("/graph/v1.0/me");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let call = send(app.gateway, request.body(Full::default()).unwrap());
    timeout(PATIENCE, call).await.unwrap()
}

const LIST: &str = r#"{"@odata.context":"{}/v1.0/$metadata#x","@odata.nextLink":"{}\/v1.0/x?$skip=1\u0026a=b","value":[{"contentUrl":"{}/v1.0/p/content","webUrl":"{}/w"}]}"#;

/// The same with what is to be rewritten pointing here.
fn list_here(here: &str, base: &str) -> String {
    format!(
        r#"{{"@odata.context":"{base}/v1.0/$metadata#x","@odata.nextLink":"{here}\/v1.0/x?$skip=1\u0026a=b","value":[{{"contentUrl":"{here}/v1.0/p/content","webUrl":"{base}/w"}}]}}"#
    )
}

fn address(peer: &Peer) -> String {
    format!("http://{}", peer.address)
}

/// Case 19 [Ocelot#1430].
#[tokio::test]
async fn every_page_of_a_list_goes_through_the_gateway_since_its_links_point_there() {
    let peer = Peer::start(|request: Request<Incoming>| async move {
        let page: u32 = request.uri().query().map_or(1, |query| {
            query
                .strip_prefix("$skiptoken=p%20")
                .unwrap()
                .parse()
                .unwrap()
        });
        let next = format!(
            "{}{}?$skiptoken=p%20{}",
            base(request.headers()),
            request.uri().path(),
            page + 1
        );
        let mut list = serde_json::json!({"value": [page]});
        if page < 3 {
            list["@odata.nextLink"] = next.into();
        }
        let mut response = Response::new(in_pieces(list.to_string().as_bytes(), 5));
        let json = "application/json; odata.metadata=minimal; charset=utf-8";
        response
            .headers_mut()
            .insert("content-type", json.parse().unwrap());
        response
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let mut next = format!("{}/v1.0/me/onenote/pages", here(&app));
    let mut pages = Vec::new();
    loop {
        let path = next
            .strip_prefix(&format!("http://{}", app.gateway))
            .expect("it points here");
        let request = Request::get(path).header("spillway-user", "ann");
        let reply = send(app.gateway, request.body(Full::default()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::OK);
        pages.push(reply.json()["value"][0].as_u64().unwrap());
        match reply.json()["@odata.nextLink"].as_str() {
            Some(link) => next = link.to_owned(),
            None => break,
        }
    }
    assert_eq!(pages, [1, 2, 3]);
    assert_eq!(peer.counts().arrived, 3);
    app.stop().await;
}

#[tokio::test]
async fn a_rewritten_body_loses_what_no_longer_holds_and_keeps_the_rest() {
    let headers: &[_] = &[
        ("content-type", "application/json"),
        ("etag", "\"e\""),
        ("digest", "sha-256=x"),
        ("content-digest", "sha-256=:x:"),
        ("repr-digest", "sha-256=:x:"),
        ("content-md5", "x"),
        ("accept-ranges", "bytes"),
        ("vary", "Accept-Encoding"),
        ("location", "{}/v1.0/l?x"),
        ("content-location", "/v1.0/l"),
        ("operation-location", "{}/v1.0/operations/1"),
    ];
    let peer = saying(headers, LIST).await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = get(&app, Method::GET, &[]).await;
    let here = here(&app);
    assert_eq!(reply.text(), list_here(&here, &address(&peer)));
    let length = reply.body.len().to_string();
    assert_eq!(reply.header("content-length"), length, "as it is now");
    let head = get(&app, Method::HEAD, &[]).await;
    // It would be that of a body that nobody has seen.
    assert!(!head.headers.contains_key("content-length"));
    for reply in [reply, head] {
        assert_eq!(reply.header("location"), format!("{here}/v1.0/l?x"));
        assert_eq!(reply.header("content-location"), format!("{here}/v1.0/l"));
        assert_eq!(
            reply.header("operation-location"),
            format!("{here}/v1.0/operations/1")
        );
        assert_eq!(
            (reply.header("etag"), reply.header("vary")),
            ("\"e\"", "Accept-Encoding")
        );
        for gone in [
            "digest",
            "content-digest",
            "repr-digest",
            "content-md5",
            "accept-ranges",
        ] {
            assert!(!reply.headers.contains_key(gone), "{gone}");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn a_page_s_pictures_come_through_the_gateway_and_its_text_stays() {
    let page = r#"<html><body><p>{}/a</p><a href="{}/b">b</a><img src="{}/v1.0/r/1/$value" data-fullres-src='{}/v1.0/r/2/$value'/><object data="{}/v1.0/r/3/$value" data-attachment="x"></object></body></html>"#;
    let peer = saying(&[("content-type", "text/html")], page).await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = get(&app, Method::GET, &[]).await;
    let expected = page.replace("{}/v1.0/r", &format!("{}/v1.0/r", here(&app)));
    assert_eq!(reply.text(), expected.replace("{}", &address(&peer)));
    app.stop().await;
}

#[tokio::test]
async fn what_is_not_to_be_rewritten_passes_byte_for_byte() {
    const JSON: (&str, &str) = ("content-type", "application/json");
    let cases: &'static [&'static [(&str, &str)]] = &[
        &[("content-type", "text/plain")],
        &[("content-type", "application/octet-stream")],
        &[("content-type", "multipart/related; boundary=x")],
        &[("content-type", "application/json; charset=utf-16")],
        &[],
        &[JSON, ("content-encoding", "zstd")],
        &[JSON, ("content-encoding", "gzip, br")],
        &[JSON, ("content-range", "bytes 0-9/10")],
    ];
    for headers in cases {
        let peer = saying(headers, LIST).await;
        let app = TestApp::start(&peer.onenote()).await;
        let reply = get(&app, Method::GET, &[]).await;
        let expected = LIST.replace("{}", &address(&peer));
        assert_eq!(reply.text(), expected, "{headers:?}");
        assert_eq!(reply.header("content-length"), expected.len().to_string());
        assert_eq!(
            reply.headers.get("content-encoding").is_some(),
            headers.iter().any(|(name, _)| *name == "content-encoding")
        );
        app.stop().await;
    }
}

#[tokio::test]
async fn parts_of_a_body_are_not_rewritten() {
    let json: &[_] = &[("content-type", "application/json"), ("digest", "x")];
    let peer = saying(json, LIST).await;
    let app = TestApp::start(&peer.onenote()).await;
    let ranged = get(&app, Method::GET, &[("range", "bytes=0-9")]).await;
    assert_eq!(ranged.text(), LIST.replace("{}", &address(&peer)));
    assert_eq!(ranged.header("digest"), "x");
    app.stop().await;

    let peer = Peer::start(|request: Request<Incoming>| async move {
        let body = LIST.replace("{}", &base(request.headers()));
        let response = Response::builder()
            .status(206)
            .header("content-type", "application/json");
        response.body(in_pieces(body.as_bytes(), 100)).unwrap()
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let part = get(&app, Method::GET, &[]).await;
    assert_eq!(part.text(), LIST.replace("{}", &address(&peer)));
    app.stop().await;
}

#[tokio::test]
async fn it_can_be_turned_off() {
    let headers: &[_] = &[("content-type", "application/json"), ("location", "{}/x")];
    let peer = saying(headers, LIST).await;
    let app = TestApp::start(&format!("{}rewrite_links = false\n", peer.onenote())).await;
    let reply = get(&app, Method::GET, &[("accept-encoding", "zstd")]).await;
    let expected = LIST.replace("{}", &address(&peer));
    assert_eq!(
        (reply.text(), reply.header("location")),
        (expected.clone(), &*format!("{}/x", address(&peer)))
    );
    assert_eq!(reply.header("content-length"), expected.len().to_string());
    assert_eq!(peer.only().headers["accept-encoding"], "zstd");
    app.stop().await;
}

#[tokio::test]
async fn coded_bodies_are_rewritten_across_the_borders_of_pieces_and_sent_plain() {
    for coding in ["gzip", "deflate", "raw", "br"] {
        for size in [1, 3, 64, 1 << 20] {
            let peer = Peer::start(move |request: Request<Incoming>| async move {
                let text = LIST.replace("{}", &base(request.headers()));
                let mut response = Response::new(in_pieces(&coded(coding, text.as_bytes()), size));
                let named = if coding == "raw" { "deflate" } else { coding };
                for (name, value) in [
                    ("content-type", "application/json"),
                    ("content-encoding", named),
                ] {
                    response.headers_mut().insert(name, value.parse().unwrap());
                }
                response
            })
            .await;
            let app = TestApp::start(&peer.onenote()).await;
            let asked = [("accept-encoding", "zstd, gzip;q=0.9, deflate, br")];
            let reply = get(&app, Method::GET, &asked).await;
            assert_eq!(
                reply.text(),
                list_here(&here(&app), &address(&peer)),
                "{coding} {size}"
            );
            assert!(!reply.headers.contains_key("content-encoding"));
            assert_eq!(
                peer.only().headers["accept-encoding"],
                "gzip;q=0.9, deflate, br"
            );
            app.stop().await;
        }
    }
}

/// What was sent is no whole body, and its caller must not take it for one; the call has
/// ended all the same, and with it its permit.
#[tokio::test]
async fn a_body_that_is_not_coded_as_it_says_is_cut_and_its_slot_is_free() {
    let peer = Peer::start(|_| async {
        let mut body = coded("gzip", LIST.as_bytes());
        body.truncate(60);
        let mut response = Response::new(in_pieces(&body, 10));
        for (name, value) in [
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ] {
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    })
    .await;
    let app = TestApp::start(&five_at_once(&peer)).await;
    for _ in 0..7 {
        let mut stream = tokio::net::TcpStream::connect(app.gateway).await.unwrap();
        let request = format!(
            "GET /graph/v1.0/x HTTP/1.1\r\nHost: {}\r\nSpillway-User: ann\r\nConnection: close\r\n\r\n",
            app.gateway
        );
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer);
        let _ = timeout(PATIENCE, read).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    }
    assert_eq!(peer.counts().arrived, 7);
    app.stop().await;
}
