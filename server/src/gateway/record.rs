//! One log line for each call, written when it is over.
//!
//! It says what the limiter did with the call, and its numbers: our own, which the access log
//! has too, the client's and the upstream's. It never holds another header, a query or a body.

use std::time::{Duration, Instant};

use http::{Method, StatusCode, request::Parts};
use spillway::Lane;

use super::{
    failure::Failure,
    refusal::{client_id, failure_kind},
};
use crate::http::RequestId;
use crate::metrics::{Traffic, Via};
use crate::traces::Span;

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its caller left before it was admitted.
    #[default]
    Left,
    /// The gateway answered itself.
    Refused,
    /// The upstream's answer went to the caller, whole.
    Relayed,
    /// The upstream's answer was read to its end, without its caller.
    Drained,
    /// The upstream's answer did not come, or was cut.
    Failed,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Refused => "refused",
            Self::Relayed => "relayed",
            Self::Drained => "drained",
            Self::Failed => "failed",
        }
    }
}

/// What is known of a call so far; logged when dropped.
#[derive(Debug)]
pub(super) struct Record {
    request_id: Option<RequestId>,
    client_request_id: Option<String>,
    method: Method,
    traffic: Traffic,
    /// Its span; it ends with the record.
    pub(super) span: Span,
    arrived: Instant,
    admitted: Option<Instant>,
    /// What let the caller in: its token's id, or its network; empty where nothing did.
    pub(super) caller: String,
    /// The upstream's name, empty if there is none of that name.
    pub(super) upstream: String,
    /// The workload's name, empty where no limit applies.
    pub(super) workload: String,
    /// Who waits for it.
    pub(super) lane: Option<Lane>,
    /// The user's key, empty where nobody is charged.
    pub(super) user: String,
    /// What the upstream calls it.
    pub(super) upstream_request_id: Option<String>,
    /// The answer's status, the upstream's or the gateway's own.
    pub(super) status: Option<StatusCode>,
    /// How it ended.
    pub(super) outcome: Outcome,
    /// Why it failed or was refused: a code, or a chain of errors.
    pub(super) reason: Option<String>,
    /// How often it was sent again.
    pub(super) retries: u32,
}

impl Record {
    /// A call that has just arrived.
    pub(super) fn new(call: &Parts, traffic: Traffic, span: Span) -> Self {
        Self {
            request_id: call.extensions.get().copied(),
            client_request_id: client_id(&call.headers).map(str::to_owned),
            upstream_request_id: None,
            method: call.method.clone(),
            traffic,
            span,
            arrived: Instant::now(),
            admitted: None,
            caller: String::new(),
            upstream: String::new(),
            workload: String::new(),
            lane: None,
            user: String::new(),
            status: None,
            outcome: Outcome::default(),
            reason: None,
            retries: 0,
        }
    }

    /// A part of a batch that has just arrived.
    pub(super) fn of_part(batch: &Parts, method: &Method, traffic: Traffic) -> Self {
        // The batch's own span tells of the whole.
        let mut record = Self::new(batch, traffic, Span::default());
        record.method = method.clone();
        record
    }

    /// From here on the call is the upstream's.
    pub(super) fn admit(&mut self) {
        self.admitted = Some(Instant::now());
        self.outcome = Outcome::Failed;
    }

    /// Whether it ever was the upstream's.
    pub(super) fn was_admitted(&self) -> bool {
        self.admitted.is_some()
    }

    /// There is no answer of the upstream's, or not all of it. A status that its caller has
    /// already seen stays.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.outcome = Outcome::Failed;
        self.status.get_or_insert(failure_kind(failure).0);
        self.reason = Some(failure.chain());
    }

    /// How long ago the call arrived.
    pub(super) fn age(&self) -> Duration {
        self.arrived.elapsed()
    }

    /// Counts what its upstream did, if it got there.
    fn count(&self) {
        let Some(admitted) = self.admitted else {
            return;
        };
        let came = matches!(self.outcome, Outcome::Relayed | Outcome::Drained);
        let status = self.status.filter(|_| came);
        let (upstream, workload) = (&self.upstream, &self.workload);
        self.traffic
            .answered(upstream, workload, Via::Gateway, status);
        self.traffic.took(upstream, workload, admitted.elapsed());
        self.traffic.retried(upstream, workload, self.retries);
    }

    /// What its span says: names of the configuration, and nothing of a caller's.
    fn trace(&mut self) {
        if !self.span.is_traced() {
            return;
        }
        let wait_ms = i64::try_from(self.waited().as_millis()).unwrap_or(i64::MAX);
        let span = &mut self.span;
        span.set("http.request.method", self.method.to_string());
        span.set("http.route", "/{upstream}/{path}");
        span.set("spillway.upstream", self.upstream.clone());
        span.set("spillway.workload", self.workload.clone());
        if let Some(lane) = self.lane {
            span.set("spillway.lane", lane.to_string());
        }
        span.set("spillway.wait_ms", wait_ms);
        span.set("spillway.retries", i64::from(self.retries));
        span.set("spillway.outcome", self.outcome.as_str());
        if let Some(code) = self
            .reason
            .clone()
            .filter(|_| self.outcome == Outcome::Refused)
        {
            span.set("spillway.refused", code);
        }
        if let Some(status) = self.status {
            span.answered(status);
        }
    }

    fn waited(&self) -> Duration {
        self.admitted.map_or_else(
            || self.arrived.elapsed(),
            |at| at.duration_since(self.arrived),
        )
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.count();
        self.trace();
        let upstream_ms = self.admitted.map(|at| millis(at.elapsed()));
        tracing::info!(
            target: "spillway::gateway",
            request_id = self.request_id.map(tracing::field::display),
            // Visible ASCII alone, so that it cannot steer a terminal either.
            client_request_id = self.client_request_id,
            upstream_request_id = self.upstream_request_id,
            method = %self.method,
            caller = self.caller,
            upstream = self.upstream,
            workload = self.workload,
            lane = self.lane.map(tracing::field::display),
            // Escaped: a key is a stranger's text and must not steer a terminal.
            user = %self.user.escape_debug(),
            status = self.status.map(|status| status.as_u16()),
            wait_ms = millis(self.waited()),
            upstream_ms,
            retries = self.retries,
            reason = self.reason,
            "{}",
            self.outcome.as_str()
        );
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
