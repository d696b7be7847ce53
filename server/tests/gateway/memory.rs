//! 100 MB both ways through the real binary: what it holds of them.

use std::{convert::Infallible, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use crate::support::coded::coded;
use crate::support::peer::{Peer, PeerBody};
use crate::support::{Process, config_text};

/// So many records of about 1 KB make 100 MB.
const RECORDS: usize = 100_000;

/// By how much the process may grow meanwhile, in KiB.
const GROWTH_KIB_MAX: u64 = 16 * 1024;

/// The test fails when it takes longer.
const PATIENCE: Duration = Duration::from_secs(240);

/// One page of a list, with a link to `base`.
fn record(base: &str) -> String {
    format!(
        r#"{{"@odata.id":"{base}/v1.0/pages/1","title":"{}"}},"#,
        "x".repeat(960)
    )
}

/// A long list of them, each piece as `spelt`.
fn list(base: &str, spelt: fn(String) -> Vec<u8>) -> PeerBody {
    const AT_ONCE: usize = 50;
    let frame = |text| Ok::<_, Infallible>(Frame::data(Bytes::from(spelt(text))));
    let piece = Bytes::from(spelt(record(base).repeat(AT_ONCE)));
    let pieces = (0..RECORDS / AT_ONCE).map(move |_| Ok(Frame::data(piece.clone())));
    let begin = frame(r#"{"value":["#.to_owned());
    let end = frame("null]}".to_owned());
    let pieces = std::iter::once(begin).chain(pieces).chain([end]);
    StreamBody::new(futures_util::stream::iter(pieces)).boxed()
}

/// A member of a gzip text, which may have many.
fn gzip(text: String) -> Vec<u8> {
    coded("gzip", text.as_bytes())
}

fn list_bytes(base: &str) -> usize {
    r#"{"value":[null]}"#.len() + RECORDS * record(base).len()
}

/// Reads a body and lets it go; how long it was, and how often it names `base`.
async fn measured<B>(mut body: B, base: &str) -> (usize, usize)
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    let (mut bytes, mut named, mut tail) = (0, 0, Vec::new());
    let base = base.as_bytes();
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap_or_default();
        bytes += data.len();
        tail.extend_from_slice(&data);
        named += memchr::memmem::find_iter(&tail, base).count();
        let keep = (base.len() - 1).min(tail.len());
        tail.drain(..tail.len() - keep);
    }
    (bytes, named)
}

/// The memory of a process: what it has now, and the most it had since the last look.
struct Memory(PathBuf);

impl Memory {
    fn of(process: &Process) -> Self {
        Self(format!("/proc/{}", process.id()).into())
    }

    /// A value of its status, in KiB.
    fn kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(self.0.join("status")).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Forgets the peak; what it has now.
    fn begin(&self) -> u64 {
        std::fs::write(self.0.join("clear_refs"), "5").unwrap();
        self.kib("VmRSS")
    }

    fn peak(&self) -> u64 {
        self.kib("VmHWM")
    }
}

async fn call(
    server: &Process,
    kind: &str,
    body: BoxBody<Bytes, Infallible>,
) -> Response<Incoming> {
    let request = Request::builder()
        .method(Method::PUT)
        .uri("/graph/v1.0/me")
        .header("host", server.gateway.to_string())
        .header("content-type", kind)
        .body(body)
        .unwrap();
    let stream = TcpStream::connect(server.gateway).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender.send_request(request).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_stream_both_ways_within_sixteen() {
    let (told, mut arrived) = tokio::sync::mpsc::channel(1);
    let peer = Peer::start(move |request: Request<Incoming>| {
        let told = told.clone();
        async move {
            let base = format!("http://{}", request.headers()["host"].to_str().unwrap());
            let kind = request.headers()["content-type"].clone();
            told.send(measured(request.into_body(), &base).await)
                .await
                .unwrap();
            let zipped = kind == "text/plain";
            let spelt = if zipped { gzip } else { String::into_bytes };
            let mut response = Response::new(list(&base, spelt));
            let headers = response.headers_mut();
            headers.insert("content-type", kind);
            if zipped {
                headers.insert("content-type", "application/json".parse().unwrap());
                headers.insert("content-encoding", "gzip".parse().unwrap());
            }
            response
        }
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let server = Process::serve(dir.path(), &config_text(dir.path(), &peer.onenote()));
    let (here, there) = (
        format!("http://{}/graph", server.gateway),
        format!("http://{}", peer.address),
    );
    let memory = Memory::of(&server);
    // JSON is rewritten on both ways, octets pass as they are; the last is answered in gzip.
    for (kind, up, down) in [
        ("application/json", &there, &here),
        ("application/octet-stream", &here, &there),
        ("text/plain", &here, &here),
    ] {
        let before = memory.begin();
        let run = async {
            let reply = call(&server, kind, list(&here, String::into_bytes)).await;
            assert_eq!(reply.status(), StatusCode::OK);
            assert_eq!(arrived.recv().await.unwrap().0, list_bytes(up));
            assert_eq!(
                measured(reply.into_body(), down).await,
                (list_bytes(down), RECORDS)
            );
        };
        timeout(PATIENCE, run).await.unwrap();
        let growth = memory.peak().saturating_sub(before);
        assert!(growth < GROWTH_KIB_MAX, "{kind}: it grew by {growth} KiB");
        println!("{kind}: {before} KiB before, {growth} KiB more at the peak");
    }
    server.terminate();
    server.wait();
}
