//! `POST …/$batch`: up to twenty calls in one (learn.microsoft.com/graph/json-batching).
//!
//! Each part is a call of its own, with limits of its own: it takes a slot, counts against the
//! rates and may be throttled while others pass. The envelope costs nothing. Parts run side by
//! side; one that depends on others runs after them, or is answered 424 where one failed.
//!
//! An injected fault that matches the envelope's path ends it before any part runs, but for
//! two kinds: a cut connection, which comes afterwards, and status 424, under which a batch
//! with failed parts is answered according to Graph's throttling guide.

mod parse;
mod part;

use std::time::Duration;

use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::join_all;

use super::answer::{Answer, Payload};
use super::call::Call;
use super::errors::GraphError;
use super::finish;
use crate::faults::Fault;
use crate::identity;
use crate::random::hash;
use crate::simulator::Simulator;
use parse::{Batch, Part};
use part::Told;

/// Whether a path asks for a batch, and under which version.
pub(super) fn version(path: &str) -> Option<&str> {
    let (version, last) = path.strip_prefix('/')?.split_once('/')?;
    let known = ["v1.0", "beta"].contains(&version);
    (known && last.eq_ignore_ascii_case("$batch")).then_some(version)
}

/// Answers a batch. The work goes on if the client hangs up.
pub(super) async fn answer(
    simulator: &Simulator,
    call: &Call,
    version: &str,
    request: &Request<Bytes>,
) -> Result<Response, GraphError> {
    let batch = Batch::read(request)?;
    simulator.count_parts(batch.parts.len());
    let fault = take_fault(simulator, call, request);
    if let Some(status) = fault.status.filter(|status| *status != 424) {
        tracing::debug!(status, "a batch fails as it was asked to");
        let answer = Answer::fault(&fault, call).ok_or_else(GraphError::stopping)?;
        return Ok(finish(call, answer, &fault));
    }
    let work = Work {
        simulator: simulator.clone(),
        version: version.to_owned(),
        headers: request.headers().clone(),
        number: call.number,
        latency: fault.latency_ms.map(Duration::from_millis),
    };
    let work = tokio::spawn(work.run(batch));
    let told = work.await.map_err(|_| GraphError::stopping())?;
    let fault = Fault {
        cut: told.iter().find_map(|told| told.cut).or(fault.cut),
        ..fault
    };
    let mut answer = Answer::json(&responses(&told));
    if fault.status.is_some() {
        answer.status = StatusCode::FAILED_DEPENDENCY;
    }
    Ok(finish(call, answer, &fault))
}

fn take_fault(simulator: &Simulator, call: &Call, request: &Request<Bytes>) -> Fault {
    let default_app = &simulator.settings().app;
    let caller = identity::caller(request.headers(), None, default_app);
    let user = caller.map(|caller| caller.user).unwrap_or_default();
    let ordered = simulator.faults().take(request.uri().path(), &user);
    ordered.unwrap_or_else(|| simulator.chance_of_batch(call.number))
}

struct Work {
    simulator: Simulator,
    version: String,
    headers: HeaderMap,
    number: u64,
    latency: Option<Duration>,
}

impl Work {
    /// Runs all parts and tells of them in an order drawn from the seed.
    async fn run(self, batch: Batch) -> Vec<Told> {
        if let Some(latency) = self.latency {
            tokio::time::sleep(latency).await;
        }
        let mut told: Vec<Option<Told>> = batch.parts.iter().map(|_| None).collect();
        loop {
            let ready = |(n, part): &(usize, &Part)| {
                told[*n].is_none() && part.depends_on.iter().all(|other| told[*other].is_some())
            };
            let wave: Vec<_> = batch.parts.iter().enumerate().filter(ready).collect();
            if wave.is_empty() {
                break;
            }
            let wave = wave.into_iter().map(|(n, part)| {
                let failed = |other: &usize| told[*other].as_ref().is_none_or(Told::failed);
                let in_vain = part.depends_on.iter().any(failed);
                let work = &self;
                async move { (n, work.part(part, in_vain).await) }
            });
            for (n, answer) in join_all(wave.collect::<Vec<_>>()).await {
                told[n] = Some(answer);
            }
        }
        let mut told: Vec<Told> = told.into_iter().flatten().collect();
        let (seed, number) = (self.simulator.settings().seed, self.number.to_string());
        told.sort_by_cached_key(|told| hash(seed, &["batch order", &number, &told.id]));
        told
    }

    async fn part(&self, part: &Part, in_vain: bool) -> Told {
        if in_vain {
            return part::failed_dependency(part);
        }
        part::run(&self.simulator, &self.version, &self.headers, part).await
    }
}

fn responses(told: &[Told]) -> serde_json::Value {
    let responses: Vec<_> = told.iter().map(Told::json).collect();
    serde_json::json!({ "responses": responses })
}

impl Answer {
    /// The whole body, unless it is made while it is sent.
    fn bytes(&self) -> Option<&Bytes> {
        match &self.payload {
            Payload::Bytes(bytes) => Some(bytes),
            Payload::Large(_) => None,
        }
    }
}
