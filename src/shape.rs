//! A policy worked out: what each scope's budgets have to count, and against what.

use std::cmp::Ordering;

use crate::breaker::RAMP_CALLS_MAX;
use crate::call::{Lane, PerLane, Scope};
use crate::key::KeyRef;
use crate::policy::{Dimension, Layer, Override, Policy, beside};
use crate::time::Instant;

/// What a layer's cap is that decides nothing: it only counts, or is there for overrides alone.
const NEVER: u32 = u32::MAX;

/// Up to this limit every landed call is kept by itself: exact.
const EXACT_LIMIT_MAX: u32 = 512;

/// Above it calls share buckets, this many to a window: what coarse counting costs is one
/// bucket's width, 0.8 % of the window.
const BUCKETS: u64 = 120;

/// A policy as its budgets need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    scopes: [ScopeShape; 3],
    /// The most that a call of each lane may weigh, but for overrides.
    weight_max: PerLane<u32>,
    /// The budgets that have limits of their own, by scope and names.
    own: Vec<Own>,
}

/// A budget with limits of its own: it counts what all others of its scope count.
#[derive(Clone, Debug)]
struct Own {
    scope: Scope,
    names: [Box<str>; 3],
    shape: ScopeShape,
}

/// The layers of one scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScopeShape {
    /// In the policy's order.
    pub(crate) limits: Vec<Limit>,
    /// One for each rate.
    pub(crate) views: Vec<ViewShape>,
    /// One for each width of buckets.
    pub(crate) logs: Vec<LogShape>,
    /// As many calls in flight end a recovery: all that may be.
    pub(crate) calls_max: u32,
    /// Whether any layer only counts what it would refuse.
    pub(crate) shadows: bool,
}

/// One layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) dimension: Dimension,
    /// The most that each lane may hold.
    pub(crate) caps: PerLane<u32>,
    /// Of one that only counts what it would refuse: what it would let each lane hold.
    pub(crate) shadow: Option<PerLane<u32>>,
    /// Which view counts what landed; none for a concurrency.
    pub(crate) view: Option<usize>,
}

/// A rate's window on a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewShape {
    pub(crate) log: usize,
    /// For how long landed weight counts: the stretched window.
    pub(crate) span_ms: u64,
}

/// What landed, in buckets of one width, for as long as the longest window on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogShape {
    pub(crate) bucket_ms: u64,
    /// The longest window, unstretched.
    pub(crate) window_ms: u64,
}

impl Shape {
    pub(crate) fn of(policy: &Policy) -> Self {
        let scopes = Scope::ALL.map(|scope| ScopeShape::of(policy, scope));
        let max = |lane| {
            let limits = scopes.iter().flat_map(|scope| &scope.limits);
            let rates = limits.filter(|limit| limit.view.is_some());
            let caps = rates.map(|limit| *limit.caps.get(lane));
            caps.min().unwrap_or(u32::MAX)
        };
        let weight_max = PerLane {
            foreground: max(Lane::Foreground),
            background: max(Lane::Background),
        };
        let own = policy.overrides().iter();
        let mut own: Vec<_> = own.map(|it| Own::of(it, policy, &scopes)).collect();
        own.sort_by(|a, b| a.compare(b.scope, b.names.each_ref().map(|it| &**it)));
        Self {
            scopes,
            weight_max,
            own,
        }
    }

    /// Whether any layer only counts what it would refuse.
    pub(crate) fn has_shadows(&self) -> bool {
        self.scopes.iter().any(|scope| scope.shadows)
    }

    /// Whether any budget has limits of its own.
    pub(crate) const fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Which of the budgets with limits of their own the key's is, if it is one.
    pub(crate) fn own(&self, key: KeyRef<'_>) -> Option<u16> {
        if self.own.is_empty() {
            return None;
        }
        let names = [key.app, key.tenant, key.user];
        let found = self
            .own
            .binary_search_by(|own| own.compare(key.scope, names));
        found.ok().and_then(|n| u16::try_from(n).ok())
    }

    /// The layers of a budget of this scope, which is perhaps one with limits of its own.
    #[inline]
    pub(crate) fn budget(&self, scope: Scope, own: Option<u16>) -> &ScopeShape {
        let own = own.and_then(|n| self.own.get(usize::from(n)));
        own.map_or_else(|| self.at(scope), |own| &own.shape)
    }

    /// The layers of the key's budget.
    pub(crate) fn of_key(&self, key: KeyRef<'_>) -> &ScopeShape {
        self.budget(key.scope, self.own(key))
    }

    /// The most that a call of `lane` may weigh.
    pub(crate) const fn weight_max(&self, lane: Lane) -> u32 {
        *self.weight_max.get(lane)
    }

    pub(crate) const fn at(&self, scope: Scope) -> &ScopeShape {
        &self.scopes[scope as usize]
    }

