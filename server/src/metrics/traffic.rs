//! What upstreams answered, counted as it happens.

use std::time::Duration;

use http::StatusCode;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

/// Upper bounds of how long an answer may take, in seconds: from what a cache answers in to
/// what clients wait for.
const BOUNDS_S: [f64; 11] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

/// Who made the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The gateway.
    Gateway,
    /// Somebody with a permit, who reported it.
    Permit,
}

/// Counters of what upstreams answered. Clones share them. Labels are names in the
/// configuration: nothing that a caller writes becomes one.
#[derive(Clone, Debug)]
pub struct Traffic {
    answers: IntCounterVec,
    seconds: HistogramVec,
    retries: IntCounterVec,
}

impl Traffic {
    /// Counters at zero, shown by `registry`.
    ///
    /// # Errors
    /// The registry has counters of these names.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let answers = IntCounterVec::new(
            Opts::new(
                "spillway_upstream_answers_total",
                "Answers of upstreams by class; 429 is a class of its own, failed: none came.",
            ),
            &["upstream", "workload", "via", "class"],
        )?;
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "spillway_upstream_call_seconds",
                "How long calls through the gateway were with their upstream, bodies included.",
            )
            .buckets(BOUNDS_S.to_vec()),
            &["upstream", "workload"],
        )?;
        let retries = IntCounterVec::new(
            Opts::new(
                "spillway_upstream_retries_total",
                "Calls that the gateway sent again while it held them.",
            ),
            &["upstream", "workload"],
        )?;
        registry.register(Box::new(answers.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(retries.clone()))?;
        Ok(Self {
            answers,
            seconds,
            retries,
        })
    }

    /// An upstream answered; none: its answer did not come, or not whole.
    pub fn answered(&self, upstream: &str, workload: &str, via: Via, status: Option<StatusCode>) {
        let via = match via {
            Via::Gateway => "gateway",
            Via::Permit => "permit",
        };
        let labels = [upstream, workload, via, class(status)];
        self.answers.with_label_values(&labels).inc();
    }

    /// A call was with its upstream for so long.
    pub fn took(&self, upstream: &str, workload: &str, time: Duration) {
        let seconds = self.seconds.with_label_values(&[upstream, workload]);
        seconds.observe(time.as_secs_f64());
    }

    /// A call was sent again so often.
    pub fn retried(&self, upstream: &str, workload: &str, times: u32) {
        if times > 0 {
            let retries = self.retries.with_label_values(&[upstream, workload]);
            retries.inc_by(times.into());
        }
    }
}

fn class(status: Option<StatusCode>) -> &'static str {
    match status.map(|status| status.as_u16()) {
        None => "failed",
        Some(429) => "429",
        Some(100..=199) => "1xx",
        Some(200..=299) => "2xx",
        Some(300..=399) => "3xx",
        Some(400..=499) => "4xx",
        Some(_) => "5xx",
    }
}
