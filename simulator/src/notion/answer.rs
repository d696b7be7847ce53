//! One call, and how it is answered.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::Value;

use super::errors::{self, Error};
use crate::faults::{BodyShape, Fault};
use crate::random::{guid, hash};
use crate::simulator::{Simulator, Slot};
use crate::streams::{self, Payload};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-notion-request-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    /// Its number, from 1.
    pub(super) number: u64,
    request_id: String,
}

impl Call {
    /// Counts the call and gives it its id.
    pub(super) fn begin(simulator: &Simulator) -> Self {
        let number = simulator.next_call();
        let seed = simulator.settings().seed;
        Self {
            number,
            request_id: guid(hash(seed, &["notion call", &number.to_string()])),
        }
    }

    /// The answer to a call that holds no slot.
    pub(super) fn respond(&self, answer: Result<Value, Error>) -> Response {
        self.written(answer, |payload| match payload {
            Payload::Bytes(bytes) => Body::from(bytes),
            Payload::Large(_) => Body::empty(),
        })
    }

    /// The answer to a call that holds a slot, cut where the fault says so.
    pub(super) fn deliver(
        &self,
        answer: Result<Value, Error>,
        fault: &Fault,
        slot: Slot,
    ) -> Response {
        let mut response = self.written(answer, |payload| {
            streams::cut(payload, fault.cut, Some(slot))
        });
        response.headers_mut().extend(fault.header_pairs());
        response
    }

    /// The error answer that a fault with a status asks for.
    pub(super) fn fault(&self, fault: &Fault, slot: Slot) -> Response {
        let error = errors::usual(fault.status.unwrap_or(500));
        let mut body = error.json(&self.request_id);
        if let Some(code) = &fault.code {
            body["code"] = code.as_str().into();
        }
        let (kind, text) = match fault.body {
            None | Some(BodyShape::Onenote | BodyShape::Root) => (JSON, body.to_string()),
            Some(BodyShape::Empty) => (JSON, String::new()),
            Some(BodyShape::Html) => (
                HeaderValue::from_static("text/html"),
                format!("<html><body><h1>{}</h1></body></html>", error.status),
            ),
        };
        let payload = Payload::Bytes(text.into());
        let cut = |payload| streams::cut(payload, fault.cut, Some(slot));
        let mut response = self.response(error.status, payload, cut);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        let told = fault
            .retry_after
            .as_deref()
            .and_then(|text| text.parse().ok());
        headers.extend(told.map(|value: HeaderValue| (header::RETRY_AFTER, value)));
        headers.extend(fault.header_pairs());
        response
    }

    fn written(
        &self,
        answer: Result<Value, Error>,
        body: impl FnOnce(Payload) -> Body,
    ) -> Response {
        let (status, wait, value) = match answer {
            Ok(mut value) => {
                value["request_id"] = self.request_id.as_str().into();
                (200, None, value)
            }
            Err(error) => (error.status, error.wait, error.json(&self.request_id)),
        };
        let payload = Payload::Bytes(value.to_string().into());
        let mut response = self.response(status, payload, body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        if let Some(wait) = wait {
            // Whole seconds, rounded up, so that who waits as long finds room.
            let seconds = (wait.as_millis().div_ceil(1000)).clamp(1, u128::from(u32::MAX));
            let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }

    fn response(
        &self,
        status: u16,
        payload: Payload,
        body: impl FnOnce(Payload) -> Body,
    ) -> Response {
        let length = payload.len();
        let mut response = Response::new(body(payload));
        let status = StatusCode::from_u16(status);
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            headers.insert(REQUEST_ID, id);
        }
        response
    }
}