    /// Whether any layer is at `scope`.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        !self.at(scope).limits.is_empty()
    }

    /// The narrowest scope with a layer.
    pub(crate) fn narrowest(&self) -> Scope {
        let mut scopes = Scope::ALL.into_iter();
        scopes.find(|scope| self.has(*scope)).unwrap_or(Scope::App)
    }

    /// For how long what ended goes on to count somewhere.
    pub(crate) fn span_ms_max(&self) -> u64 {
        let views = self.scopes.iter().flat_map(|scope| &scope.views);
        views.map(|view| view.span_ms).max().unwrap_or(0)
    }
}

impl Own {
    fn of(own: &Override, policy: &Policy, scopes: &[ScopeShape; 3]) -> Self {
        let mut shape = scopes[own.scope() as usize].clone();
        for limit in &mut shape.limits {
            if let Some(most) = own.limit(limit.dimension) {
                limit.hold(most, policy);
            }
        }
        shape.ramp();
        Self {
            scope: own.scope(),
            names: own.names().map(Into::into),
            shape,
        }
    }

    fn compare(&self, scope: Scope, names: [&str; 3]) -> Ordering {
        let own = self.names.each_ref().map(|name| &**name);
        (self.scope, own).cmp(&(scope, names))
    }
}

impl ScopeShape {
    fn of(policy: &Policy, scope: Scope) -> Self {
        let mut shape = Self::default();
        for layer in policy.layers_at(scope) {
            shape.add(layer.dimension(), most(layer, policy.overrides()));
            if let Some(limit) = shape.limits.last_mut() {
                limit.shadow = layer.is_shadow().then_some(limit.caps);
                limit.hold(layer.limit(), policy);
            }
        }
        // Budgets without an override count these, too: who gets one has not called unseen.
        for dimension in beside(policy.layers(), policy.overrides(), scope) {
            shape.add(dimension, NEVER);
        }
        shape.shadows = shape.limits.iter().any(|limit| limit.shadow.is_some());
        shape.ramp();
        shape
    }

    /// A layer that holds nothing yet. `most`: the highest limit that any budget has of it.
    fn add(&mut self, dimension: Dimension, most: u32) {
        let view = match dimension {
            Dimension::Rate { window_ms } => Some(self.view(window_ms, most)),
            Dimension::Concurrency => None,
        };
        self.limits.push(Limit {
            dimension,
            caps: PerLane {
                foreground: NEVER,
                background: NEVER,
            },
            shadow: None,
            view,
        });
    }

    /// A recovery ends with as many calls in flight as there may be.
    fn ramp(&mut self) {
        let calls = self.deciding().find(|limit| limit.view.is_none());
        let calls = calls.map(Limit::limit);
        self.calls_max = calls.unwrap_or(RAMP_CALLS_MAX);
    }

    /// The layers that decide, in the policy's order.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter().filter(|limit| limit.decides())
    }

    fn view(&mut self, window_ms: u64, limit: u32) -> usize {
        let bucket_ms = if limit <= EXACT_LIMIT_MAX {
            1
        } else {
            (window_ms / BUCKETS).max(1)
        };
        let mut logs = self.logs.iter();
        let log = logs.position(|log| log.bucket_ms == bucket_ms);
        let log = log.unwrap_or_else(|| {
            self.logs.push(LogShape {
                bucket_ms,
                window_ms,
            });
            self.logs.len() - 1
        });
        let longest = &mut self.logs[log].window_ms;
        *longest = window_ms.max(*longest);
        self.views.push(ViewShape {
            log,
            span_ms: stretched_ms(window_ms),
        });
        self.views.len() - 1
    }
}

/// The highest limit that any budget has of a layer. What is not held to a limit is not counted
/// call by call either, as that has no bound.
fn most(layer: &Layer, overrides: &[Override]) -> u32 {
    if layer.is_shadow() {
        return NEVER;
    }
    let own = overrides.iter().filter(|it| it.scope() == layer.scope());
    let own = own.filter_map(|it| it.limit(layer.dimension()));
    own.fold(layer.limit(), u32::max)
}

impl Limit {
    /// From now on it is so high; one that only counts goes on to.
    fn hold(&mut self, limit: u32, policy: &Policy) {
        let caps = PerLane {
            foreground: limit,
            background: policy.background_share().of(limit),
        };
        match &mut self.shadow {
            Some(shadow) => *shadow = caps,
            None => self.caps = caps,
        }
    }

    /// Whether it can keep a call waiting.
    #[inline]
    pub(crate) const fn decides(&self) -> bool {
        self.caps.foreground != NEVER
    }

    /// The most that may be used at once.
    pub(crate) const fn limit(&self) -> u32 {
        self.caps.foreground
    }

