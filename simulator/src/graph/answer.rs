//! An answer before it becomes a response.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::call::Call;
use super::errors::{self, JSON};
use crate::content::html::escape;
use crate::faults::{BodyShape, Fault};
pub(super) use crate::streams::Payload;

/// What is answered, and with what.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) payload: Payload,
    /// Set after the usual ones, replacing them.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// 200 with a body.
    pub(super) fn ok(content_type: &'static str, payload: Payload) -> Self {
        Self {
            status: StatusCode::OK,
            content_type,
            payload,
            headers: Vec::new(),
        }
    }

    /// 200 with an entity or a collection.
    pub(super) fn json(value: &Value) -> Self {
        const ODATA: &str = "application/json;odata.metadata=minimal;odata.streaming=true;\
                             IEEE754Compatible=false;charset=utf-8";
        Self::ok(ODATA, Payload::Bytes(value.to_string().into()))
    }

    /// The error answer that a fault asks for, if it asks for one.
    pub(super) fn fault(fault: &Fault, call: &Call) -> Option<Self> {
        let status = StatusCode::from_u16(fault.status?).ok()?;
        let (usual, message) = errors::usual(status);
        let code = fault.code.as_deref().unwrap_or(usual);
        let (content_type, body) = match fault.body.unwrap_or(BodyShape::Onenote) {
            BodyShape::Onenote => (JSON, errors::body(code, message, call).to_string()),
            BodyShape::Root => (JSON, errors::root_body(code, message).to_string()),
            BodyShape::Empty => ("", String::new()),
            BodyShape::Html => ("text/html", html(status, code)),
        };
        let retry_after = fault
            .retry_after
            .as_deref()
            .and_then(|text| text.parse().ok());
        let retry_after = retry_after.map(|value| (axum::http::header::RETRY_AFTER, value));
        Some(Self {
            status,
            content_type,
            payload: Payload::Bytes(body.into()),
            headers: retry_after.into_iter().collect(),
        })
    }

    /// The same with more headers.
    pub(super) fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Self {
        self.headers.extend(headers);
        self
    }
}

/// What a proxy in front of the service answers for it.
fn html(status: StatusCode, code: &str) -> String {
    let code = escape(code);
    format!(
        "<html><head><title>{status}</title></head><body><h2>{status}</h2><p>{code}</p></body></html>"
    )
}
