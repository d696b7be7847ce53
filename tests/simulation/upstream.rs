//! The upstream: counts by itself, each call at the instant at which it arrives, and knows
//! nothing of the engine. It never rejects what the engine let through, unless somebody else
//! uses the quota too; that is the engine's promise.

use std::collections::BTreeMap;

use spillway::{Call, Dimension, Instant, Key, Layer, Permit, Policy};

use crate::script::Counting;

/// What the upstream counted of one budget's layer.
#[derive(Default)]
struct Counter {
    hits: Vec<(u64, u64)>,
    running: Vec<Permit>,
    /// Of a first-hit window.
    began: u64,
}

/// A layer that a call did not fit.
pub struct Over {
    pub layer: Layer,
    /// Without the others' use it would have fitted.
    pub by_others: bool,
}

/// The upstream's counters.
pub struct Upstream {
    counting: Counting,
    counters: BTreeMap<(Key, usize), Counter>,
}

impl Upstream {
    pub const fn new(counting: Counting) -> Self {
        Self {
            counting,
            counters: BTreeMap::new(),
        }
    }

    /// A call arrives; others use `foreign_permille` of every layer. `None`: it fits.
    pub fn arrives(
        &mut self,
        now: Instant,
        policy: &Policy,
        call: &Call,
        permit: Permit,
        foreign_permille: u64,
    ) -> Option<Over> {
        let mut over: Option<Over> = None;
        for (n, layer) in policy.layers().iter().enumerate() {
            let (used, cost) = self.used(now, n, layer, call);
            let limit = u64::from(layer.limit());
            let others = limit * foreign_permille / 1000;
            if used + cost + others > limit && over.as_ref().is_none_or(|over| over.by_others) {
                let by_others = used + cost <= limit;
                over = Some(Over {
                    layer: *layer,
                    by_others,
                });
            }
        }
        let counts = !matches!(self.counting, Counting::Lenient);
        // Rejected calls cost nothing, as Microsoft's documentation has it.
        if over.is_none() || !counts {
            for (n, layer) in policy.layers().iter().enumerate() {
                let counter = self.counter(n, layer, call);
                counter.hits.push((now.0, u64::from(call.weight)));
                counter.running.push(permit);
            }
        }
        over.filter(|_| counts)
    }

    /// A call's answer is over, or it was cut off.
    pub fn ended(&mut self, policy: &Policy, call: &Call, permit: Permit) {
        for (n, layer) in policy.layers().iter().enumerate() {
            let counter = self.counter(n, layer, call);
            counter.running.retain(|other| *other != permit);
        }
    }

    fn used(&mut self, now: Instant, n: usize, layer: &Layer, call: &Call) -> (u64, u64) {
        let counting = self.counting;
        let counter = self.counter(n, layer, call);
        let Dimension::Rate { window_ms } = layer.dimension() else {
            return (counter.running.len() as u64, 1);
        };
        let now = now.0;
        counter.hits.retain(|(at, _)| at + window_ms > now);
        if counter.began + window_ms <= now {
            counter.began = now;
        }
        let began = match counting {
            Counting::Fixed { phase_ms } => now - (now + phase_ms) % window_ms,
            Counting::FirstHit => counter.began,
            Counting::Sliding | Counting::Lenient => 0,
        };
        let hits = counter.hits.iter().filter(|(at, _)| *at >= began);
        (hits.map(|(_, weight)| weight).sum(), u64::from(call.weight))
    }

    fn counter(&mut self, n: usize, layer: &Layer, call: &Call) -> &mut Counter {
        let key = Key::of(call, layer.scope());
        self.counters.entry((key, n)).or_default()
    }
}
