//! One budget: the counters of a policy at one scope key, and whether a call fits them.

use crate::breaker::{Breaker, Refusing};
use crate::call::{Call, Lane, PerLane, Permit, Scope};
use crate::decision::Obstacle;
use crate::places::Places;
use crate::policy::{Dimension, Layer, Policy};
use crate::time::Instant;
use crate::window::{Landed, Window};

/// Whose budget it is: the scope and as many keys as the scope needs, the others empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Key {
    /// The workload's position.
    pub workload: usize,
    /// App, tenant or user.
    pub scope: Scope,
    /// The application's key.
    pub app: String,
    /// The tenant's key.
    pub tenant: String,
    /// The user's key.
    pub user: String,
}

impl Key {
    /// The key that `call` is charged to at `scope`.
    #[must_use]
    pub fn of(call: &Call, scope: Scope) -> Self {
        let keep = |key: &String, kept: bool| if kept { key.clone() } else { String::new() };
        Self {
            workload: call.workload,
            scope,
            app: call.app.clone(),
            tenant: keep(&call.tenant, scope != Scope::App),
            user: keep(&call.user, scope == Scope::User),
        }
    }
}

/// Calls in flight: granted, and neither ended nor expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) calls: PerLane<u64>,
    pub(crate) weight: PerLane<u64>,
}

/// What the engine assumes beyond what it counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assumed {
    /// Every layer was full at this instant (its counts were lost).
    pub(crate) full_at: Option<Instant>,
    /// How long a call of a lost server may still have been running after it.
    pub(crate) lease_ms: u64,
    /// How long running calls of this workload usually take.
    pub(crate) hold_ms_median: u64,
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
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |a: PerLane<u64>, b: PerLane<u64>| PerLane {
            foreground: a.foreground + b.foreground,
            background: a.background + b.background,
        };
        Self {
            calls: sum(self.calls, other.calls),
            weight: sum(self.weight, other.weight),
        }
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

#[derive(Clone, Debug)]
pub(crate) struct Budget {
    key: Key,
    running: Running,
    /// One for each rate layer at the key's scope, in the policy's order.
    windows: Vec<Window>,
    /// Running calls that nobody will end but their expiry, the next to expire first.
    lingering: Vec<(Instant, Permit)>,
    /// Who was refused and told to return.
    pub(crate) places: Places,
    /// What the upstream said of it; none where it has nothing to say.
    breaker: Option<Box<Breaker>>,
    /// Whether it changed since it was last recorded.
    pub(crate) changed: bool,
}

impl Budget {
    pub(crate) fn new(key: Key, policy: &Policy) -> Self {
        let windows = policy
            .layers_at(key.scope)
            .filter_map(|layer| match layer.dimension() {
                Dimension::Rate { window_ms } => Some(Window::new(window_ms, layer.limit())),
                Dimension::Concurrency => None,
            });
        let windows = windows.collect();
        Self {
            key,
            running: Running::default(),
            windows,
            lingering: Vec::new(),
            places: Places::default(),
            breaker: None,
            changed: false,
        }
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        self.windows
            .iter_mut()
            .for_each(|window| window.advance(now));
        self.places.advance(now);
        if let Some(breaker) = &mut self.breaker {
            breaker.advance(now);
            self.breaker.take_if(|breaker| breaker.is_idle());
        }
    }

    /// What the upstream said of it.
    pub(crate) fn breaker(&self) -> Option<&Breaker> {
        self.breaker.as_deref()
    }

    /// Takes over what was written down.
    pub(crate) fn restore_breaker(&mut self, breaker: Option<Breaker>) {
        self.breaker = breaker.map(Box::new);
    }

    /// Tells its breaker something, and whether that changed it; it is made where it is needed.
    pub(crate) fn tell<T>(&mut self, telling: impl FnOnce(&mut Breaker) -> T) -> (T, bool) {
        let before = self.breaker.as_deref().cloned().unwrap_or_default();
        let mut breaker = before.clone();
        let told = telling(&mut breaker);
        let changed = breaker != before;
        self.changed |= changed;
        self.breaker = (!breaker.is_idle()).then(|| Box::new(breaker));
        (told, changed)
    }

    /// As many calls in flight end a recovery: all that may be.
    pub(crate) fn calls_max(&self, policy: &Policy) -> u32 {
        let limits = policy.layers_at(self.key.scope);
        let concurrent = limits
            .filter(|layer| layer.dimension() == Dimension::Concurrency)
            .map(Layer::limit);
        concurrent.min().unwrap_or(crate::breaker::RAMP_CALLS_MAX)
    }

