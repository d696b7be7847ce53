//! One upstream in several engines, so that apps never wait for each other.
//!
//! No budget crosses apps: as long as each app's calls are always put to the same engine,
//! several decide exactly as one would. What they do share is here: the numbers of permits,
//! the bound on users, and what operators see.

use std::cmp::Reverse;
use std::num::NonZeroU32;

use crate::breaker::Status;
use crate::call::{Call, Lane, Scope};
use crate::engine::Engine;
use crate::key::Key;
use crate::shadow::ShadowView;
use crate::time::Instant;
use crate::view::{BudgetView, SHARED_MAX, WorkloadView};

/// Which numbers an engine gives its permits: those that leave `rest` when divided by `step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    step: u64,
    rest: u64,
}

impl Numbers {
    pub(crate) const ALL: Self = Self { step: 1, rest: 0 };

    /// The first that is not below `number`.
    pub(crate) const fn at_or_after(self, number: u64) -> u64 {
        let above = (number % self.step + self.step - self.rest) % self.step;
        if above == 0 {
            number
        } else {
            number.saturating_add(self.step - above)
        }
    }

    pub(crate) const fn after(self, number: u64) -> u64 {
        number.saturating_add(self.step)
    }
}

/// For whom user keys come to be, for the driver to bound how many each opens: any number of
/// its own. It is not part of a key and decides nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opener(pub NonZeroU32);

impl Engine {
    /// From now on, user keys come to be for `opener`; none: nobody is told of them. Keys that
    /// are read back are nobody's.
    pub const fn open_for(&mut self, opener: Option<Opener>) {
        self.tree.open_for(opener);
    }

    /// Whether what `call` is charged to counts its user already.
    #[must_use]
    pub fn knows_user(&self, call: &Call) -> bool {
        self.stand(call).own.at(Scope::User).is_some()
    }

    /// For whom user keys came to be (true), or vanished, since this was last asked: every key
    /// that came to be for somebody vanishes once.
    pub fn take_openings(&mut self) -> Vec<(Opener, bool)> {
        self.tree.take_openings()
    }

    /// This is one of `of` engines, at `position` (below `of`): no two of them give permits
    /// the same number. Another `of` after a restart is fine if all go on behind the highest
    /// number ([`restored`](Self::restored)).
    pub fn share_numbers(&mut self, position: usize, of: usize) {
        let step = (of as u64).max(1);
        self.numbers = Numbers {
            step,
            rest: position as u64 % step,
        };
        self.next_permit = self.numbers.at_or_after(self.next_permit);
    }

    /// How many user keys exist in workloads that limit users.
    #[must_use]
    pub const fn users(&self) -> usize {
        self.tree.users()
    }

    /// From now on so many user keys may hold counts here, instead of
    /// [`Settings::users_max`](crate::Settings::users_max); no user goes for that.
    pub const fn bound_users(&mut self, users_max: usize) {
        self.settings.users_max = users_max;
    }

    /// Drops all keys that count nothing, to make room for others'.
    pub fn drop_idle(&mut self, now: Instant) {
        let now = self.advance(now);
        self.tree.sweep_all(&self.workloads, now);
    }
}

impl WorkloadView {
    /// What an upstream looks like whose apps are spread over engines that look like these:
    /// as one engine would, with pages of `users_max` users.
    #[must_use]
    pub fn joined(views: impl IntoIterator<Item = Self>, users_max: usize) -> Self {
        let mut all = Self::default();
        views.into_iter().for_each(|view| all.join(view));
        all.shared
            .sort_by(|a, b| shared_order(a).cmp(&shared_order(b)));
        all.shared.truncate(SHARED_MAX);
        let order = |user: &BudgetView| Reverse(user.closeness_permille);
        all.users
            .sort_by(|a, b| (order(a), &a.key).cmp(&(order(b), &b.key)));
        all.users.truncate(users_max);
        all
    }

    fn join(&mut self, other: Self) {
        self.shared.extend(other.shared);
        self.shared_total += other.shared_total;
        self.full_until = self.full_until.max(other.full_until);
        self.users.extend(other.users);
        self.users_total += other.users_total;
        for lane in Lane::ALL {
            *self.waiting.get_mut(lane) += other.waiting.get(lane);
            let since = self.waiting_since.get_mut(lane);
            let both = [*since, *other.waiting_since.get(lane)];
            *since = both.into_iter().flatten().min();
        }
        self.join_shadows(&other.shadows);
    }

    /// Engines of one upstream have the same layers, but for the moment of a change.
    fn join_shadows(&mut self, other: &[ShadowView]) {
        if self.shadows.is_empty() {
            self.shadows.extend_from_slice(other);
            return;
        }
        let what = |it: &ShadowView| (it.scope, it.dimension, it.limit);
        for shadow in &mut self.shadows {
            let same = other.iter().find(|it| what(it) == what(shadow));
            let Some(same) = same else { continue };
            shadow.since = shadow.since.min(same.since);
            shadow.would_refuse.add(same.would_refuse);
        }
    }
}

/// Apps before tenants, then what is in trouble most.
fn shared_order(budget: &BudgetView) -> (Reverse<Scope>, Reverse<(Status, u64)>, &Key) {
    let trouble = (budget.breaker.status, budget.closeness_permille);
    (Reverse(budget.key.scope), Reverse(trouble), &budget.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_share_all_numbers_and_none_twice() {
        for step in 1..5_u64 {
            for number in 0..20 {
                let mine = |rest| Numbers { step, rest }.at_or_after(number);
                let mut next: Vec<_> = (0..step).map(mine).collect();
                next.sort_unstable();
                assert_eq!(next, (number..number + step).collect::<Vec<_>>());
            }
        }
    }
}
