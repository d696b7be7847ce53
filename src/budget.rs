//! Whether a call fits a budget, why not, and when it would.

use crate::breaker::Refusing;
use crate::call::{Lane, PerLane};
use crate::counts::Counts;
use crate::decision::Obstacle;
use crate::node::Node;
use crate::shape::{Limit, ScopeShape};
use crate::time::Instant;
use crate::workload::Holds;

/// What a call asks of a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) lane: Lane,
    pub(crate) weight: u32,
}

/// What the engine assumes beyond what it counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assumed {
    /// Every layer was full at this instant (its counts were lost).
    pub(crate) full_at: Option<Instant>,
    /// How long a call of a lost server may still have been running after it.
    pub(crate) lease_ms: u64,
    /// For how long a probe may run.
    pub(crate) probe_ms: u64,
}

/// Who stands before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    pub(crate) calls: PerLane<u64>,
    pub(crate) weight: PerLane<u64>,
}

impl Ahead {
    pub(crate) const fn add(&mut self, other: Self) {
        self.calls.add(other.calls);
        self.weight.add(other.weight);
    }

    pub(crate) const fn take(&mut self, other: Self) {
        self.calls.take(other.calls);
        self.weight.take(other.weight);
    }
}

/// Why a call does not fit a budget, and when it would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) obstacle: Obstacle,
    /// When it fits, if only time passes; an estimate unless `exact`.
    pub(crate) at: Instant,
    pub(crate) exact: bool,
    /// It cannot fit before.
    pub(crate) earliest: Instant,
    /// Whether the lane's part of a layer is used up, however much others leave free.
    pub(crate) share: bool,
}

impl Shortage {
    /// Both stand in the way: the later one names the layer.
    pub(crate) fn and(self, other: Self) -> Self {
        let (late, early) = if other.at > self.at {
            (other, self)
        } else {
            (self, other)
        };
        Self {
            exact: late.exact && early.exact,
            earliest: late.earliest.max(early.earliest),
            share: late.share || early.share,
            ..late
        }
    }
}

/// Whether a call of this cost fits a budget now, brought up to now: the quick question,
/// without a why.
#[inline]
pub(crate) fn fits(
    node: &Node,
    shape: &ScopeShape,
    cost: Cost,
    now: Instant,
    probe_ms: u64,
) -> bool {
    let room = shape.limits.iter().all(|limit| {
        let used = node.used(limit);
        let asked = asked(limit, cost);
        let share = match cost.lane {
            Lane::Foreground => true,
            Lane::Background => used.background + asked <= u64::from(limit.caps.background),
        };
        !limit.decides() || (share && used.total() + asked <= u64::from(limit.limit()))
    });
    let stopped = || {
        let breaker = node.breaker();
        breaker.is_some_and(|breaker| {
            let refusing = breaker.refusing(now, cost.lane, node.calls_answering(), probe_ms);
            refusing.is_some()
        })
    };
    room && !stopped()
}

#[inline]
fn asked(limit: &Limit, cost: Cost) -> u64 {
    match limit.view {
        Some(_) => u64::from(cost.weight),
        None => 1,
    }
}

/// One budget at one instant, seen or not.
pub(crate) struct Sight<'a> {
    /// Brought up to now; none: nothing was ever counted.
    pub(crate) node: Option<&'a Node>,
    pub(crate) shape: &'a ScopeShape,
    pub(crate) now: Instant,
    pub(crate) assumed: Assumed,
    /// How long calls of the asking call's workload run.
    pub(crate) holds: &'a Holds,
}

