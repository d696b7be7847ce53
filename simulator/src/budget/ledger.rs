//! All budgets of one API: a call meets its user's and its application's, or that of its
//! connection.
//!
//! A refused call is refused whole: it takes no slot anywhere. Whether it still counts against
//! the rates, of both budgets, is a setting.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::Gate;
use super::referee::Referee;
use super::stats::{BudgetStats, LayerStats, Scope, Upstream};
use crate::identity::Caller;
use crate::random::{between, hash};
use crate::settings::{Rejected, ScopeLimits, Settings, Windows};

/// The most budgets kept apart; idle ones make room by being summed up.
const BUDGETS_MAX: usize = 20_000;

/// What a scope without limits has; no API here has such.
static UNLIMITED: ScopeLimits = ScopeLimits {
    rates: Vec::new(),
    concurrent: u32::MAX,
};

/// Every budget's counts.
#[derive(Debug)]
pub(crate) struct Ledger {
    rules: Rules,
    budgets: BTreeMap<Key, Budget>,
    /// What budgets forgotten for being idle had seen, by scope.
    retired: BTreeMap<Scope, Vec<LayerStats>>,
    rejected: u64,
    latest_us: u64,
}

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A limit at this scope; the user's, where both refuse.
    Limit(Scope),
    /// The lookalike cannot keep count of any more users.
    Capacity,
}

/// Proof that a call is in flight; give it back with [`Ledger::leave`].
#[derive(Debug)]
pub(crate) struct Ticket(Vec<Key>);

impl Ledger {
    /// Empty, with the settings' limits of that API.
    pub(crate) fn new(upstream: Upstream, settings: &Settings) -> Self {
        Self {
            rules: Rules::new(upstream, settings),
            budgets: BTreeMap::new(),
            retired: BTreeMap::new(),
            rejected: 0,
            latest_us: 0,
        }
    }

    /// A call arrives: it takes a slot in each of its budgets, or none.
    pub(crate) fn arrive(&mut self, now_us: u64, caller: &Caller) -> Result<Ticket, Refusal> {
        self.latest_us = self.latest_us.max(now_us);
        let now_us = self.latest_us;
        let keys = self.rules.keys(caller);
        self.make_room(&keys, now_us)?;
        let refused = self.note_arrival(&keys, now_us);
        match refused {
            Some(scope) => {
                self.rejected += 1;
                Err(Refusal::Limit(scope))
            }
            None => {
                self.each(&keys, Budget::enter);
                Ok(Ticket(keys))
            }
        }
    }

    /// How long until the rates of this caller have room, if nobody calls before.
    pub(crate) fn wait_us(&mut self, now_us: u64, caller: &Caller) -> u64 {
        let now_us = self.latest_us.max(now_us);
        let mut longest = 0;
        for key in self.rules.keys(caller) {
            if let Some(budget) = self.budgets.get_mut(&key) {
                longest = longest.max(budget.gate.wait_us(now_us));
            }
        }
        longest
    }

    /// The call is over.
    pub(crate) fn leave(&mut self, ticket: &Ticket) {
        self.each(&ticket.0, Budget::leave);
    }

    /// Calls refused by a limit.
    pub(crate) fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The score of every budget, and of the forgotten ones together.
    pub(crate) fn scores(&mut self, now_us: u64) -> Vec<BudgetStats> {
        let now_us = self.latest_us.max(now_us);
        let live = self.budgets.iter_mut().map(|(key, budget)| {
            let layers = budget.layers(self.rules.limits_of(key.scope), now_us);
            key.score(self.rules.upstream, layers)
        });
        let retired = self.retired.iter().map(|(scope, layers)| {
            let key = Key {
                scope: *scope,
                app: "*".to_owned(),
                tenant: String::new(),
                user: String::new(),
            };
            BudgetStats {
                key: "*".to_owned(),
                ..key.score(self.rules.upstream, layers.clone())
            }
        });
        live.chain(retired).collect()
    }

    /// Counts the arrival in each budget and says at which scope it is refused, if at any.
    fn note_arrival(&mut self, keys: &[Key], now_us: u64) -> Option<Scope> {
        let rules = &self.rules;
        let mut refused = None;
        for key in keys {
            let budget = self
                .budgets
                .entry(key.clone())
                .or_insert_with(|| rules.budget(key));
            if budget.arrive(now_us) {
                refused = refused.max(Some(key.scope));
            }
        }
        if refused.is_none() || self.rules.rejected == Rejected::Count {
            self.each(keys, |budget| budget.gate.count(now_us));
        }
        refused
    }

    fn each(&mut self, keys: &[Key], act: impl Fn(&mut Budget)) {
        for key in keys {
            if let Some(budget) = self.budgets.get_mut(key) {
                act(budget);
            }
        }
    }

    /// Makes sure that the keys fit, by summing up idle budgets when there are too many.
    fn make_room(&mut self, keys: &[Key], now_us: u64) -> Result<(), Refusal> {
        let new = keys
            .iter()
            .filter(|key| !self.budgets.contains_key(key))
            .count();
        if new == 0 || self.budgets.len() + new <= BUDGETS_MAX {
            return Ok(());
        }
        self.retire_idle(now_us);
        if self.budgets.len() + new <= BUDGETS_MAX {
            return Ok(());
        }
        Err(Refusal::Capacity)
    }

    fn retire_idle(&mut self, now_us: u64) {
        let idle = |(key, budget): (&Key, &Budget)| {
            let longest_us = self.rules.longest_window_us(key.scope);
            budget.is_idle(now_us, longest_us).then(|| key.clone())
        };
        let idle: BTreeSet<Key> = self.budgets.iter().filter_map(idle).collect();
        for key in idle {
            if let Some(mut budget) = self.budgets.remove(&key) {
                let layers = budget.layers(self.rules.limits_of(key.scope), now_us);
                merge(self.retired.entry(key.scope).or_default(), layers);
            }
        }
    }
}

