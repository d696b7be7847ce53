//! One key in the tree of scopes, and what its budget counts.

use crate::breaker::Breaker;
use crate::call::{Lane, PerLane, Permit, Scope};
use crate::counts::Counts;
use crate::places::Places;
use crate::shape::{Limit, ScopeShape};
use crate::shards::Opener;
use crate::time::Instant;
use crate::tree::Place;

/// Calls in flight: granted, and neither ended nor expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) calls: PerLane<u32>,
    pub(crate) weight: PerLane<u64>,
}

/// A user, a tenant or an app of one workload.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: Box<str>,
    /// The tenant of a user, the app of a tenant.
    pub(crate) parent: Option<Place>,
    /// How many keys, leases and waiting calls below need it.
    pub(crate) holds: u32,
    pub(crate) workload: u16,
    pub(crate) scope: Scope,
    /// Whether it changed since it was last recorded.
    pub(crate) changed: bool,
    /// Of a user: for whom it came to be; none: nobody is told when it vanishes.
    pub(crate) opener: Option<Opener>,
    pub(crate) running: Running,
    pub(crate) counts: Counts,
    rare: Option<Box<Rare>>,
}

/// What few budgets have at a time.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// What the upstream said of it; none where it has nothing to say.
    breaker: Option<Box<Breaker>>,
    /// Who was refused and told to return.
    places: Places,
    /// Running calls that nobody will end but their expiry, the next to expire first.
    lingering: Vec<(Instant, Permit)>,
}

impl Node {
    pub(crate) fn new(name: &str, parent: Option<Place>, workload: usize, scope: Scope) -> Self {
        Self {
            name: name.into(),
            parent,
            holds: 0,
            workload: u16::try_from(workload).unwrap_or(u16::MAX),
            scope,
            changed: false,
            opener: None,
            running: Running::default(),
            counts: Counts::default(),
            rare: None,
        }
    }

