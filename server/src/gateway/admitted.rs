//! A call that may go: made what its upstream gets, and handed to its exchange.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{
    Extensions, HeaderValue, Method, Request, Version,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
    request::Parts,
};
use tokio::sync::oneshot;

use super::{
    Gateway, carried::Carried, exchange::Exchange, failure::Failure, links::Answers, path::Target,
    readmission::Readmission, relay::Arrival, replay::Call, request_headers, slot::Slot,
    upstream::Upstream,
};

/// A call that may go.
pub(super) struct Admitted<'a> {
    pub(super) upstream: &'a Upstream,
    pub(super) target: Target,
    pub(super) slot: Slot,
    pub(super) readmission: Readmission,
}

impl Admitted<'_> {
    /// Makes of a call what its upstream gets: the address line in origin form, and only the
    /// headers that are its business. Says how the answer is rewritten.
    pub(super) async fn make_onward(
        &self,
        arrival: &mut Arrival,
    ) -> Result<Option<Answers>, Failure> {
        let Arrival {
            parts,
            body,
            record,
            ..
        } = arrival;
        parts.version = Version::HTTP_11;
        parts.uri = self.target.origin_form();
        parts.extensions = Extensions::new();
        request_headers::forward(&mut parts.headers, self.upstream.base.authority());
        record.span.hand_on(&mut parts.headers);
        let mut answers = None;
        if let Some(links) = self.upstream.links() {
            answers = Some(Answers::to(&parts.headers, links));
            let outgoing = links
                .outgoing(&mut parts.headers, std::mem::take(body))
                .await;
            *body = outgoing
                .map_err(|error| Failure::UploadCut(error.into()))
                .inspect_err(|failure| record.fail(failure))?;
        }
        frame(parts, body);
        Ok(answers)
    }

    /// Begins the exchange: what carries it, and where the answer's head comes.
    pub(super) fn begin(
        self,
        gateway: &Gateway,
        arrival: Arrival,
        links: Option<Answers>,
    ) -> (Carried, oneshot::Receiver<Result<Response, Failure>>) {
        let Arrival {
            parts,
            body,
            mut record,
            ..
        } = arrival;
        record.admit();
        let (caller, head) = oneshot::channel();
        let exchange = Exchange {
            slot: self.slot,
            readmission: self.readmission,
            links,
            record,
            connections: Arc::clone(&self.upstream.connections),
            call: Call::new(Request::from_parts(parts, body)),
            caller: Some(caller),
        };
        let carried = Carried::new(gateway.exchanges.track_future(exchange.run()));
        (carried, head)
    }
}

/// The answer's head. What of the call has not ended with it goes on by itself: a caller who
/// leaves later ends nothing.
pub(super) async fn head_of(
    mut carried: Carried,
    mut head: oneshot::Receiver<Result<Response, Failure>>,
) -> Result<Response, Failure> {
    let came = tokio::select! {
        biased;
        () = &mut carried => head.await,
        came = &mut head => came,
    };
    came.unwrap_or(Err(Failure::Gone))
}

/// Says how a call's body ends, where hyper would not: it leaves a body of unknown length out of
/// a call of `GET` or `HEAD`, and the length of an empty one, which servers demand where a body is
/// the method's point (411).
fn frame(parts: &mut Parts, body: &Body) {
    let length = http_body::Body::size_hint(body).exact();
    let is_empty = http_body::Body::is_end_stream(body);
    let expects_body = [Method::POST, Method::PUT, Method::PATCH].contains(&parts.method);
    let headers = &mut parts.headers;
    if is_empty && expects_body {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    } else if !is_empty && length.is_none() {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}
