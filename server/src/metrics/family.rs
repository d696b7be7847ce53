//! Families of samples as they are at a scrape: built from what is known then, not kept.

use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType,
};

/// Labels by name, in any order.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

/// Samples of one name.
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    metrics: Vec<Metric>,
}

impl Family {
    /// What only grows.
    pub(super) fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricType::COUNTER)
    }

    /// What is so now.
    pub(super) fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricType::GAUGE)
    }

    /// How long things took.
    pub(super) fn histogram(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, MetricType::HISTOGRAM)
    }

    fn new(name: &'static str, help: &'static str, kind: MetricType) -> Self {
        Self {
            name,
            help,
            kind,
            metrics: Vec::new(),
        }
    }

    /// Adds a sample.
    #[allow(
        clippy::cast_precision_loss,
        reason = "samples are floats; counts above 2^53 may be rounded"
    )]
    pub(super) fn add(&mut self, labels: Labels<'_>, value: u64) {
        self.add_float(labels, value as f64);
    }

    /// Adds a sample.
    pub(super) fn add_float(&mut self, labels: Labels<'_>, value: f64) {
        let mut metric = Metric::from_label(pairs(labels));
        if self.kind == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        self.metrics.push(metric);
    }

    /// Adds a histogram: for each upper bound, in seconds, how many were above the one before;
    /// the last of `counts` are those above all bounds.
    pub(super) fn add_histogram(
        &mut self,
        labels: Labels<'_>,
        bounds_s: &[f64],
        counts: &[u64],
        sum_s: f64,
    ) {
        let mut cumulative = 0;
        let buckets = bounds_s.iter().zip(counts).map(|(bound, count)| {
            cumulative += count;
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(*bound);
            bucket.set_cumulative_count(cumulative);
            bucket
        });
        let mut histogram = Histogram::default();
        histogram.set_bucket(buckets.collect());
        histogram.set_sample_count(counts.iter().sum());
        histogram.set_sample_sum(sum_s);
        let mut metric = Metric::from_label(pairs(labels));
        metric.set_histogram(histogram);
        self.metrics.push(metric);
    }

    /// As it is written down; none without samples.
    pub(super) fn finish(self) -> Option<MetricFamily> {
        if self.metrics.is_empty() {
            return None;
        }
        let mut family = MetricFamily::default();
        family.set_name(self.name.to_owned());
        family.set_help(self.help.to_owned());
        family.set_field_type(self.kind);
        family.set_metric(self.metrics);
        Some(family)
    }
}

fn pairs(labels: Labels<'_>) -> Vec<LabelPair> {
    let pairs = labels.iter().map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    });
    pairs.collect()
}
