//! Real sockets, short patience.

use std::{convert::Infallible, net::SocketAddr};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::Instant,
};

use super::*;

/// How a client of HTTP/2 begins: the preface, and settings of its own, none.
const H2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Longer than anything here may take.
const LONG: Duration = Duration::from_secs(20);

const SHORT: Duration = Duration::from_millis(300);

/// Serves with `SHORT` patience: `/` at once, `/slow` after three times that, `/endless`
/// more than anybody keeps.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let slow = || async {
        tokio::time::sleep(SHORT * 3).await;
        "slow"
    };
    let endless = || async {
        let piece = Ok::<_, Infallible>(Bytes::from(vec![0; 64 * 1024]));
        Body::from_stream(futures_util::stream::repeat_with(move || piece.clone()))
    };
    let router = Router::new()
        .route("/", get(|| async { "at once" }))
        .route("/slow", get(slow))
        .route("/endless", get(endless));
    let terms = Terms {
        tls: None,
        calls: Calls::new("test", router),
        shutdown: Shutdown::new(),
        patience: Patience {
            handshake: SHORT,
            idle: SHORT,
        },
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, terms.clone()));
        }
    });
    address
}

async fn say(to: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// What comes until the server closes.
async fn heard(mut stream: TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    // What was sent and not read resets the connection: that is an end, too.
    let ended = timeout(LONG, stream.read_to_end(&mut heard)).await;
    let _ = ended.expect("the server closes");
    heard
}

#[tokio::test]
async fn a_client_that_says_nothing_or_never_gets_to_its_point_is_cut() {
    let server = server().await;
    for bytes in [
        &b""[..],
        b"G",
        b"GET / HTTP/1.1\r\nhost: a\r\n",
        b"PRI * HTTP/2.0\r\n",
        H2,
        // A head of HTTP/2 whose rest never comes.
        &[H2, b"\0\0\x01\x01\0\0\0\0\x01\x82"].concat(),
    ] {
        let begun = Instant::now();
        heard(say(server, bytes).await).await;
        assert!(begun.elapsed() >= SHORT, "{bytes:?}: {:?}", begun.elapsed());
    }
    // After an answer it is the same.
    let answered = heard(say(server, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await).await;
    assert!(answered.ends_with(b"at once"));
}

#[tokio::test]
async fn a_client_that_waits_for_us_is_not_cut() {
    let server = server().await;
    let answer = heard(say(server, b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await).await;
    assert!(answer.ends_with(b"slow"));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    let server = server().await;
    let mut stream = say(server, b"GET /endless HTTP/1.1\r\nhost: a\r\n\r\n").await;
    // It looks whether it was cut by writing: reading would be what it does not do.
    let cut = async {
        while stream.write_all(b"\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, cut).await.unwrap();
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// `GET http://a/`, in HPACK's static table.
fn asked(stream: u32) -> Vec<u8> {
    frame(1, 0x5, stream, b"\x82\x86\x84\x41\x01a")
}

/// CVE-2023-44487: calls that are taken back at once cost their client nothing.
#[tokio::test]
async fn calls_taken_back_as_fast_as_they_are_made_end_the_connection() {
    let server = server().await;
    let mut flood = H2.to_vec();
    for stream in (1..4_000).step_by(2) {
        flood.extend(asked(stream));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    let mut stream = TcpStream::connect(server).await.unwrap();
    let begun = Instant::now();
    let _ = stream.write_all(&flood).await;
    let heard = heard(stream).await;
    assert!(begun.elapsed() < SHORT * 10, "{:?}", begun.elapsed());
    // GOAWAY, for a reason: ENHANCE_YOUR_CALM.
    let calm = heard.windows(4).any(|bytes| bytes == 11_u32.to_be_bytes());
    assert!(calm, "{heard:?}");
}

/// Beyond the bound a stream is refused, which its client may repeat.
#[tokio::test]
async fn a_connection_has_so_many_calls_and_no_more() {
    let server = server().await;
    let mut crowd = H2.to_vec();
    for n in 0..=STREAMS_MAX {
        let path = b"\x82\x86\x41\x01a\x04\x05/slow";
        crowd.extend(frame(1, 0x5, 2 * n + 1, path));
    }
    let heard = heard(say(server, &crowd).await).await;
    // RST_STREAM of the last, with REFUSED_STREAM.
    let last = 2 * STREAMS_MAX + 1;
    let refused = frame(3, 0, last, &7_u32.to_be_bytes());
    let found = heard.windows(refused.len()).any(|it| it == refused);
    assert!(found, "{heard:?}");
}
