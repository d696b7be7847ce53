//! Asking the provider, in bounded time and for bounded answers; redirects are not followed.

use std::{io, pin::Pin, time::Duration};

use bytes::Bytes;
use http::{Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Hyper, connect::HttpConnector},
    rt::TokioExecutor,
};
use openidconnect::{AsyncHttpClient, DiscoveryError, HttpRequest, HttpResponse};
use openidconnect::{ErrorResponse, RequestTokenError};
use tokio::time::timeout;

use crate::config::WebAddress;

/// How long one question may take.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Why the provider was asked in vain. What it answered may hold secrets: only its status, the
/// code of its error and the place of what is wrong are told.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It would be asked over the network as it is.
    #[error("it names addresses that are not https: {}", .0.escape_debug())]
    Unsafe(String),
    /// It cannot be reached.
    #[error("it cannot be reached")]
    Unreached(#[source] hyper_util::client::legacy::Error),
    /// It took too long.
    #[error("it took longer than {} s", ANSWER_MAX.as_secs())]
    Late,
    /// It broke off, or answered too much.
    #[error("its answer cannot be read")]
    Unread,
    /// It refuses.
    #[error("it answered {status} {error}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// The code of RFC 6749, 5.2, if it is one.
        error: String,
    },
    /// It is not what was asked for.
    #[error("its answer is not what was asked for: {}", .0.escape_debug())]
    Unclear(String),
}

/// Asks by HTTP.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: Hyper<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Host and port of a provider on this machine, for trials, which is asked without TLS.
    plain: Option<(String, u16)>,
}

impl Client {
    /// One for the provider at `address`, known by the system's certificates where it has to be.
    pub(super) fn new(address: &WebAddress) -> io::Result<Self> {
        let ring = rustls::crypto::ring::default_provider();
        let tls = HttpsConnectorBuilder::new();
        let connector = if address.is_secure() {
            let tls = tls.with_provider_and_native_roots(ring)?;
            tls.https_only().enable_http1().build()
        } else {
            let config = rustls::ClientConfig::builder_with_provider(ring.into())
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            let tls = tls.with_tls_config(config);
            tls.https_or_http().enable_http1().build()
        };
        Ok(Self {
            http: Hyper::builder(TokioExecutor::new()).build(connector),
            plain: (!address.is_secure())
                .then(|| (address.authority().host().to_owned(), address.port())),
        })
    }

    /// Whether somebody may be sent there: by TLS alone, but for a provider on this machine.
    pub(super) fn is_safe(&self, address: &Uri) -> bool {
        match &self.plain {
            None => address.scheme_str() == Some("https"),
            Some((host, port)) => {
                address.host() == Some(host) && address.port_u16().unwrap_or(80) == *port
            }
        }
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
        if !self.is_safe(request.uri()) {
            return Err(Unanswered::Unsafe(request.uri().to_string()));
        }
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let answered = async {
            let answer = self.http.request(request).await;
            let (head, body) = answer.map_err(Unanswered::Unreached)?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|_| Unanswered::Unread)?.to_bytes();
            Ok::<_, Unanswered>(Response::from_parts(head, body.to_vec()))
        };
        let answer = timeout(ANSWER_MAX, answered).await;
        let answer = answer.map_err(|_| Unanswered::Late)??;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            status => Err(Unanswered::Refused {
                status,
                error: code(answer.body()),
            }),
        }
    }
}

impl<'c> AsyncHttpClient<'c> for Client {
    type Error = Unanswered;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, Unanswered>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.ask(request))
    }
}

impl<T: ErrorResponse> From<RequestTokenError<Unanswered, T>> for Unanswered {
    fn from(error: RequestTokenError<Unanswered, T>) -> Self {
        match error {
            RequestTokenError::Request(why) => why,
            // Its message may quote the token.
            RequestTokenError::Parse(wrong, _) => place(&wrong),
            _ => Self::Unread,
        }
    }
}

/// Why it could not be asked what it is.
pub(super) fn undiscovered(error: DiscoveryError<Unanswered>) -> Unanswered {
    match error {
        DiscoveryError::Request(why) => why,
        DiscoveryError::Parse(wrong) => place(&wrong),
        error => Unanswered::Unclear(error.to_string()),
    }
}

fn place(wrong: &serde_path_to_error::Error<serde_json::Error>) -> Unanswered {
    Unanswered::Unclear(format!("look at \"{}\"", wrong.path()))
}

/// The code of an error, if that is what is answered.
fn code(body: &[u8]) -> String {
    let answer: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let code = answer.and_then(|answer| answer["error"].as_str().map(str::to_owned));
    let is_code = |code: &String| {
        code.len() <= 64
            && code
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    code.filter(is_code).unwrap_or_default()
}
