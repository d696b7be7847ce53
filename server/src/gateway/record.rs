//! One log line for each call, written when it is over.
//!
//! It says what the limiter did with the call, and its numbers: our own, the client's and the
//! upstream's. It is the call's line in the access log as well. It never holds another header, a
//! query or a body.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, StatusCode, request::Parts};
use spillway::Lane;

use super::{
    dialect::Ids,
    failure::Failure,
    refusal::{client_id, failure_kind},
};
use crate::access::Caller;
use crate::http::{Arrived, RequestId};
use crate::limiter::Ask;
use crate::metrics::{Traffic, Via};
use crate::telemetry::{self, Line};
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

/// Which request a call came with: its own, or that of its batch.
#[derive(Debug)]
struct Origin {
    request_id: RequestId,
    client_request_id: Option<String>,
    listener: &'static str,
    path: String,
}

/// What names a call.
pub(super) struct Numbers(Arc<Origin>);

impl Numbers {
    /// As a refusal writes them.
    pub(super) fn ids(&self) -> Ids {
        Ids::of(self.0.request_id, self.0.client_request_id.as_deref())
    }
}

/// What is known of a call so far; logged when dropped.
#[derive(Debug)]
pub(super) struct Record {
    origin: Arc<Origin>,
    method: Method,
    traffic: Traffic,
    /// Its span; it ends with the record.
    pub(super) span: Span,
    arrived: Instant,
    admitted: Option<Instant>,
    /// Who was let in, if somebody was.
    pub(super) caller: Option<Caller>,
    /// The upstream's name, if there is one of that name.
    pub(super) upstream: Option<Arc<str>>,
    /// The workload's name, and whom the call is charged to, where a limit applies.
    pub(super) charged: Option<(Arc<str>, Arc<Ask>)>,
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
    pub(super) fn new(call: &Parts, arrived: Arrived, traffic: Traffic, span: Span) -> Self {
        let origin = Origin {
            request_id: arrived.id,
            client_request_id: client_id(&call.headers).map(str::to_owned),
            listener: arrived.listener,
            path: arrived.path,
        };
        Self::of(origin.into(), arrived.method, arrived.at, traffic, span)
    }

    /// A part of this batch. The batch's own span tells of the whole.
    pub(super) fn of_part(&self, method: &Method) -> Self {
        let (origin, traffic) = (Arc::clone(&self.origin), self.traffic.clone());
        let now = Instant::now();
        Self::of(origin, method.clone(), now, traffic, Span::default())
    }

    fn of(origin: Arc<Origin>, method: Method, at: Instant, traffic: Traffic, span: Span) -> Self {
        Self {
            origin,
            method,
            traffic,
            span,
            upstream_request_id: None,
            arrived: at,
            admitted: None,
            caller: None,
            upstream: None,
            charged: None,
            status: None,
            outcome: Outcome::default(),
            reason: None,
            retries: 0,
        }
    }

    /// What a refusal of it names it by, also when the record is gone.
    pub(super) fn numbers(&self) -> Numbers {
        Numbers(Arc::clone(&self.origin))
    }

    fn upstream(&self) -> &str {
        self.upstream.as_deref().unwrap_or_default()
    }

    /// Its workload's name; empty where no limit applies.
    fn workload(&self) -> &str {
        let charged = self.charged.as_ref();
        charged.map_or("", |(workload, _)| &**workload)
    }

    /// Who waits for it.
    fn lane(&self) -> Option<Lane> {
        self.charged.as_ref().map(|(_, ask)| ask.call.lane)
    }

    /// The user's key, empty where nobody is charged.
    fn user(&self) -> &str {
        let charged = self.charged.as_ref();
        charged.map_or("", |(_, ask)| &ask.call.user)
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
    fn count(&self, now: Instant) {
        let Some(admitted) = self.admitted else {
            return;
        };
        let came = matches!(self.outcome, Outcome::Relayed | Outcome::Drained);
        let status = self.status.filter(|_| came);
        let (upstream, workload) = (self.upstream(), self.workload());
        self.traffic
            .answered(upstream, workload, Via::Gateway, status);
        self.traffic
            .took(upstream, workload, now.duration_since(admitted));
        self.traffic.retried(upstream, workload, self.retries);
    }

    /// What its span says: names of the configuration, and nothing of a caller's.
    fn trace(&mut self, now: Instant) {
        if !self.span.is_traced() {
            return;
        }
        let wait_ms = i64::try_from(self.waited(now).as_millis()).unwrap_or(i64::MAX);
        let (upstream, workload) = (self.upstream().to_owned(), self.workload().to_owned());
        let lane = self.lane();
        let span = &mut self.span;
        span.set("http.request.method", self.method.to_string());
        span.set("http.route", "/{upstream}/{path}");
        span.set("spillway.upstream", upstream);
        span.set("spillway.workload", workload);
        if let Some(lane) = lane {
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

    fn waited(&self, now: Instant) -> Duration {
        self.admitted.unwrap_or(now).duration_since(self.arrived)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let now = Instant::now();
        self.count(now);
        self.trace(now);
        telemetry::call(self.outcome.as_str(), |line| self.say(line, now));
    }
}

impl Record {
    fn say(&self, line: &mut Line, now: Instant) {
        let origin = &self.origin;
        line.word("listener", origin.listener);
        line.word("request_id", origin.request_id.text().as_str());
        // Visible ASCII alone, so that it cannot steer a terminal either.
        if let Some(id) = &origin.client_request_id {
            line.text("client_request_id", id);
        }
        if let Some(id) = &self.upstream_request_id {
            line.text("upstream_request_id", id);
        }
        line.word("method", self.method.as_str());
        line.word("path", &origin.path);
        line.text("caller", self.caller.as_ref().map_or("", Caller::name));
        line.text("upstream", self.upstream());
        line.text("workload", self.workload());
        if let Some(lane) = self.lane() {
            line.word("lane", lane_name(lane));
        }
        // A key is a stranger's text.
        line.word("user", self.user());
        if let Some(status) = self.status {
            line.number("status", status.as_u16());
        }
        line.number("wait_ms", millis(self.waited(now)));
        if let Some(at) = self.admitted {
            line.number("upstream_ms", millis(now.duration_since(at)));
        }
        line.number("duration_ms", millis(now.duration_since(self.arrived)));
        line.number("retries", self.retries);
        if let Some(reason) = &self.reason {
            line.text("reason", reason);
        }
    }
}

/// As the engine writes it, without a detour over formatting.
const fn lane_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Foreground => "foreground",
        Lane::Background => "background",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
