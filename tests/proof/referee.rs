//! A brute-force log of what went upstream, sharing nothing with the engine: for each call
//! when it was granted and when it ended. It judges with the worst upstream there can be, one
//! that counts each call at whichever instant between the two hurts most.

use spillway::{Call, Dimension, Instant, Key, Lane, Permit, Policy, Scope};

pub struct Sent {
    pub permit: Permit,
    pub call: Call,
    pub granted_at: Instant,
    /// When its answer ended, or, for a crashed caller, its lease; none while it runs.
    pub ended_at: Option<Instant>,
    /// Where in between one arbitrary upstream counted it, per mille of its life.
    pub counted_permille: u64,
}

#[derive(Default)]
pub struct Referee {
    pub sent: Vec<Sent>,
}

impl Referee {
    /// Judges the moment of the newest grant. Only calls granted by then and not ended more
    /// than a window before can share an interval of a window's length that ends with it, and
    /// the last grant of any overfull interval is such a moment: so to judge each grant is to
    /// judge every window, sliding or fixed at any phase, and every choice of instants.
    pub fn judge_newest(&self, policy: &Policy) {
        let Some(newest) = self.sent.last() else {
            return;
        };
        for scope in Scope::ALL {
            let key = Key::of(&newest.call, scope);
            for (dimension, limit) in limits(policy, &key) {
                self.judge_layer(policy, &key, dimension, limit, newest);
            }
        }
    }

    fn judge_layer(
        &self,
        policy: &Policy,
        key: &Key,
        dimension: Dimension,
        limit: u32,
        newest: &Sent,
    ) {
        let used = self.used(key, dimension, reach_ms(dimension), newest.granted_at);
        let total = used.0 + used.1;
        assert!(
            total <= u64::from(limit),
            "{total} in one window of {dimension}, {limit}, for {key:?} at {:?}",
            newest.granted_at
        );
        let cap = policy.background_share().of(limit);
        let background_went = newest.call.lane == Lane::Background;
        assert!(
            !background_went || used.1 <= u64::from(cap),
            "{} background calls in {dimension} of {key:?}, cap {cap}",
            used.1
        );
    }

    /// What a key has used at an instant, by lane: foreground, background. What ended counts
    /// for `reach_ms`; a call that ended in the same millisecond has freed its slot.
    pub fn used(&self, key: &Key, dimension: Dimension, reach_ms: u64, now: Instant) -> (u64, u64) {
        let counts = |sent: &&Sent| {
            let alive = sent.ended_at.is_none_or(|at| at.plus_ms(reach_ms) >= now);
            let running = sent.ended_at.is_none();
            Key::of(&sent.call, key.scope) == *key
                && if dimension == Dimension::Concurrency {
                    running
                } else {
                    alive
                }
        };
        let cost = |sent: &Sent| match dimension {
            Dimension::Rate { .. } => u64::from(sent.call.weight),
            Dimension::Concurrency => 1,
        };
        let mut used = (0, 0);
        for sent in self.sent.iter().filter(counts) {
            match sent.call.lane {
                Lane::Foreground => used.0 += cost(sent),
                Lane::Background => used.1 += cost(sent),
            }
        }
        used
    }

    /// Judges the whole run by one upstream that counted each call at an arbitrary instant of
    /// its life, in sliding windows and in fixed ones at `phase_ms`.
    pub fn judge_all(&self, policy: &Policy, now: Instant, phase_ms: u64) {
        for scope in Scope::ALL {
            for dimension in dimensions(policy, scope) {
                let Dimension::Rate { window_ms } = dimension else {
                    continue;
                };
                let sent = self.sent.iter().map(|sent| counted(sent, scope, now));
                let mut counted: Vec<(Key, u64, u64)> = sent.collect();
                counted.sort();
                for (n, (key, at, _)) in counted.iter().enumerate() {
                    let Some(limit) = limit(policy, key, dimension) else {
                        continue;
                    };
                    let same = counted[n..].iter().take_while(|(other, _, _)| other == key);
                    let within = |until: &dyn Fn(u64) -> bool| -> u64 {
                        let within = same.clone().filter(|(_, later, _)| until(*later));
                        within.map(|(_, _, weight)| weight).sum()
                    };
                    let sliding = within(&|later| later <= at + window_ms);
                    let bin = (at + phase_ms) / window_ms;
                    let fixed = within(&|later| (later + phase_ms) / window_ms == bin);
                    assert!(
                        sliding.max(fixed) <= u64::from(limit),
                        "{sliding} sliding, {fixed} fixed in {dimension}, {limit}, for {key:?}"
                    );
                }
            }
        }
    }
}

/// For how long what ended counts.
pub const fn reach_ms(dimension: Dimension) -> u64 {
    match dimension {
        Dimension::Rate { window_ms } => window_ms,
        Dimension::Concurrency => 0,
    }
}

/// What is limited at a scope, by the policy's layers or by overrides.
fn dimensions(policy: &Policy, scope: Scope) -> Vec<Dimension> {
    let layers = policy.layers_at(scope).map(|layer| layer.dimension());
    let own = policy.overrides().iter().filter(|it| it.scope() == scope);
    let own = own.flat_map(|it| it.limits().iter().map(|own| own.dimension));
    let mut all: Vec<_> = layers.chain(own).collect();
    all.sort();
    all.dedup();
    all
}

/// What holds a key, as the policy says it: nothing that only counts, and a key's own limit before
/// everybody's.
fn limit(policy: &Policy, key: &Key, dimension: Dimension) -> Option<u32> {
    let mut layers = policy.layers_at(key.scope);
    let layer = layers.find(|layer| layer.dimension() == dimension);
    if layer.is_some_and(|layer| layer.is_shadow()) {
        return None;
    }
    let names = [&*key.app, &*key.tenant, &*key.user];
    let mut overrides = policy.overrides().iter();
    let own = overrides.find(|it| it.scope() == key.scope && it.names() == names);
    let own = own.and_then(|own| own.limit(dimension));
    own.or(layer.map(|layer| layer.limit()))
}

fn limits(policy: &Policy, key: &Key) -> Vec<(Dimension, u32)> {
    let all = dimensions(policy, key.scope).into_iter();
    all.filter_map(|dimension| Some((dimension, limit(policy, key, dimension)?)))
        .collect()
}

fn counted(sent: &Sent, scope: spillway::Scope, now: Instant) -> (Key, u64, u64) {
    let end = sent.ended_at.unwrap_or(now);
    let at = sent.granted_at.0 + end.ms_since(sent.granted_at) * sent.counted_permille / 1000;
    (Key::of(&sent.call, scope), at, u64::from(sent.call.weight))
}
