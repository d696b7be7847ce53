//! A brute-force log of what went upstream, sharing nothing with the engine: for each call
//! when it was granted and when it ended.

use std::collections::BTreeMap;

use spillway::{Call, Dimension, Instant, Key, Lane, Layer, PerLane, Permit, Policy, Scope};

/// Above this limit the engine counts in buckets, this many to a window.
const EXACT_LIMIT_MAX: u32 = 512;
const BUCKETS: u64 = 120;

/// A call that went upstream.
struct Sent {
    call: Call,
    /// When it ended, or its lease; none while it runs.
    ended_at: Option<Instant>,
    /// Whether nobody will tell its end.
    abandoned: bool,
}

/// All calls that may still count.
#[derive(Default)]
pub struct Referee {
    sent: BTreeMap<(Permit, bool), Sent>,
    keep_ms: u64,
}

impl Referee {
    /// Calls are forgotten so long after the longest window.
    pub fn new(policies: &[Policy]) -> Self {
        let layers = policies.iter().flat_map(Policy::layers);
        let longest_ms = layers.map(|layer| span_ms(layer) + bucket_ms(layer)).max();
        Self {
            sent: BTreeMap::new(),
            keep_ms: longest_ms.unwrap_or(0) + 1_000,
        }
    }

    pub fn granted(&mut self, now: Instant, permit: Permit, call: &Call) {
        let keep_ms = self.keep_ms;
        self.sent.retain(|_, sent| {
            let ended_at = sent.ended_at;
            ended_at.is_none_or(|at| at.plus_ms(keep_ms) > now)
        });
        let sent = Sent {
            call: call.clone(),
            ended_at: None,
            abandoned: false,
        };
        self.sent.insert((permit, false), sent);
    }

    pub fn ended(&mut self, at: Instant, permit: Permit) {
        if let Some(sent) = self.sent.get_mut(&(permit, false)) {
            sent.ended_at = Some(at);
        }
    }

    pub fn abandoned(&mut self, permit: Permit) {
        if let Some(sent) = self.sent.get_mut(&(permit, false)) {
            sent.abandoned = true;
        }
    }

    /// Of the calls that ran, only the ends of these will be told.
    pub fn restarted(&mut self, outside: &[Permit]) {
        for ((permit, _), sent) in &mut self.sent {
            sent.abandoned |= !outside.contains(permit);
        }
    }

    /// A call whose lease had expired did run until now: it counts again.
    pub fn overran(&mut self, now: Instant, permit: Permit, call: &Call) {
        let sent = Sent {
            call: call.clone(),
            ended_at: Some(now),
            abandoned: false,
        };
        self.sent.insert((permit, true), sent);
    }

    pub fn refunded(&mut self, permit: Permit) {
        self.sent.remove(&(permit, false));
    }

    /// What counts in `layer` of `key`'s budget at `now`, each ended call for `reach_ms` more.
    pub fn used(&self, key: &Key, layer: &Layer, now: Instant, reach_ms: u64) -> PerLane<u64> {
        let mut used = PerLane::default();
        let rate = layer.dimension() != Dimension::Concurrency;
        for sent in self.sent.values() {
            let counts = match sent.ended_at {
                None => true,
                Some(at) => rate && at.plus_ms(reach_ms) > now,
            };
            if counts && charged(&sent.call, key) {
                let cost = if rate { u64::from(sent.call.weight) } else { 1 };
                *used.get_mut(sent.call.lane) += cost;
            }
        }
        used
    }

    /// How many calls of `key`'s budget run whose end will be told.
    pub fn answering(&self, key: &Key) -> u64 {
        let sent = self.sent.values();
        let running = sent.filter(|sent| sent.ended_at.is_none() && !sent.abandoned);
        running.filter(|sent| charged(&sent.call, key)).count() as u64
    }

    /// The layers of `policy` that have no room for `call`, if each ended call counts for a
    /// stretched window, and in buckets for a bucket more.
    pub fn blocking<'a>(&self, policy: &'a Policy, call: &Call, now: Instant) -> Vec<&'a Layer> {
        let layers = policy.layers().iter();
        let blocking = layers.filter(|layer| {
            let key = Key::of(call, layer.scope());
            let used = self.used(&key, layer, now, span_ms(layer) + bucket_ms(layer));
            over(policy, layer, call, used)
        });
        blocking.collect()
    }
}

/// Whether `call` is charged to the budget of `key`; [`Key::of`] without its copies.
fn charged(call: &Call, key: &Key) -> bool {
    call.workload == key.workload
        && call.app == key.app
        && (key.scope == Scope::App || call.tenant == key.tenant)
        && (key.scope != Scope::User || call.user == key.user)
}

/// Whether `call` is too much for what is used already.
pub fn over(policy: &Policy, layer: &Layer, call: &Call, used: PerLane<u64>) -> bool {
    let cost = match layer.dimension() {
        Dimension::Rate { .. } => u64::from(call.weight),
        Dimension::Concurrency => 1,
    };
    let cap = u64::from(policy.cap(layer, Lane::Background));
    used.total() + cost > u64::from(layer.limit())
        || call.lane == Lane::Background && used.background + cost > cap
}

/// For how long an ended call counts: the window and 0.05 % + 1 ms (engine.md, Admission).
pub fn span_ms(layer: &Layer) -> u64 {
    match layer.dimension() {
        Dimension::Rate { window_ms } => window_ms + window_ms.div_ceil(2000) + 1,
        Dimension::Concurrency => 0,
    }
}

/// How much longer at most, where counts are kept in buckets.
pub fn bucket_ms(layer: &Layer) -> u64 {
    match layer.dimension() {
        Dimension::Rate { window_ms } if layer.limit() > EXACT_LIMIT_MAX => {
            (window_ms / BUCKETS).max(1)
        }
        _ => 0,
    }
}
