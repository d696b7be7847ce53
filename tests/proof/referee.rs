//! A brute-force log of what went upstream, sharing nothing with the engine: for each call
//! when it was granted and when it ended. It judges with the worst upstream there can be, one
//! that counts each call at whichever instant between the two hurts most.

use spillway::{Call, Dimension, Instant, Key, Lane, Permit, Policy};

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
        let now = newest.granted_at;
        for layer in policy.layers() {
            let key = Key::of(&newest.call, layer.scope());
            let reach_ms = match layer.dimension() {
                Dimension::Rate { window_ms } => window_ms,
                Dimension::Concurrency => 0,
            };
            let counts = |sent: &&Sent| {
                let alive = sent.ended_at.is_none_or(|at| at.plus_ms(reach_ms) >= now);
                // A call that ended in the same millisecond has freed its slot.
                let running = sent.ended_at.is_none();
                Key::of(&sent.call, layer.scope()) == key
                    && if layer.dimension() == Dimension::Concurrency {
                        running
                    } else {
                        alive
                    }
            };
            let cost = |sent: &Sent| match layer.dimension() {
                Dimension::Rate { .. } => u64::from(sent.call.weight),
                Dimension::Concurrency => 1,
            };
            let total: u64 = self.sent.iter().filter(counts).map(cost).sum();
            assert!(
                total <= u64::from(layer.limit()),
                "{total} in one window of {layer:?} for {key:?} at {now:?}"
            );
            let background = self
                .sent
                .iter()
                .filter(counts)
                .filter(|sent| sent.call.lane == Lane::Background);
            let background: u64 = background.map(cost).sum();
            let cap = policy.cap(layer, Lane::Background);
            let background_went = newest.call.lane == Lane::Background;
            assert!(
                !background_went || background <= u64::from(cap),
                "{background} background calls in {layer:?}, cap {cap}"
            );
        }
    }

    /// Judges the whole run by one upstream that counted each call at an arbitrary instant of
    /// its life, in sliding windows and in fixed ones at `phase_ms`.
    pub fn judge_all(&self, policy: &Policy, now: Instant, phase_ms: u64) {
        for layer in policy.layers() {
            let Dimension::Rate { window_ms } = layer.dimension() else {
                continue;
            };
            let mut counted: Vec<(Key, u64, u64)> = self
                .sent
                .iter()
                .map(|sent| counted(sent, layer.scope(), now))
                .collect();
            counted.sort();
            for (n, (key, at, _)) in counted.iter().enumerate() {
                let same = counted[n..].iter().take_while(|(other, _, _)| other == key);
                let sliding: u64 = same
                    .clone()
                    .filter(|(_, later, _)| *later <= at + window_ms)
                    .map(|(_, _, weight)| weight)
                    .sum();
                let bin = (at + phase_ms) / window_ms;
                let fixed: u64 = same
                    .filter(|(_, later, _)| (later + phase_ms) / window_ms == bin)
                    .map(|(_, _, weight)| weight)
                    .sum();
                assert!(
                    sliding.max(fixed) <= u64::from(layer.limit()),
                    "{sliding} sliding, {fixed} fixed in {layer:?} for {key:?}"
                );
            }
        }
    }
}

fn counted(sent: &Sent, scope: spillway::Scope, now: Instant) -> (Key, u64, u64) {
    let end = sent.ended_at.unwrap_or(now);
    let at = sent.granted_at.0 + end.ms_since(sent.granted_at) * sent.counted_permille / 1000;
    (Key::of(&sent.call, scope), at, u64::from(sent.call.weight))
}
