//! What Prometheus is told of the outbox.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::store::{Kind, OutboxFigures};

/// Counters and gauges of the outbox. Clones share them.
#[derive(Clone, Debug)]
pub struct Counters {
    deliveries: IntCounterVec,
    owed: IntGaugeVec,
    oldest: IntGaugeVec,
    incidents: IntGauge,
}

impl Counters {
    /// At zero, shown by `registry`.
    ///
    /// # Errors
    /// The registry has some of these names.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let deliveries = IntCounterVec::new(
            Opts::new(
                "spillway_outbox_deliveries_total",
                "Messages that were sent, put off or given up, by how a try to deliver them ended.",
            ),
            &["kind", "outcome"],
        )?;
        let owed = IntGaugeVec::new(
            Opts::new(
                "spillway_outbox_owed",
                "Messages that wait to be delivered.",
            ),
            &["kind"],
        )?;
        let oldest = IntGaugeVec::new(
            Opts::new(
                "spillway_outbox_oldest_seconds",
                "For how long the oldest of them has waited.",
            ),
            &["kind"],
        )?;
        let incidents = IntGauge::new(
            "spillway_incidents",
            "Incidents that somebody was or will be told of and that are not over.",
        )?;
        registry.register(Box::new(deliveries.clone()))?;
        registry.register(Box::new(owed.clone()))?;
        registry.register(Box::new(oldest.clone()))?;
        registry.register(Box::new(incidents.clone()))?;
        let counters = Self {
            deliveries,
            owed,
            oldest,
            incidents,
        };
        // So that alerts see a first failure as one more than none.
        for kind in Kind::ALL {
            for outcome in ["sent", "again", "failed"] {
                counters.ended(kind, outcome, 0);
            }
        }
        Ok(counters)
    }

    pub(super) fn ended(&self, kind: Kind, outcome: &str, times: u64) {
        let labels = [kind.name(), outcome];
        self.deliveries.with_label_values(&labels).inc_by(times);
    }

    pub(super) fn stands(&self, kind: Kind, figures: &OutboxFigures, now_ms: i64) {
        let waited_ms = figures.oldest_ms.map_or(0, |at| now_ms.saturating_sub(at));
        self.owed
            .with_label_values(&[kind.name()])
            .set(figures.owed);
        let oldest = self.oldest.with_label_values(&[kind.name()]);
        oldest.set(waited_ms / 1_000);
    }

    /// So many incidents are due or told, and not over.
    pub fn incidents(&self, number: usize) {
        self.incidents
            .set(i64::try_from(number).unwrap_or(i64::MAX));
    }
}
