//! Real sockets, short patience.

use std::{convert::Infallible, net::SocketAddr};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, tcp::OwnedReadHalf},
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

/// Frames of HTTP/2 as they come: kind, stream, payload.
async fn next_frame(stream: &mut OwnedReadHalf) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).await.unwrap();
    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (head[3], id, payload)
}

/// Its window is never opened again, while others come and go on the same connection.
#[tokio::test]
async fn of_calls_side_by_side_the_one_that_is_not_read_is_reset() {
    const DATA: u8 = 0;
    const RST_STREAM: u8 = 3;
    let server = server().await;
    let endless = frame(1, 0x5, 1, b"\x82\x86\x41\x01a\x04\x08/endless");
    // Of the connection's window there is always enough.
    let window = frame(8, 0, 0, &(1_u32 << 30).to_be_bytes());
    let begun = Instant::now();
    let stream = say(server, &[H2, &endless, &window].concat()).await;
    let (mut stream, mut others) = stream.into_split();
    let calls = tokio::spawn(async move {
        for call in (3..).step_by(2) {
            if others.write_all(&asked(call)).await.is_err() {
                return;
            }
            tokio::time::sleep(SHORT / 6).await;
        }
    });
    let reset = async {
        loop {
            let (kind, id, payload) = next_frame(&mut stream).await;
            match (kind, id) {
                (RST_STREAM, 1) => return payload,
                (RST_STREAM, other) => panic!("{other} was read, and is reset"),
                _ => {}
            }
        }
    };
    let reason = timeout(LONG, reset).await.expect("it is reset");
    assert_eq!(reason, 8_u32.to_be_bytes(), "CANCEL");
    assert!(begun.elapsed() >= SHORT, "{:?}", begun.elapsed());
    // The others go on.
    let mut answered = 0;
    while answered < 5 {
        let (kind, id, payload) = timeout(LONG, next_frame(&mut stream)).await.unwrap();
        assert_ne!(kind, RST_STREAM, "{id}");
        answered += usize::from(kind == DATA && payload == b"at once");
    }
    calls.abort();
}