    /// This budget, brought up to `now`.
    pub(crate) fn at(&mut self, now: Instant) -> &mut Self {
        self.advance(now);
        self
    }

    /// Whether it equals a fresh one, and may be forgotten.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.calls.total() == 0
            && self.places.is_empty()
            && self.breaker.is_none()
            && self
                .windows
                .iter()
                .all(|window| window.weight().total() == 0)
    }

    pub(crate) fn start(&mut self, lane: Lane, weight: u32) {
        *self.running.calls.get_mut(lane) += 1;
        *self.running.weight.get_mut(lane) += u64::from(weight);
        self.changed = true;
    }

    /// Nobody will end this running call but its expiry.
    pub(crate) fn linger(&mut self, permit: Permit, expires_at: Instant) {
        let entry = (expires_at, permit);
        if let Err(position) = self.lingering.binary_search(&entry) {
            self.lingering.insert(position, entry);
        }
    }

    /// This running call has ended after all.
    pub(crate) fn linger_no_more(&mut self, permit: Permit) {
        self.lingering.retain(|(_, other)| *other != permit);
    }

    /// How many running calls only their expiry will end.
    pub(crate) fn lingering(&self) -> u64 {
        self.lingering.len() as u64
    }

    /// When `calls` more running calls have ended, if only expiries will end them.
    pub(crate) fn expires_at(&self, calls: u64) -> Option<Instant> {
        let all = self.lingering() == self.running.calls.total();
        let last = usize::try_from(calls).ok()?.checked_sub(1)?;
        self.lingering.get(last).filter(|_| all).map(|(at, _)| *at)
    }

    /// The call is no longer in flight; `landed` of its weight counts for a window from `at` on.
    pub(crate) fn end(&mut self, at: Instant, lane: Lane, weight: u32, landed: u32) {
        *self.running.calls.get_mut(lane) -= 1;
        *self.running.weight.get_mut(lane) -= u64::from(weight);
        self.land(at, lane, landed);
    }

    /// `landed` counts for a window from `at` on.
    pub(crate) fn land(&mut self, at: Instant, lane: Lane, landed: u32) {
        self.windows
            .iter_mut()
            .for_each(|window| window.land(at, lane, u64::from(landed)));
        self.changed = true;
    }

    /// What keeps `call` waiting longest, if anything does.
    pub(crate) fn shortage(
        &self,
        policy: &Policy,
        call: &Call,
        now: Instant,
        assumed: Assumed,
    ) -> Option<Shortage> {
        let short = self.rooms(policy, now, assumed);
        let short = short.filter_map(|(room, cap)| room.shortage(call, cap, Ahead::default()));
        short
            .chain(self.stopped(call, now, assumed))
            .reduce(Shortage::and)
    }

    /// The same for a call that is told when to return: when it fits after those that stand
    /// before it, but at most one window later than if nobody did.
    pub(crate) fn announced(
        &self,
        policy: &Policy,
        call: &Call,
        now: Instant,
        assumed: Assumed,
        ahead: Ahead,
    ) -> Option<Shortage> {
        if ahead == Ahead::default() {
            return self.shortage(policy, call, now, assumed);
        }
        let short = self.rooms(policy, now, assumed).filter_map(|(room, cap)| {
            let alone = room.shortage(call, cap, Ahead::default());
            let latest = alone.map_or(now, |alone| alone.at).plus_ms(room.span_ms());
            let behind = room.shortage(call, cap, ahead)?;
            Some(Shortage {
                at: behind.at.min(latest),
                exact: false,
                ..behind
            })
        });
        short
            .chain(self.stopped(call, now, assumed))
            .reduce(Shortage::and)
    }

    /// Each layer's room with what the background may hold of it.
    fn rooms<'a>(
        &'a self,
        policy: &'a Policy,
        now: Instant,
        assumed: Assumed,
    ) -> impl Iterator<Item = (Room<'a>, u32)> {
        self.counted(policy).map(move |(layer, window)| {
            let room = Room {
                budget: self,
                layer,
                window,
                now,
                assumed,
            };
            (room, policy.cap(layer, Lane::Background))
        })
    }

    /// Why its breaker keeps `call` waiting.
    fn stopped(&self, call: &Call, now: Instant, assumed: Assumed) -> Option<Shortage> {
        let running = self.running.calls.total();
        let Refusing { at, exact, soft } =
            self.breaker()?
                .refusing(now, call.lane, running, assumed.probe_ms)?;
        let obstacle = if soft {
            Obstacle::Soft
        } else {
            Obstacle::Breaker
        };
        let earliest = if exact { at } else { now };
        Some(Shortage {
            obstacle,
            at,
            exact,
            earliest,
            share: soft,
        })
    }

    /// Each layer with the window that counts for it.
    pub(crate) fn counted<'a>(
        &'a self,
        policy: &'a Policy,
    ) -> impl Iterator<Item = (&'a Layer, Option<&'a Window>)> {
        let mut windows = self.windows.iter();
        policy.layers_at(self.key.scope).map(move |layer| {
            let window = matches!(layer.dimension(), Dimension::Rate { .. })
                .then(|| windows.next())
                .flatten();
            (layer, window)
        })
    }

    /// What a layer holds now, by lane.
    pub(crate) fn used(&self, window: Option<&Window>) -> PerLane<u64> {
        let Some(window) = window else {
            return self.running.calls;
        };
        let (running, landed) = (self.running.weight, window.weight());
        PerLane {
            foreground: running.foreground + landed.foreground,
            background: running.background + landed.background,
        }
    }

    /// The counts by window, to be written down.
    pub(crate) fn landed(&self) -> Vec<(u64, Vec<Landed>)> {
        self.windows
            .iter()
            .map(|window| (window.window_ms(), window.entries().collect()))
            .collect()
    }

    /// Takes over counts that were written down, perhaps under another policy: each window
    /// from the shortest written one that covers it, else from the longest.
    pub(crate) fn restore(&mut self, landed: &[(u64, Vec<Landed>)]) {
        for window in &mut self.windows {
            let covering = landed
                .iter()
                .filter(|(window_ms, _)| *window_ms >= window.window_ms());
            let longest = || landed.iter().max_by_key(|(window_ms, _)| *window_ms);
            if let Some((_, entries)) = covering
                .min_by_key(|(window_ms, _)| *window_ms)
                .or_else(longest)
            {
                *window = window.emptied();
                entries.iter().for_each(|entry| window.put(*entry));
            }
        }
    }
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

