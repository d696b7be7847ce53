//! `GET /metrics`: what Prometheus reads, in its text format.
//!
//! Counters of [`Traffic`] are kept as things happen; what the limiters know is asked at the
//! scrape ([`limits`]), a few budgets at a time. However many users there are, the series are as
//! many as the configuration has names ([`crate::limiter::Figures`]).

mod family;
mod limits;
mod traffic;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use prometheus::{Encoder as _, Registry, TextEncoder, process_collector::ProcessCollector};
use tokio::{sync::Mutex, time::Instant};

use crate::{limiter::Limiters, outbox};
use family::Family;
pub use traffic::{Traffic, Via};

/// Who asks again within this time gets the same answer: however often it is asked, the
/// limiters are once.
const FRESH: Duration = Duration::from_millis(500);

/// Metrics of the whole server. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    limiters: Arc<Limiters>,
    registry: Registry,
    traffic: Traffic,
    last: Mutex<Option<(Instant, Bytes)>>,
}

/// What a process's metrics are read with; made before what they speak of.
#[derive(Clone, Debug)]
pub struct Counters {
    registry: Registry,
    /// What upstreams answered.
    pub traffic: Traffic,
    /// What became of messages.
    pub outbox: outbox::Counters,
}

impl Counters {
    /// All at zero.
    ///
    /// # Errors
    /// Two have the same name.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let traffic = Traffic::new(&registry)?;
        let outbox = outbox::Counters::new(&registry)?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        Ok(Self {
            registry,
            traffic,
            outbox,
        })
    }
}

impl Metrics {
    /// Metrics of these limiters, and of what was counted.
    #[must_use]
    pub fn new(limiters: Arc<Limiters>, counters: Counters) -> Self {
        Self(Arc::new(Inner {
            limiters,
            registry: counters.registry,
            traffic: counters.traffic,
            last: Mutex::default(),
        }))
    }

    /// Where answers that were reported are counted.
    #[must_use]
    pub fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// Everything, in Prometheus's text format; so many streams of the live state are open.
    ///
    /// # Errors
    /// Something cannot be written in it.
    pub async fn text(&self, viewers: u64) -> Result<Bytes, prometheus::Error> {
        // Held meanwhile: those who ask at the same time wait for the same answer.
        let mut last = self.0.last.lock().await;
        if let Some((at, text)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(text.clone());
        }
        let inner = Arc::clone(&self.0);
        let gathered = tokio::task::spawn_blocking(move || inner.gather(viewers)).await;
        let text = gathered.map_err(|error| prometheus::Error::Msg(error.to_string()))??;
        *last = Some((Instant::now(), text.clone()));
        Ok(text)
    }
}

impl Inner {
    fn gather(&self, viewers: u64) -> Result<Bytes, prometheus::Error> {
        let figures: Vec<_> = self
            .limiters
            .all()
            .iter()
            .map(crate::limiter::Limiter::figures)
            .collect();
        let mut families = limits::families(&figures);
        families.extend(present(viewers));
        families.extend(self.registry.gather());
        families.sort_by(|a, b| a.name().cmp(b.name()));
        let mut text = Vec::new();
        TextEncoder::new().encode(&families, &mut text)?;
        Ok(text.into())
    }
}

fn present(viewers: u64) -> impl Iterator<Item = prometheus::proto::MetricFamily> {
    let mut build = Family::gauge("spillway_build_info", "The version that runs; always 1.");
    build.add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let help = "Open streams of the live state.";
    let mut streams = Family::gauge("spillway_stream_viewers", help);
    streams.add(&[], viewers);
    [build, streams].into_iter().filter_map(Family::finish)
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
