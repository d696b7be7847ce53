//! The charged keys: every budget that holds counts or leases, and no other.

use std::collections::{BTreeMap, BTreeSet};

use crate::breaker::Breaker;
use crate::budget::{Budget, Key};
use crate::call::Scope;
use crate::policy::Policy;
use crate::time::Instant;

/// A budget's place. It stays while a lease holds it.
pub(crate) type Place = usize;

/// How many places each operation looks at for idle budgets: memory follows the live keys
/// and no operation pays for a full sweep.
const SWEPT_EACH_TIME: usize = 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    places: Vec<Option<Budget>>,
    vacant: Vec<Place>,
    /// Ordered, so that no choice of keys can make look-ups slow and no seed is needed.
    index: BTreeMap<Key, Place>,
    users: usize,
    swept: Place,
    /// Whose breaker changed since this was last asked.
    told: BTreeSet<Place>,
}

impl Ledger {
    /// How many user keys are charged.
    pub(crate) const fn users(&self) -> usize {
        self.users
    }

    pub(crate) fn find_mut(&mut self, key: &Key, now: Instant) -> Option<&mut Budget> {
        let place = *self.index.get(key)?;
        Some(self.places[place].as_mut()?.at(now))
    }

    /// Looks at the budget of `key`, at a fresh one if it has none.
    pub(crate) fn with<T>(
        &mut self,
        key: &Key,
        policy: &Policy,
        now: Instant,
        look: impl FnOnce(&Budget) -> T,
    ) -> T {
        match self.find_mut(key, now) {
            Some(budget) => look(budget),
            None => look(&Budget::new(key.clone(), policy)),
        }
    }

    pub(crate) fn at(&mut self, place: Place) -> Option<&mut Budget> {
        self.places.get_mut(place)?.as_mut()
    }

    /// Tells the breaker of a budget something, and what came of it.
    pub(crate) fn tell<T>(
        &mut self,
        place: Place,
        telling: impl FnOnce(&mut Breaker) -> T,
    ) -> Option<T> {
        let (told, changed) = self.at(place)?.tell(telling);
        if changed {
            self.told.insert(place);
        }
        Some(told)
    }

    /// Whether the upstream, or an operator, said something of this budget.
    pub(crate) fn has_breaker(&mut self, place: Place) -> bool {
        self.at(place)
            .is_some_and(|budget| budget.breaker().is_some())
    }

    /// The budgets whose breaker changed since this was last asked.
    pub(crate) fn take_told(&mut self) -> Vec<Place> {
        std::mem::take(&mut self.told).into_iter().collect()
    }

    /// The place of `key`, made if it has none.
    pub(crate) fn place(&mut self, key: &Key, policy: &Policy) -> Place {
        if let Some(place) = self.index.get(key) {
            return *place;
        }
        let budget = Budget::new(key.clone(), policy);
        let place = self.vacant.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(budget);
        self.index.insert(key.clone(), place);
        self.users += usize::from(key.scope == Scope::User);
        place
    }

    /// Drops idle budgets among the next few places.
    pub(crate) fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEPT_EACH_TIME.min(self.places.len()) {
            self.swept = (self.swept + 1) % self.places.len();
            self.drop_idle(self.swept, now);
        }
    }

    /// Drops all idle budgets.
    pub(crate) fn sweep_all(&mut self, now: Instant) {
        (0..self.places.len()).for_each(|place| self.drop_idle(place, now));
    }

    /// Every budget, brought up to `now`.
    pub(crate) fn budgets(&mut self, now: Instant) -> impl Iterator<Item = &mut Budget> {
        self.places
            .iter_mut()
            .flatten()
            .map(move |budget| budget.at(now))
    }

    fn drop_idle(&mut self, place: Place, now: Instant) {
        let Some(budget) = &mut self.places[place] else {
            return;
        };
        budget.advance(now);
        if !budget.is_idle() {
            return;
        }
        self.users -= usize::from(budget.key().scope == Scope::User);
        self.index.remove(budget.key());
        self.places[place] = None;
        self.vacant.push(place);
    }
}