/// One layer at one instant.
struct Room<'a> {
    budget: &'a Budget,
    layer: &'a Layer,
    window: Option<&'a Window>,
    now: Instant,
    assumed: Assumed,
}

impl Room<'_> {
    fn shortage(&self, call: &Call, background_cap: u32, ahead: Ahead) -> Option<Shortage> {
        let used = self.budget.used(self.window);
        let ahead = if self.window.is_some() {
            ahead.weight
        } else {
            ahead.calls
        };
        let cost = if self.window.is_some() {
            u64::from(call.weight)
        } else {
            1
        };
        let over =
            (used.total() + ahead.total() + cost).saturating_sub(u64::from(self.layer.limit()));
        let over_share = match call.lane {
            Lane::Foreground => 0,
            Lane::Background => (used.background + ahead.background + cost)
                .saturating_sub(u64::from(background_cap)),
        };
        let counted = (over > 0 || over_share > 0).then(|| self.counted_out(over, over_share));
        counted
            .into_iter()
            .chain(self.assumed_full())
            .reduce(Shortage::and)
    }

    /// For how long what ends now goes on to count.
    fn span_ms(&self) -> u64 {
        self.window
            .map_or(self.assumed.hold_ms_median.max(1), Window::span_ms)
    }

    fn counted_out(&self, over: u64, over_share: u64) -> Shortage {
        let obstacle = Obstacle::Layer(self.layer.dimension());
        let hold_ms = self.assumed.hold_ms_median.max(1);
        let share = over_share > 0;
        let inexact = |span_ms| Shortage {
            obstacle,
            at: self.now.plus_ms(hold_ms + span_ms),
            exact: false,
            earliest: self.now.plus_ms(span_ms),
            share,
        };
        let Some(window) = self.window else {
            return match self.budget.expires_at(over.max(over_share)) {
                Some(at) => Shortage {
                    at,
                    earliest: at,
                    ..inexact(0)
                },
                None => inexact(0),
            };
        };
        match window.forgets_at(over, over_share) {
            Some(at) => Shortage {
                obstacle,
                at,
                exact: true,
                earliest: at,
                share,
            },
            None => inexact(window.span_ms()),
        }
    }

    fn assumed_full(&self) -> Option<Shortage> {
        let lasts_ms = self.window.map_or(self.assumed.lease_ms, Window::span_ms);
        let at = self.assumed.full_at?.plus_ms(lasts_ms);
        let obstacle = Obstacle::Layer(self.layer.dimension());
        (at > self.now).then_some(Shortage {
            obstacle,
            at,
            exact: true,
            earliest: at,
            share: false,
        })
    }
}