impl Sight<'_> {
    /// What keeps a call waiting longest, if anything does.
    pub(crate) fn shortage(&self, cost: Cost) -> Option<Shortage> {
        let limits = self.shape.deciding();
        let short = limits.filter_map(|limit| self.short_of(limit, cost, Ahead::default()));
        short.chain(self.stopped(cost)).reduce(Shortage::and)
    }

    /// The same for a call that is told when to return: when it fits after those that stand
    /// before it, but at most one window later than if nobody did.
    pub(crate) fn announced(&self, cost: Cost, ahead: Ahead) -> Option<Shortage> {
        let short = self.shape.deciding().filter_map(|limit| {
            let behind = self.short_of(limit, cost, ahead)?;
            let alone = self.short_of(limit, cost, Ahead::default());
            let alone = alone.map_or(self.now, |alone| alone.at);
            let latest = alone.plus_ms(self.span_ms(limit));
            Some(Shortage {
                at: behind.at.max(alone).min(latest),
                exact: false,
                ..behind
            })
        });
        short.chain(self.stopped(cost)).reduce(Shortage::and)
    }

    fn used(&self, limit: &Limit) -> PerLane<u64> {
        self.node
            .map_or_else(PerLane::default, |node| node.used(limit))
    }

    fn short_of(&self, limit: &Limit, cost: Cost, ahead: Ahead) -> Option<Shortage> {
        let used = self.used(limit);
        let (asked, ahead) = match limit.view {
            Some(_) => (u64::from(cost.weight), ahead.weight),
            None => (1, ahead.calls),
        };
        let wanted = used
            .total()
            .saturating_add(ahead.total())
            .saturating_add(asked);
        let over = wanted.saturating_sub(u64::from(limit.limit()));
        let over_share = match cost.lane {
            Lane::Foreground => 0,
            Lane::Background => (used
                .background
                .saturating_add(ahead.background)
                .saturating_add(asked))
            .saturating_sub(u64::from(limit.caps.background)),
        };
        let counted =
            (over > 0 || over_share > 0).then(|| self.counted_out(limit, over, over_share));
        counted
            .into_iter()
            .chain(self.assumed_full(limit))
            .reduce(Shortage::and)
    }

    /// For how long what ends now goes on to count.
    fn span_ms(&self, limit: &Limit) -> u64 {
        limit
            .view
            .map_or_else(|| self.hold_ms(), |view| self.shape.views[view].span_ms)
    }

    /// For how long a running call may go on to run, as far as the last ones tell.
    fn hold_ms(&self) -> u64 {
        self.holds.median_ms().max(1)
    }

    fn counted_out(&self, limit: &Limit, over: u64, over_share: u64) -> Shortage {
        let obstacle = Obstacle::Layer(limit.dimension);
        let share = over_share > 0;
        let inexact = |span_ms| Shortage {
            obstacle,
            at: self.now.plus_ms(self.hold_ms() + span_ms),
            exact: false,
            earliest: self.now.plus_ms(span_ms),
            share,
        };
        let exact = |at| Shortage {
            at,
            earliest: at,
            exact: limit.view.is_some(),
            obstacle,
            share,
        };
        match limit.view {
            Some(view) => self
                .forgets_at(view, over, over_share)
                .map_or_else(|| inexact(self.shape.views[view].span_ms), exact),
            None => self
                .node
                .and_then(|node| node.expires_at(over.max(over_share)))
                .map_or_else(|| inexact(0), exact),
        }
    }

    fn forgets_at(&self, view: usize, over: u64, over_share: u64) -> Option<Instant> {
        let counts: &Counts = &self.node?.counts;
        counts.forgets_at(self.shape, view, over, over_share)
    }

    fn assumed_full(&self, limit: &Limit) -> Option<Shortage> {
        let lasts_ms = limit.span_ms(self.shape, self.assumed.lease_ms);
        let at = self.assumed.full_at?.plus_ms(lasts_ms);
        let obstacle = Obstacle::Layer(limit.dimension);
        (at > self.now).then_some(Shortage {
            obstacle,
            at,
            exact: true,
            earliest: at,
            share: false,
        })
    }

    /// Why its breaker keeps a call waiting.
    fn stopped(&self, cost: Cost) -> Option<Shortage> {
        let node = self.node?;
        let probe_ms = self.assumed.probe_ms;
        let Refusing { at, exact, soft } =
            node.breaker()?
                .refusing(self.now, cost.lane, node.calls_answering(), probe_ms)?;
        let obstacle = if soft {
            Obstacle::Soft
        } else {
            Obstacle::Breaker
        };
        let earliest = if exact { at } else { self.now };
        Some(Shortage {
            obstacle,
            at,
            exact,
            earliest,
            share: soft,
        })
    }
}
