//! How spans are sent: by the server's own runtime, in bounded time.
//!
//! The library sends from a thread of its own that has no runtime, and only waits there.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Hyper, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::{runtime::Handle, time::timeout};

/// How long one batch may take.
const SEND_MAX: Duration = Duration::from_secs(10);

/// The most bytes of a receiver's answer that are read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

type Sender = Hyper<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Sends batches, and tells the log when that begins to fail and when it works again.
#[derive(Debug)]
pub(super) struct Client {
    runtime: Handle,
    sender: Sender,
    failing: AtomicBool,
}

impl Client {
    /// One on the current runtime, that knows receivers by the system's certificates where it
    /// has to.
    pub(super) fn new(secure: bool) -> io::Result<Self> {
        let ring = rustls::crypto::ring::default_provider();
        let tls = HttpsConnectorBuilder::new();
        let connector = if secure {
            let tls = tls.with_provider_and_native_roots(ring)?;
            tls.https_only().enable_http1().build()
        } else {
            let config = rustls::ClientConfig::builder_with_provider(ring.into())
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            tls.with_tls_config(config)
                .https_or_http()
                .enable_http1()
                .build()
        };
        Ok(Self {
            runtime: Handle::current(),
            sender: Hyper::builder(TokioExecutor::new()).build(connector),
            failing: AtomicBool::new(false),
        })
    }

    /// Says so once when sending begins to fail, and once when it works again.
    fn tell(&self, error: Option<&HttpError>) {
        let failed_before = self.failing.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !failed_before => {
                tracing::warn!(
                    error = error.as_ref() as &dyn std::error::Error,
                    "spans are not sent"
                );
            }
            None if failed_before => tracing::info!("spans are sent again"),
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sender = self.sender.clone();
        let sent = self
            .runtime
            .spawn(async move { timeout(SEND_MAX, send(sender, request)).await });
        let sent = async { sent.await?? }.await;
        self.tell(sent.as_ref().err());
        sent
    }
}

async fn send(sender: Sender, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let response = sender.request(request.map(Full::new)).await?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
    if !parts.status.is_success() {
        return Err(format!("the receiver answered {}", parts.status).into());
    }
    Ok(Response::from_parts(parts, body.to_bytes()))
}