    /// For how long the layer counts what it did not see: lost counts. A concurrency for one lease.
    pub(crate) fn span_ms(&self, shape: &ScopeShape, lease_ms: u64) -> u64 {
        self.view.map_or(lease_ms, |view| shape.views[view].span_ms)
    }
}

impl LogShape {
    /// Exact logs keep the instant itself; buckets count from their end, the latest instant
    /// that any of their calls ended at.
    pub(crate) const fn bucket_end(&self, at: Instant) -> Instant {
        if self.bucket_ms == 1 {
            return at;
        }
        Instant(at.0.div_ceil(self.bucket_ms).saturating_mul(self.bucket_ms))
    }

    /// Whether what landed at `at` belongs into the bucket that ends at `end`.
    pub(crate) const fn is_of(&self, at: Instant, end: Instant) -> bool {
        self.bucket_ms > 1 && at.0 <= end.0 && end.0 - at.0 < self.bucket_ms
    }

    /// Whether calls share entries.
    pub(crate) const fn is_coarse(&self) -> bool {
        self.bucket_ms > 1
    }
}

/// A window and 0.05 % + 1 ms: clocks of different machines drift apart by less than
/// 500 ppm, and reading a clock in whole milliseconds loses up to one.
pub(crate) const fn stretched_ms(window_ms: u64) -> u64 {
    window_ms + window_ms.div_ceil(2000) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{OwnLimit, Share};

    #[test]
    fn exact_windows_share_one_log_and_each_width_of_buckets_has_its_own() {
        let layers = [
            (Dimension::Rate { window_ms: 60_000 }, 120),
            (Dimension::Concurrency, 5),
            (
                Dimension::Rate {
                    window_ms: 3_600_000,
                },
                400,
            ),
            (
                Dimension::Rate {
                    window_ms: 86_400_000,
                },
                1_000_000,
            ),
        ];
        let layers =
            layers.map(|(dimension, limit)| Layer::new(Scope::User, dimension, limit).unwrap());
        let shape = Shape::of(&Policy::new(layers.to_vec(), Share::HALF).unwrap());
        let user = shape.at(Scope::User);
        let logs: Vec<_> = user
            .logs
            .iter()
            .map(|log| (log.bucket_ms, log.window_ms))
            .collect();
        assert_eq!(logs, [(1, 3_600_000), (720_000, 86_400_000)]);
        let views: Vec<_> = user
            .views
            .iter()
            .map(|view| (view.log, view.span_ms))
            .collect();
        assert_eq!(views, [(0, 60_031), (0, 3_601_801), (1, 86_443_201)]);
        assert_eq!(user.calls_max, 5);
        assert!(!shape.has(Scope::App) && shape.narrowest() == Scope::User);
    }

    #[test]
    fn who_has_an_override_has_its_limits_and_counts_as_the_others_do() {
        let minute = Dimension::Rate { window_ms: 60_000 };
        let hour = Dimension::Rate {
            window_ms: 3_600_000,
        };
        let own = |dimension, limit| OwnLimit { dimension, limit };
        let limits = vec![own(minute, 4), own(Dimension::Concurrency, 2), own(hour, 9)];
        let names = ["a", "t", "ann"].map(str::to_owned);
        let ann = Override::new(Scope::User, names, limits).unwrap();
        let calls = Layer::new(Scope::User, Dimension::Concurrency, 5).unwrap();
        let layers = vec![
            Layer::new(Scope::User, minute, 100).unwrap(),
            calls.counting_only(),
        ];
        let policy = Policy::new(layers, Share::HALF).unwrap();
        let shape = Shape::of(&policy.with_overrides(vec![ann]).unwrap());
        let user = |user| KeyRef {
            workload: 0,
            scope: Scope::User,
            app: "a",
            tenant: "t",
            user,
        };
        let caps = |of: &ScopeShape| -> Vec<_> {
            let limits = of.limits.iter();
            limits
                .map(|it| (it.caps.foreground, it.caps.background, it.decides()))
                .collect()
        };
        let (ann, ben) = (shape.of_key(user("ann")), shape.of_key(user("ben")));
        let none = (NEVER, NEVER, false);
        assert_eq!(caps(ann), [(4, 2, true), none, (9, 4, true)]);
        assert_eq!(caps(ben), [(100, 50, true), none, none]);
        assert_eq!((&ann.views, &ann.logs), (&ben.views, &ben.logs));
        let shadow = |of: &ScopeShape| of.limits[1].shadow.map(|caps| caps.foreground);
        assert_eq!((shadow(ann), shadow(ben)), (Some(2), Some(5)));
        // Nothing holds the calls in flight.
        assert_eq!(ann.calls_max, RAMP_CALLS_MAX);
        assert!(shape.own(user("an")).is_none() && !shape.has(Scope::App));
    }
}
