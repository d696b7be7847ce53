//! Looking for users by name and by trouble, a few budgets at a time.
//!
//! However many users there are, no call waits for more than one step of the search, and no more
//! of them are kept than are asked for. A user that comes, goes or changes meanwhile may be missed
//! or be where it was.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::breaker::{Breaker, Status};
use crate::call::Scope;
use crate::engine::Engine;
use crate::key::{Key, KeyRef};
use crate::time::Instant;
use crate::view::{BudgetView, Cursor};

/// What a breaker that stops everything adds to the closeness: it comes before whoever is full.
const STOPS: u64 = 1 << 40;

/// Which users are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The workload's position.
    pub workload: usize,
    /// What is in the key of the user, the tenant or the app, ASCII letters in either case; empty:
    /// anything.
    pub text: String,
    /// In which trouble they are.
    pub trouble: Trouble,
    /// Those behind this one: its trouble and key, as [`Found::cursor`] says them.
    pub after: Option<Cursor>,
    /// At most so many.
    pub max: usize,
}

/// In which trouble users are that are looked for: this much or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trouble {
    /// None is needed.
    #[default]
    Any,
    /// So close to a limit, per mille of it, or with a breaker that is not closed.
    Near(u64),
    /// Out of a limit, or with a breaker that lets nothing through but a probe.
    Stopped,
    /// With a breaker that is not closed.
    Tripped,
}

/// Who was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    best: BTreeMap<(Reverse<u64>, Key), BudgetView>,
    /// How many there are, those on other pages included.
    pub matched: u64,
    /// How many users there are at all.
    pub users: u64,
}

impl Found {
    /// Those that are asked for, most trouble first.
    pub fn users(&self) -> impl Iterator<Item = &BudgetView> {
        self.best.values()
    }

    /// Where the next page begins, if this one is full: `max` as it was asked for.
    #[must_use]
    pub fn cursor(&self, max: usize) -> Option<Cursor> {
        let ((Reverse(trouble), key), _) = self.best.last_key_value()?;
        (self.best.len() >= max).then(|| (*trouble, key.clone()))
    }

    /// Keeps it if it is among the first `max`.
    fn keep(
        &mut self,
        trouble: u64,
        key: KeyRef<'_>,
        max: usize,
        view: impl FnOnce() -> BudgetView,
    ) {
        let is_full = self.best.len() >= max;
        let last = self.best.last_key_value();
        let is_behind =
            last.is_some_and(|((last, of), _)| (*last, of.as_ref()) <= (Reverse(trouble), key));
        if max == 0 || (is_full && is_behind) {
            return;
        }
        self.best.insert((Reverse(trouble), key.to_key()), view());
        if self.best.len() > max {
            self.best.pop_last();
        }
    }
}

impl Engine {
    /// Goes on with a search at the position `from`, and looks at `steps` positions at most.
    /// Says where to go on, if there are more; a search begins at 0.
    pub fn find_more(
        &mut self,
        wanted: &Wanted,
        found: &mut Found,
        now: Instant,
        from: usize,
        steps: usize,
    ) -> Option<usize> {
        let now = self.advance(now);
        let until = from.saturating_add(steps).min(self.tree.places_len());
        for position in from..until {
            self.find_at(wanted, found, now, position);
        }
        (until < self.tree.places_len()).then_some(until)
    }

    fn find_at(&mut self, wanted: &Wanted, found: &mut Found, now: Instant, position: usize) {
        let Some(workload) = self.workloads.get(wanted.workload) else {
            return;
        };
        let Some(node) = self.tree.at_mut(position) else {
            return;
        };
        if usize::from(node.workload) != wanted.workload || node.scope != Scope::User {
            return;
        }
        node.advance(workload.shape.at(Scope::User), now);
        if !node.is_charged() {
            return;
        }
        found.users += 1;
        let Some((place, key)) = self.tree.key_at(position) else {
            return;
        };
        if !wanted.names(key) {
            return;
        }
        let Some(node) = self.tree.get(place) else {
            return;
        };
        let look = self.look(node, key);
        let closeness = look.closeness_permille();
        let status = node.breaker().map(Breaker::view).unwrap_or_default().status;
        if !wanted.trouble.is_in(closeness, status) {
            return;
        }
        found.matched += 1;
        let trouble = closeness.min(STOPS - 1) + if stops(status) { STOPS } else { 0 };
        if wanted.is_after(trouble, key) {
            found.keep(trouble, key, wanted.max, || look.at(key));
        }
    }
}

impl Wanted {
    fn names(&self, key: KeyRef<'_>) -> bool {
        let text = self.text.as_str();
        text.is_empty()
            || [key.user, key.tenant, key.app]
                .iter()
                .any(|name| contains(name, text))
    }

    fn is_after(&self, trouble: u64, key: KeyRef<'_>) -> bool {
        let after = self.after.as_ref();
        after.is_none_or(|(last, of)| (Reverse(trouble), key) > (Reverse(*last), of.as_ref()))
    }
}

impl Trouble {
    fn is_in(self, closeness_permille: u64, status: Status) -> bool {
        match self {
            Self::Any => true,
            Self::Near(permille) => closeness_permille >= permille || status != Status::Closed,
            Self::Stopped => closeness_permille >= 1_000 || stops(status),
            Self::Tripped => status != Status::Closed,
        }
    }
}

const fn stops(status: Status) -> bool {
    matches!(status, Status::Open | Status::HalfOpen)
}

/// Whether `text` is in `name`, whatever the case of ASCII letters. Nothing is allocated: it is
/// asked of each key.
fn contains(name: &str, text: &str) -> bool {
    let mut windows = name.as_bytes().windows(text.len().max(1));
    windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}
