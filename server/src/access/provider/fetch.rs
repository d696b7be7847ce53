//! Asking the provider, in bounded time and for bounded answers.

use std::{io, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, StatusCode, header, request::Builder};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Hyper, connect::HttpConnector},
    rt::TokioExecutor,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// How long one question may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Why the provider was asked in vain. What it answered may hold secrets: only its status and the
/// code of its error are told.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It is no address that can be asked.
    #[error("its address cannot be asked")]
    Address(#[from] http::Error),
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
    #[error("its answer is not what was asked for")]
    Unclear(#[source] serde_json::Error),
}

/// Asks by HTTP.
#[derive(Clone, Debug)]
pub(super) struct Client(Hyper<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// Names and values as forms and queries have them.
#[derive(Debug, Default)]
pub(super) struct Form(String);

impl Form {
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0 += name;
        self.0.push('=');
        self.0 += &escaped(value);
    }

    pub(super) fn text(self) -> String {
        self.0
    }
}

impl Client {
    /// One that knows the provider by the system's certificates, where it has to.
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
            let tls = tls.with_tls_config(config);
            tls.https_or_http().enable_http1().build()
        };
        Ok(Self(Hyper::builder(TokioExecutor::new()).build(connector)))
    }

    /// What stands at `address`.
    pub(super) async fn get<T: DeserializeOwned>(&self, address: &str) -> Result<T, Unanswered> {
        self.ask(Request::get(address), Bytes::new()).await
    }

    /// What it answers to a form, from the client of this name and secret.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        address: &str,
        form: Form,
        client: Option<(&str, &str)>,
    ) -> Result<T, Unanswered> {
        let kind = "application/x-www-form-urlencoded";
        let mut request = Request::post(address).header(header::CONTENT_TYPE, kind);
        if let Some((id, secret)) = client {
            // Both as forms have them (RFC 6749, 2.3.1).
            let basic = STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret)));
            request = request.header(header::AUTHORIZATION, format!("Basic {basic}"));
        }
        self.ask(request, form.text().into()).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: Builder,
        body: Bytes,
    ) -> Result<T, Unanswered> {
        let request = request.header(header::ACCEPT, "application/json");
        let request = request.body(Full::new(body))?;
        let answered = async {
            let answer = self.0.request(request).await;
            let (head, body) = answer.map_err(Unanswered::Unreached)?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|_| Unanswered::Unread)?.to_bytes();
            Ok::<_, Unanswered>((head.status, body))
        };
        let (status, body) = timeout(ANSWER_MAX, answered)
            .await
            .map_err(|_| Unanswered::Late)??;
        if status != StatusCode::OK {
            let error = code(&body);
            return Err(Unanswered::Refused { status, error });
        }
        serde_json::from_slice(&body).map_err(Unanswered::Unclear)
    }
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

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