    /// Brings it up to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, shape: &ScopeShape, now: Instant) {
        self.counts.advance(shape, now);
        if let Some(rare) = &mut self.rare {
            rare.advance(now);
            self.rare.take_if(|rare| rare.is_empty());
        }
    }

    /// Whether it equals a fresh one at `now` and nothing needs it; told without reading its logs.
    pub(crate) fn is_idle(&mut self, shape: &ScopeShape, now: Instant) -> bool {
        if self.holds > 0 || !self.counts.is_over(shape, now) {
            return false;
        }
        if let Some(rare) = &mut self.rare {
            rare.advance(now);
            self.rare.take_if(|rare| rare.is_empty());
        }
        self.rare.is_none()
    }

    /// Before when it cannot become idle unless something is taken back. What its breaker says
    /// may end any time.
    pub(crate) fn idle_not_before(&self, shape: &ScopeShape) -> Option<Instant> {
        let over_at = self.counts.over_at(shape);
        (self.holds == 0).then_some(if self.breaker().is_some() {
            Instant(0)
        } else {
            over_at
        })
    }

    /// Whether something counts, runs or was said of it, as of the last advance.
    pub(crate) fn is_charged(&self) -> bool {
        self.running.calls.foreground > 0
            || self.running.calls.background > 0
            || self.breaker().is_some()
            || !self.counts.is_empty()
    }

    pub(crate) fn start(&mut self, lane: Lane, weight: u32) {
        *self.running.calls.get_mut(lane) += 1;
        *self.running.weight.get_mut(lane) += u64::from(weight);
    }

    /// The call is no longer in flight; `landed` of its weight counts for a window from `at` on.
    pub(crate) fn end(
        &mut self,
        shape: &ScopeShape,
        at: Instant,
        lane: Lane,
        weight: u32,
        landed: u32,
    ) {
        let Running {
            calls,
            weight: running,
        } = &mut self.running;
        *calls.get_mut(lane) = calls.get(lane).saturating_sub(1);
        *running.get_mut(lane) = running.get(lane).saturating_sub(u64::from(weight));
        self.land(shape, at, lane, landed);
    }

    /// `landed` counts for a window from `at` on.
    pub(crate) fn land(&mut self, shape: &ScopeShape, at: Instant, lane: Lane, landed: u32) {
        let mut weight = PerLane::default();
        *weight.get_mut(lane) = u64::from(landed);
        self.counts.land(shape, at, weight);
    }

    /// A running call weighs more or less than it was charged for.
    pub(crate) fn reweigh(&mut self, lane: Lane, from: u32, to: u32) {
        let running = self.running.weight.get_mut(lane);
        *running = running
            .saturating_sub(u64::from(from))
            .saturating_add(u64::from(to));
    }

    /// What a layer holds now, by lane.
    #[inline]
    pub(crate) fn used(&self, limit: &Limit) -> PerLane<u64> {
        let Some(view) = limit.view else {
            let calls = self.running.calls;
            return PerLane {
                foreground: u64::from(calls.foreground),
                background: u64::from(calls.background),
            };
        };
        let mut used = self.counts.weight(view);
        used.add(self.running.weight);
        used
    }

    /// How many calls are in flight.
    pub(crate) fn calls(&self) -> u64 {
        u64::from(self.running.calls.foreground) + u64::from(self.running.calls.background)
    }

    /// How many calls are in flight that somebody will tell the end of. The others say nothing
    /// of a recovery any more, and would keep it waiting for the whole of their leases.
    #[inline]
    pub(crate) fn calls_answering(&self) -> u64 {
        self.calls().saturating_sub(self.lingering())
    }

    /// What the upstream said of it.
    #[inline]
    pub(crate) fn breaker(&self) -> Option<&Breaker> {
        self.rare.as_ref()?.breaker.as_deref()
    }

    /// Takes over what was written down.
    pub(crate) fn restore_breaker(&mut self, breaker: Option<Breaker>) {
        if breaker.is_some() || self.rare.is_some() {
            self.rare.get_or_insert_default().breaker = breaker.map(Box::new);
        }
    }

    /// Tells its breaker something, and whether that changed it; it is made where it is needed.
    pub(crate) fn tell<T>(&mut self, telling: impl FnOnce(&mut Breaker) -> T) -> (T, bool) {
        let before = self.breaker().cloned().unwrap_or_default();
        let mut breaker = before.clone();
        let told = telling(&mut breaker);
        let changed = breaker != before;
        self.restore_breaker((!breaker.is_idle()).then_some(breaker));
        (told, changed)
    }

    /// Who was refused and told to return.
    pub(crate) fn places(&self) -> Option<&Places> {
        self.rare.as_ref().map(|rare| &rare.places)
    }

    /// The same, to add to.
    pub(crate) fn places_mut(&mut self) -> &mut Places {
        &mut self.rare.get_or_insert_default().places
    }

    /// Who stands in line of a budget in which nothing counts needs it least.
    pub(crate) fn forget_line_if_alone(&mut self, shape: &ScopeShape, now: Instant) {
        if self.holds > 0 || !self.counts.is_over(shape, now) {
            return;
        }
        if let Some(rare) = &mut self.rare {
            rare.advance(now);
        }
        self.rare
            .take_if(|rare| rare.breaker.is_none() && rare.lingering.is_empty());
    }

    /// This user was let go; in its own budget it is not known which of its calls that was.
    #[inline]
    pub(crate) fn leave_line(&mut self, tenant: &str, user: &str) {
        if self.scope != Scope::User
            && let Some(rare) = &mut self.rare
        {
            rare.places.leave(tenant, user);
        }
    }

    /// Nobody will end this running call but its expiry.
    pub(crate) fn linger(&mut self, permit: Permit, expires_at: Instant) {
        let lingering = &mut self.rare.get_or_insert_default().lingering;
        let entry = (expires_at, permit);
        if let Err(position) = lingering.binary_search(&entry) {
            lingering.insert(position, entry);
        }
    }

    /// This running call has ended after all.
    pub(crate) fn linger_no_more(&mut self, permit: Permit) {
        if let Some(rare) = &mut self.rare {
            rare.lingering.retain(|(_, other)| *other != permit);
        }
    }

    /// How many running calls only their expiry will end.
    pub(crate) fn lingering(&self) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.lingering.len() as u64)
    }

    /// When `calls` more running calls have ended, if only expiries will end them.
    pub(crate) fn expires_at(&self, calls: u64) -> Option<Instant> {
        let lingering = &self.rare.as_ref()?.lingering;
        let all = lingering.len() as u64 == self.calls();
        let last = usize::try_from(calls).ok()?.checked_sub(1)?;
        lingering.get(last).filter(|_| all).map(|(at, _)| *at)
    }
}

impl Rare {
    fn advance(&mut self, now: Instant) {
        self.places.advance(now);
        if let Some(breaker) = &mut self.breaker {
            breaker.advance(now);
            self.breaker.take_if(|breaker| breaker.is_idle());
        }
    }

    fn is_empty(&self) -> bool {
        self.breaker.is_none() && self.places.is_empty() && self.lingering.is_empty()
    }
}
