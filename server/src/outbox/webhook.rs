//! Webhooks: a signed POST to an address that was looked at, and nothing of the answer but its
//! status.
//!
//! Signed as the Standard Webhooks specification (version 1) says, which receivers have libraries
//! for: `webhook-id` stays the same however often a message comes, `webhook-timestamp` is of the
//! attempt, `webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over
//! `{id}.{timestamp}.{body}`.

use std::{
    fmt, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, Mac as _};
use http::{Request, StatusCode, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_rustls::ConfigBuilderExt as _;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use sha2::Sha256;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::{Carrier, Failure, public::is_public};
use crate::{config, store::StoredMessage};

/// How long finding the address and connecting may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How long the answer's head may take.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// What a secret begins with that is written as the specification has it.
const PREFIX: &str = "whsec_";

/// As short as the specification lets a secret be.
const SECRET_BYTES_MIN: usize = 24;

/// A program that is told.
pub struct Webhook {
    url: Url,
    secret: Vec<u8>,
    private: bool,
    tls: Option<TlsConnector>,
}

/// A webhook cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Its secret cannot be read.
    #[error("alerts.webhooks: the secret of {name}: {} cannot be read", path.display())]
    Unreadable {
        /// Whose.
        name: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Its secret is too short, or none.
    #[error(
        "alerts.webhooks: the secret of {name}: {} must hold {SECRET_BYTES_MIN} bytes or more, \
         as they are or as whsec_ and their base64", path.display()
    )]
    Short {
        /// Whose.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// There are no certificates to know it by.
    #[error("alerts.webhooks: the certificates of this system cannot be used")]
    NoTls(#[source] io::Error),
}

impl Webhook {
    /// Ready to be sent to.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn new(webhook: &config::Webhook) -> Result<Self, Unusable> {
        Ok(Self {
            url: webhook.url.clone(),
            secret: secret(&webhook.name, &webhook.secret_file)?,
            private: webhook.private,
            tls: (webhook.url.scheme() == "https")
                .then(connector)
                .transpose()
                .map_err(Unusable::NoTls)?,
        })
    }

    async fn post(&self, message: &StoredMessage) -> Result<(), Failure> {
        let request = self.request(message)?;
        let status = match self.connected().await.map_err(Failure::Down)? {
            (stream, None) => answered(stream, request).await?,
            (stream, Some((tls, name))) => {
                let secured = timeout(CONNECT_MAX, tls.connect(name, stream)).await;
                let secured = secured.map_err(|_| down("TLS took too long"))?;
                let stream = secured.map_err(|error| down(&format!("TLS: {error}")))?;
                answered(stream, request).await?
            }
        };
        match status {
            status if status.is_success() => Ok(()),
            status if status.is_redirection() => Err(Failure::Later(format!(
                "answered {}: redirects are not followed",
                status.as_u16()
            ))),
            status => Err(Failure::Later(format!("answered {}", status.as_u16()))),
        }
    }

    fn request(&self, message: &StoredMessage) -> Result<Request<Full<Bytes>>, Failure> {
        let never = |error: http::Error| Failure::Never(format!("cannot be asked: {error}"));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let at = now.as_secs().to_string();
        let target = match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        };
        let host = match self.url.port() {
            Some(port) => format!("{}:{port}", self.url.host_str().unwrap_or_default()),
            None => self.url.host_str().unwrap_or_default().to_owned(),
        };
        Request::post(target)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(
                header::USER_AGENT,
                concat!("spillway/", env!("CARGO_PKG_VERSION")),
            )
            .header(header::CONNECTION, "close")
            .header("webhook-id", &message.uid)
            .header("webhook-timestamp", &at)
            .header(
                "webhook-signature",
                signature(&self.secret, &message.uid, &at, &message.body),
            )
            .body(Full::from(message.body.clone()))
            .map_err(never)
    }

    /// Connected to an address that was looked at: no other is asked for afterwards.
    async fn connected(
        &self,
    ) -> Result<(TcpStream, Option<(TlsConnector, ServerName<'static>)>), String> {
        let port = self.url.port_or_known_default().unwrap_or(443);
        let host = self.url.host().map(|host| host.to_owned());
        let (addresses, name) = match host {
            Some(Host::Domain(name)) => {
                let found = timeout(CONNECT_MAX, lookup_host((name.as_str(), port))).await;
                let found = found.map_err(|_| "looking its name up took too long".to_owned())?;
                let found = found.map_err(|error| format!("its name is not known: {error}"))?;
                (found.collect(), ServerName::try_from(name).ok())
            }
            Some(Host::Ipv4(it)) => (vec![SocketAddr::from((it, port))], Some(it.into())),
            Some(Host::Ipv6(it)) => (vec![SocketAddr::from((it, port))], Some(it.into())),
            None => (Vec::new(), None),
        };
        let address = self.allowed(&addresses)?;
        let stream = timeout(CONNECT_MAX, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| "connecting took too long".to_owned())?;
        let stream = stream.map_err(|error| format!("cannot connect: {error}"))?;
        Ok((stream, self.tls.clone().zip(name)))
    }

    /// The first address; where one of them is private, somebody plays with the name.
    fn allowed(&self, addresses: &[SocketAddr]) -> Result<SocketAddr, String> {
        let first = addresses.first().ok_or("its name has no address")?;
        if !self.private && !addresses.iter().all(|address| is_public(address.ip())) {
            let error = "its address is of a private network, which `private = true` would allow";
            return Err(error.to_owned());
        }
        Ok(*first)
    }
}

#[async_trait::async_trait]
impl Carrier for Webhook {
    async fn carry(&self, message: &StoredMessage) -> Result<(), Failure> {
        self.post(message).await
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.host_str();
        f.debug_struct("Webhook")
            .field("host", &host)
            .finish_non_exhaustive()
    }
}

fn down(error: &str) -> Failure {
    Failure::Down(error.to_owned())
}

/// The answer's status; its body is not read.
async fn answered(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<StatusCode, Failure> {
    let asked = async {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Over before the answer: then the sender says so.
        let driving = async {
            connection.await?;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            response = sender.send_request(request) => response.map(|it| it.status()),
            broken = driving => broken,
        }
    };
    match timeout(ANSWER_MAX, asked).await {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(down(&format!("no answer: {error}"))),
        Err(_) => Err(down(&format!(
            "no answer within {} s",
            ANSWER_MAX.as_secs()
        ))),
    }
}

fn signature(secret: &[u8], id: &str, at: &str, body: &str) -> String {
    // Any key fits HMAC.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return String::new();
    };
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn secret(name: &str, path: &Path) -> Result<Vec<u8>, Unusable> {
    let (name, path) = (name.to_owned(), path.to_owned());
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(source) => return Err(Unusable::Unreadable { name, path, source }),
    };
    let text = bytes.trim_ascii();
    let coded = text.strip_prefix(PREFIX.as_bytes());
    let secret = match coded {
        Some(coded) => STANDARD.decode(coded).unwrap_or_default(),
        None => text.to_vec(),
    };
    if secret.len() < SECRET_BYTES_MIN {
        return Err(Unusable::Short { name, path });
    }
    Ok(secret)
}

fn connector() -> io::Result<TlsConnector> {
    let ring = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(ring.into())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_native_roots()?
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification's libraries.
    #[test]
    fn a_signature_is_as_the_specification_has_it() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(
            signature(&secret, id, "1614265330", body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
