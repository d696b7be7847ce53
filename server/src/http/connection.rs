//! One connection: its handshake, its protocol, its calls, its end.
//!
//! HTTP/1.1 and HTTP/2 on every listener: under TLS as ALPN agrees, in the clear as the
//! client begins (HTTP/2 with prior knowledge; its upgrade by `h2c` does not exist any more,
//! RFC 9113, 3.1). Everything a client can make grow has a bound here.

use std::{pin::pin, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

use super::{
    Answer, Shutdown, Tls,
    activity::Activity,
    aside::Aside,
    calls::{Calls, ConnectionCalls, Peer},
    streams::Streams,
};

/// How much of a call's head is taken, in bytes: the address line, all headers.
const HEAD_BYTES_MAX: u32 = 64 * 1024;

/// How many headers a call may have.
pub(super) const HEADERS_MAX: usize = 100;

/// How many calls one HTTP/2 connection may have under way: the least that RFC 9113, 6.5.2,
/// recommends.
const STREAMS_MAX: u32 = 100;

/// How much of the bodies that a client sends is kept unread, in bytes: of one call, and of
/// all calls of an HTTP/2 connection.
const STREAM_WINDOW_BYTES: u32 = 128 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// How much of an answer is kept for a slow reader beside what its source keeps, in bytes.
const SEND_BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How many streams a client may take back before we have looked at them, and how many it
/// may make us reset, before its connection is ended (CVE-2023-44487, CVE-2025-8671).
const RESETS_BY_CLIENT_MAX: usize = 20;
const RESETS_BY_US_MAX: usize = 100;

/// How often an HTTP/2 client is asked whether it is still there, and how long it may take
/// to say so.
const PING_EVERY: Duration = Duration::from_secs(20);
const PONG_MAX: Duration = Duration::from_secs(20);

/// How long a client that is cut may take to notice.
const CUT_MAX: Duration = Duration::from_secs(1);

/// How long clients are waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the TLS handshake.
    pub(super) handshake: Duration,
    /// For a call's head, for the next call, for reading some more of an answer, also of one
    /// among others on a connection of HTTP/2. As nginx's
    /// `send_timeout` and `keepalive_timeout`.
    pub(super) idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(60),
        }
    }
}

/// How a listener's connections are served.
#[derive(Clone, Debug)]
pub(super) struct Terms<A> {
    /// What they speak TLS with; `None`: they do not.
    pub(super) tls: Option<Tls>,
    /// Where their calls go.
    pub(super) calls: Calls<A>,
    /// When they end.
    pub(super) shutdown: Shutdown,
    /// How long their clients are waited for.
    pub(super) patience: Patience,
}

/// Serves one client until it leaves, stalls, or the shutdown begins and its calls are done.
pub(super) async fn serve<A: Answer>(stream: TcpStream, terms: Terms<A>) {
    let peer = stream.peer_addr().ok().map(Peer);
    let Some(tls) = &terms.tls else {
        return speak(stream, peer, terms).await;
    };
    let stream = tokio::select! {
        done = timeout(terms.patience.handshake, tls.accept(stream)) => done,
        () = terms.shutdown.begun() => return,
    };
    match stream {
        Ok(Ok(stream)) => speak(stream, peer, terms).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn speak<A, S>(stream: S, peer: Option<Peer>, terms: Terms<A>)
where
    A: Answer,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Terms {
        calls,
        shutdown,
        patience,
        ..
    } = terms;
    let activity = Activity::new();
    let service = ConnectionCalls {
        calls,
        activity: Arc::clone(&activity),
        peer,
    };
    let builder = protocols(Streams::of(&activity, patience.idle));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let end = Aside::new(async {
        tokio::select! {
            () = shutdown.begun() => End::Shutdown,
            () = activity.stalled(patience.idle) => End::Stalled,
        }
    });
    // Whatever ends a connection early is the client's; nothing is left to do.
    let end = tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        end = end => end,
    };
    connection.as_mut().graceful_shutdown();
    match end {
        End::Shutdown => drop(connection.await),
        End::Stalled => {
            tracing::debug!("a connection on which nothing moved is closed");
            drop(timeout(CUT_MAX, connection).await);
        }
    }
}

/// What ends a connection from our side.
enum End {
    Shutdown,
    Stalled,
}

fn protocols(streams: Streams) -> auto::Builder<Streams> {
    let mut builder = auto::Builder::new(streams);
    builder
        .http1()
        // Heads are waited for as everything else is ([`Activity::stalled`]).
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX as usize)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES_MAX)
        .max_pending_accept_reset_streams(RESETS_BY_CLIENT_MAX)
        .max_local_error_reset_streams(RESETS_BY_US_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_MAX);
    builder
}

#[cfg(test)]
mod tests;