/// Adds one budget's score to the sum of the forgotten.
fn merge(sum: &mut Vec<LayerStats>, layers: Vec<LayerStats>) {
    if sum.is_empty() {
        *sum = layers;
        return;
    }
    for (into, from) in sum.iter_mut().zip(layers) {
        into.peak = into.peak.max(from.peak);
        into.rejected += from.rejected;
    }
}

#[derive(Debug)]
struct Rules {
    upstream: Upstream,
    /// The scopes that have limits, the widest last.
    limits: Vec<(Scope, ScopeLimits)>,
    windows: Windows,
    rejected: Rejected,
    seed: u64,
}

impl Rules {
    fn new(upstream: Upstream, settings: &Settings) -> Self {
        let limits = match upstream {
            Upstream::Graph => {
                let user = (Scope::User, settings.limits.user.clone());
                let app = settings.limits.app.clone().map(|app| (Scope::App, app));
                [user].into_iter().chain(app).collect()
            }
            Upstream::Notion => vec![(Scope::App, settings.notion.clone())],
        };
        Self {
            upstream,
            limits,
            windows: settings.windows,
            rejected: settings.rejected,
            seed: settings.seed,
        }
    }

    fn keys(&self, caller: &Caller) -> Vec<Key> {
        let key = |(scope, _): &(Scope, ScopeLimits)| Key::of(*scope, caller);
        self.limits.iter().map(key).collect()
    }

    /// The limits at a scope; of the only one, where there is but one.
    fn limits_of(&self, scope: Scope) -> &ScopeLimits {
        let own = self.limits.iter().find(|(of, _)| *of == scope);
        match own.or(self.limits.first()) {
            Some((_, limits)) => limits,
            None => &UNLIMITED,
        }
    }

    fn longest_window_us(&self, scope: Scope) -> u64 {
        let windows = self
            .limits_of(scope)
            .rates
            .iter()
            .map(|rate| rate.window_ms * 1000);
        windows.max().unwrap_or(0)
    }

    fn budget(&self, key: &Key) -> Budget {
        let limits = self.limits_of(key.scope);
        let phase_us = |window_us: u64| {
            let name = window_us.to_string();
            let parts = [key.scope.name(), &key.app, &key.tenant, &key.user, &name];
            between(hash(self.seed, &parts), 0, window_us - 1)
        };
        Budget {
            gate: Gate::new(limits, self.windows, phase_us),
            referee: Referee::new(limits),
            rejected: vec![0; limits.rates.len() + 1],
            latest_us: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    scope: Scope,
    app: String,
    tenant: String,
    user: String,
}

impl Key {
    fn of(scope: Scope, caller: &Caller) -> Self {
        let app = caller.app.clone();
        let (tenant, user) = match scope {
            Scope::User => (caller.tenant.clone(), caller.user.clone()),
            Scope::App => Default::default(),
        };
        Self {
            scope,
            app,
            tenant,
            user,
        }
    }

    fn score(&self, upstream: Upstream, layers: Vec<LayerStats>) -> BudgetStats {
        let key = match self.scope {
            Scope::App => self.app.clone(),
            Scope::User => format!("{}/{}/{}", self.app, self.tenant, self.user),
        };
        BudgetStats {
            upstream,
            scope: self.scope,
            key,
            app: self.app.clone(),
            tenant: self.tenant.clone(),
            user: self.user.clone(),
            layers,
        }
    }
}

#[derive(Debug)]
struct Budget {
    gate: Gate,
    referee: Referee,
    /// Refusals by layer: the rates in their order, then concurrency.
    rejected: Vec<u64>,
    latest_us: u64,
}

impl Budget {
    /// Sees a call and says whether any layer refuses it.
    fn arrive(&mut self, now_us: u64) -> bool {
        self.latest_us = now_us;
        self.referee.arrived(now_us);
        let refusals = self.gate.refusals(now_us);
        for (count, refused) in self.rejected.iter_mut().zip(&refusals) {
            *count += u64::from(*refused);
        }
        refusals.contains(&true)
    }

    fn enter(&mut self) {
        self.gate.enter();
        self.referee.entered();
    }

    fn leave(&mut self) {
        self.gate.leave();
        self.referee.left();
    }

    fn is_idle(&self, now_us: u64, longest_window_us: u64) -> bool {
        self.referee.in_flight() == 0 && self.latest_us + longest_window_us <= now_us
    }

    fn layers(&mut self, limits: &ScopeLimits, now_us: u64) -> Vec<LayerStats> {
        let last_windows = self.referee.last_windows(now_us);
        let rates = limits
            .rates
            .iter()
            .zip(last_windows)
            .map(|(rate, last)| LayerStats {
                window_ms: Some(rate.window_ms),
                limit: rate.limit,
                peak: 0,
                rejected: 0,
                last_window: Some(last),
                in_flight: None,
            });
        let flight = LayerStats {
            window_ms: None,
            limit: limits.concurrent,
            peak: 0,
            rejected: 0,
            last_window: None,
            in_flight: Some(self.referee.in_flight()),
        };
        let counts = self.referee.peaks().zip(&self.rejected);
        let with = |(layer, (peak, rejected)): (LayerStats, (u32, &u64))| LayerStats {
            peak,
            rejected: *rejected,
            ..layer
        };
        rates.chain([flight]).zip(counts).map(with).collect()
    }
}

#[cfg(test)]
mod tests;
