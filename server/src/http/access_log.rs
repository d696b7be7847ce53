//! One log line for each request: method, path, status, how long until its answer began.
//!
//! The path without its query, and no header at all: a log that holds no secret cannot
//! leak one. A path that holds a token, by somebody's mistake, is not shown.

use std::time::Instant;

use http::{Method, Request, StatusCode};

use super::{Peer, RequestId};
use crate::{access::secret::is_within, telemetry};

/// What is known of a request from its beginning. Whoever gets it writes the request's line.
#[derive(Debug)]
pub struct Arrived {
    /// Which listener's it is.
    pub listener: &'static str,
    /// Its number, for all that is logged of it, and its answer.
    pub id: RequestId,
    /// When.
    pub at: Instant,
    /// What it asks for.
    pub method: Method,
    /// Of what, without the query.
    pub path: String,
    /// Who is at the other end of its connection; `None`: it has gone already.
    pub peer: Option<Peer>,
}

impl Arrived {
    pub(super) fn now<B>(listener: &'static str, request: &Request<B>, peer: Option<Peer>) -> Self {
        Self {
            listener,
            id: RequestId::random(),
            at: Instant::now(),
            method: request.method().clone(),
            path: shown(request.uri().path()).to_owned(),
            peer,
        }
    }
}

/// A request's line, written when its answer begins, or when its client leaves before: then
/// the whole future that it waits for is dropped.
pub struct Entry {
    arrived: Arrived,
    status: Option<StatusCode>,
}

impl Entry {
    /// The line of what has `arrived`.
    #[must_use]
    pub fn of(arrived: Arrived) -> Self {
        let status = None;
        Self { arrived, status }
    }

    /// The request's answer begins.
    pub fn answered(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let arrived = &self.arrived;
        let status = self.status.map_or(0, |status| status.as_u16());
        let outcome = if self.status.is_some() {
            "answered"
        } else {
            "client left"
        };
        let took_ms = arrived.at.elapsed().as_millis();
        telemetry::access(outcome, |line| {
            line.text("listener", arrived.listener)
                .word("request_id", arrived.id.text().as_str())
                .word("method", arrived.method.as_str())
                .word("path", &arrived.path)
                .number("status", status)
                .number("duration_ms", u64::try_from(took_ms).unwrap_or(u64::MAX));
        });
    }
}

/// A path, unless it is a secret.
fn shown(path: &str) -> &str {
    if is_within(path) {
        "(a path with a token)"
    } else {
        path
    }
}
