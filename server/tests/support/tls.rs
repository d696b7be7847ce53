//! Clients that speak TLS, and certificates for them to trust.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, crypto::ring};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use spillway_server::demo::authority::Authority;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::Reply;

/// Certificates of one test's own.
pub struct Certificates {
    authority: Authority,
}

impl Certificates {
    pub fn new() -> Self {
        let authority = Authority::new(jiff::Timestamp::now()).unwrap();
        Self { authority }
    }

    /// Writes a new certificate for loopback into `dir`; the keys of `[server]` that name it.
    pub fn write(&self, dir: &Path) -> String {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = self.authority.certify(&names).unwrap();
        let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
        std::fs::write(&cert, made.cert).unwrap();
        std::fs::write(&key, made.key).unwrap();
        format!(
            "tls_cert = '{}'\ntls_key = '{}'\n",
            cert.display(),
            key.display()
        )
    }

    /// A client that trusts them, as new as TLS 1.3, and offers `protocols`.
    pub fn client(&self, protocols: &[&str]) -> Client {
        self.client_of(rustls::ALL_VERSIONS, protocols)
    }

    /// A client of these TLS versions alone.
    pub fn client_of(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        protocols: &[&str],
    ) -> Client {
        client(&self.authority.pem(), versions, protocols)
    }
}

/// A client that trusts the authority `ca`, PEM.
pub fn client(
    ca: &str,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> Client {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().into())
        .collect();
    Client(TlsConnector::from(Arc::new(config)))
}

/// A client that trusts a test's certificates.
#[derive(Clone)]
pub struct Client(TlsConnector);

impl Client {
    /// Connects and does the handshake.
    pub async fn connect(&self, to: SocketAddr) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(to).await?;
        let name = ServerName::from(to.ip());
        self.0.connect(name, stream).await
    }

    /// The certificate that is served there.
    pub async fn certificate(&self, at: SocketAddr) -> CertificateDer<'static> {
        let stream = self.connect(at).await.unwrap();
        let (_, session) = stream.get_ref();
        session.peer_certificates().unwrap()[0].clone().into_owned()
    }

    /// Sends `request` on a connection of its own, in the version that was agreed on.
    pub async fn send(&self, to: SocketAddr, request: Request<Full<Bytes>>) -> (Version, Reply) {
        let stream = self.connect(to).await.unwrap();
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        if h2 {
            return (Version::HTTP_2, over_h2(io, to, "https", request).await);
        }
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        let mut request = request;
        let host = to.to_string().parse().unwrap();
        request.headers_mut().entry("host").or_insert(host);
        let response = sender.send_request(request).await.unwrap();
        (response.version(), read(response).await)
    }
}

/// Sends `request` over HTTP/2; a path becomes an address at `to`.
pub async fn over_h2<S>(io: S, to: SocketAddr, scheme: &str, request: Request<Full<Bytes>>) -> Reply
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = request;
    if request.uri().authority().is_none() {
        let address = format!("{scheme}://{to}{}", request.uri());
        *request.uri_mut() = address.parse().unwrap();
    }
    read(sender.send_request(request).await.unwrap()).await
}

async fn read(response: http::Response<hyper::body::Incoming>) -> Reply {
    let (parts, body) = response.into_parts();
    Reply {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}
