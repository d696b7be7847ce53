//! What surrounds every answer: ids, diagnostics, caching.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;

use super::answer::{Answer, Payload};
use crate::clock::wall_seconds;
use crate::random::{guid, hash};
use crate::simulator::Simulator;
use crate::streams;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("client-request-id");
const DIAGNOSTIC: HeaderName = HeaderName::from_static("x-ms-ags-diagnostic");
const ODATA_VERSION: HeaderName = HeaderName::from_static("odata-version");
/// Where a real answer names the machine that gave it.
const SERVER_INFO: &str = r#"{"ServerInfo":{"DataCenter":"Simulated","Slice":"E","Ring":"5","ScaleUnit":"001","RoleInstance":"SPILLWAY0"}}"#;
/// A longer client-request-id is not echoed.
const ECHO_MAX: usize = 128;

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    /// Its number, from 1.
    pub(super) number: u64,
    pub(super) request_id: String,
    /// The client's own, or else the same as `request_id`.
    pub(super) client_request_id: String,
    /// When it came, in seconds since 1970.
    pub(super) wall_seconds: i64,
}

impl Call {
    /// Counts the call and gives it its ids.
    pub(super) fn begin(simulator: &Simulator, headers: &HeaderMap) -> Self {
        Self::numbered(simulator, "call", simulator.next_call(), headers)
    }

    /// The same for a batch of calls, which is none itself.
    pub(super) fn begin_batch(simulator: &Simulator, headers: &HeaderMap) -> Self {
        Self::numbered(simulator, "batch", simulator.next_batch(), headers)
    }

    fn numbered(simulator: &Simulator, kind: &str, number: u64, headers: &HeaderMap) -> Self {
        let request_id = guid(hash(
            simulator.settings().seed,
            &[kind, &number.to_string()],
        ));
        let echoed = headers
            .get(CLIENT_REQUEST_ID)
            .and_then(|value| value.to_str().ok());
        let client_request_id = match echoed {
            Some(id) if (1..=ECHO_MAX).contains(&id.len()) => id.to_owned(),
            _ => request_id.clone(),
        };
        Self {
            number,
            request_id,
            client_request_id,
            wall_seconds: wall_seconds(),
        }
    }

    /// The answer to a call that holds no slot.
    pub(super) fn respond(&self, answer: Answer) -> Response {
        self.respond_with(answer, streams::unmetered)
    }

    /// The answer, with its payload made into a body.
    pub(super) fn respond_with(
        &self,
        answer: Answer,
        body: impl FnOnce(Payload) -> Body,
    ) -> Response {
        let length = answer.payload.len();
        let mut response = Response::new(body(answer.payload));
        *response.status_mut() = answer.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        if !answer.content_type.is_empty() {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static(answer.content_type),
            );
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(ODATA_VERSION, HeaderValue::from_static("4.0"));
        headers.insert(DIAGNOSTIC, HeaderValue::from_static(SERVER_INFO));
        for (name, id) in [
            (REQUEST_ID, &self.request_id),
            (CLIENT_REQUEST_ID, &self.client_request_id),
        ] {
            if let Ok(value) = HeaderValue::from_str(id) {
                headers.insert(name, value);
            }
        }
        headers.extend(answer.headers);
        response
    }
}
