//! A policy worked out: what each scope's budgets have to count, and against what.

use crate::breaker::RAMP_CALLS_MAX;
use crate::call::{Lane, PerLane, Scope};
use crate::policy::{Dimension, Policy};
use crate::time::Instant;

/// Up to this limit every landed call is kept by itself: exact.
const EXACT_LIMIT_MAX: u32 = 512;

/// Above it calls share buckets, this many to a window: what coarse counting costs is one
/// bucket's width, 0.8 % of the window.
const BUCKETS: u64 = 120;

/// A policy as its budgets need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    scopes: [ScopeShape; 3],
    /// The most that a call of each lane may weigh.
    weight_max: PerLane<u32>,
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
}

/// One layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) dimension: Dimension,
    /// The most that each lane may hold.
    pub(crate) caps: PerLane<u32>,
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
        Self { scopes, weight_max }
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

impl ScopeShape {
    fn of(policy: &Policy, scope: Scope) -> Self {
        let mut shape = Self {
            calls_max: RAMP_CALLS_MAX,
            ..Self::default()
        };
        for layer in policy.layers_at(scope) {
            let view = match layer.dimension() {
                Dimension::Rate { window_ms } => Some(shape.view(window_ms, layer.limit())),
                Dimension::Concurrency => {
                    shape.calls_max = layer.limit();
                    None
                }
            };
            shape.limits.push(Limit {
                dimension: layer.dimension(),
                caps: PerLane {
                    foreground: policy.cap(layer, Lane::Foreground),
                    background: policy.cap(layer, Lane::Background),
                },
                view,
            });
        }
        shape
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

impl Limit {
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
    use crate::policy::{Layer, Share};

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
}
