//! Layers that only count, held against the log: each grant for which one had no room is counted
//! once.

use std::collections::BTreeMap;

use spillway::{Call, Dimension, Engine, Instant, Key, Lane, Policy, Scope};

use crate::referee::{Referee, reach_ms};

type Layer = (Scope, Dimension, Lane);

/// What layers that only count have to have counted.
#[derive(Default)]
pub struct Shadows {
    /// At least.
    certain: BTreeMap<Layer, u64>,
    /// At most.
    possible: BTreeMap<Layer, u64>,
    /// What engines counted that are gone.
    before: BTreeMap<Layer, u64>,
}

impl Shadows {
    /// A call is let go; `crowded`: others may have been let go at the same instant, in an order
    /// that is not known.
    pub fn granted(
        &mut self,
        policy: &Policy,
        referee: &Referee,
        call: &Call,
        now: Instant,
        crowded: bool,
    ) {
        for layer in policy.layers().iter().filter(|layer| layer.is_shadow()) {
            let (dimension, key) = (layer.dimension(), Key::of(call, layer.scope()));
            let names = [&*key.app, &*key.tenant, &*key.user];
            let mut overrides = policy.overrides().iter();
            let own = overrides.find(|it| it.scope() == key.scope && it.names() == names);
            let limit = own
                .and_then(|own| own.limit(dimension))
                .unwrap_or(layer.limit());
            let asked = match dimension {
                Dimension::Rate { .. } => u64::from(call.weight),
                Dimension::Concurrency => 1,
            };
            let is_short = |reach_ms| {
                let (foreground, background) = referee.used(&key, dimension, reach_ms, now);
                let cap = u64::from(policy.background_share().of(limit));
                foreground + background + asked > u64::from(limit)
                    || (call.lane == Lane::Background && background + asked > cap)
            };
            // What only counts is counted in buckets, and windows are stretched.
            let window_ms = reach_ms(dimension);
            let reach_max_ms = window_ms + window_ms / 120 + window_ms / 2_000 + 3;
            let of = (layer.scope(), dimension, call.lane);
            *self.certain.entry(of).or_default() += u64::from(!crowded && is_short(window_ms));
            *self.possible.entry(of).or_default() += u64::from(crowded || is_short(reach_max_ms));
        }
    }

    /// This engine counts no more.
    pub fn keep(&mut self, engine: &mut Engine, now: Instant) {
        for view in engine.view(now, 0, None, 0).shadows {
            for lane in Lane::ALL {
                let of = (view.scope, view.dimension, lane);
                *self.before.entry(of).or_default() += view.would_refuse.get(lane);
            }
        }
    }

    /// How many were counted, if that is right.
    pub fn judge(&self) -> usize {
        for (of, possible) in &self.possible {
            let counted = self.before.get(of).copied().unwrap_or(0);
            let certain = self.certain.get(of).copied().unwrap_or(0);
            assert!(
                (certain..=*possible).contains(&counted),
                "{of:?} counted {counted}, not {certain} to {possible}"
            );
        }
        let counted: u64 = self.before.values().sum();
        usize::try_from(counted).unwrap_or(usize::MAX)
    }
}
