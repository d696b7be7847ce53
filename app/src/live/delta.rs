//! What changed between two [`State`]s.
//!
//! A budget that changed travels whole: it is some 300 bytes, and a page that draws it
//! needs all of it anyway. Everything else travels only if it changed, so that a quiet
//! server sends next to nothing. Names are the keys of upstreams and workloads, a
//! [`BudgetKey`] that of a budget; an addition is a change from nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Budget, BudgetKey, ForcedBreaker, House, Lanes, Pause, Second, State, Upstream, Workload,
};

/// What turns one [`State`] into a later one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// When the later state was true, RFC 3339 with milliseconds, UTC.
    pub as_of: String,
    /// The later [`State::started_at`], if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The later state's [`State::time_scale`].
    pub time_scale: u32,
    /// Upstreams that are new or in which something changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<UpstreamDelta>,
    /// Names of upstreams that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// The later [`State::house`], if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub house: Option<House>,
}

/// What changed in one upstream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamDelta {
    /// Which one.
    pub name: String,
    /// The later [`Upstream::unwritable`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwritable: bool,
    /// The later [`Upstream::pauses`], if any is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Vec<Pause>>,
    /// The later [`Upstream::forced`], if any is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<Vec<ForcedBreaker>>,
    /// Workloads that are new or in which something changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadDelta>,
    /// Names of workloads that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

/// What changed in one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadDelta {
    /// Which one.
    pub name: String,
    /// Budgets that are new or changed, whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
    /// Budgets that are gone, or no longer among those shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<BudgetKey>,
    /// The lanes' counters, if any changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Lanes>,
    /// What changed in the last minute, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<RecentDelta>,
    /// The later [`Workload::shared`].
    pub shared: u64,
    /// The later [`Workload::full_until`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_until: Option<String>,
    /// The later [`Workload::users`].
    pub users: u64,
    /// The later [`Workload::next_cursor`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// How [`Workload::recent`] moved on: old seconds leave at the front, the running one
/// and those after it come anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentDelta {
    /// How many of the old entries are too old now.
    pub dropped: usize,
    /// How many of those after them stay as they are; the rest are replaced.
    pub kept: usize,
    /// What follows them.
    pub added: Vec<Second>,
}

impl Delta {
    /// Whether nothing changed but the time.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upstreams.is_empty() && self.removed.is_empty() && self.house.is_none()
    }
}

impl State {
    /// What must be [applied](State::apply) to `self` to get `newer`. Both must be in
    /// order ([`State::sort`]) and name nothing twice.
    #[must_use]
    pub fn delta_to(&self, newer: &State) -> Delta {
        let (upstreams, removed) = changes(
            &self.upstreams,
            &newer.upstreams,
            |upstream| upstream.name.clone(),
            Upstream::delta_to,
        );
        Delta {
            as_of: newer.as_of.clone(),
            started_at: (self.started_at != newer.started_at).then(|| newer.started_at.clone()),
            time_scale: newer.time_scale,
            upstreams,
            removed,
            house: newer.house.clone().filter(|_| self.house != newer.house),
        }
    }

    /// Becomes the state that `delta` leads to. What it removes or changes need not
    /// exist: unknown names are ignored when removed and created when changed.
    pub fn apply(&mut self, delta: Delta) {
        self.as_of = delta.as_of;
        if let Some(started_at) = delta.started_at {
            self.started_at = started_at;
        }
        self.time_scale = delta.time_scale;
        // Once looked at, it stays known.
        if delta.house.is_some() {
            self.house = delta.house;
        }
        self.upstreams
            .retain(|upstream| !delta.removed.contains(&upstream.name));
        for change in delta.upstreams {
            named(
                &mut self.upstreams,
                &change.name,
                |it| &it.name,
                Upstream::named,
            )
            .apply(change);
        }
    }
}

impl Upstream {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn delta_to(old: Option<&Self>, newer: &Self) -> UpstreamDelta {
        let (workloads, removed) = changes(
            old.map_or(&[], |old| &old.workloads),
            &newer.workloads,
            |workload| workload.name.clone(),
            Workload::delta_to,
        );
        UpstreamDelta {
            name: newer.name.clone(),
            unwritable: newer.unwritable,
            pauses: (old.map_or(&[][..], |old| &old.pauses) != newer.pauses)
                .then(|| newer.pauses.clone()),
            forced: (old.map_or(&[][..], |old| &old.forced) != newer.forced)
                .then(|| newer.forced.clone()),
            workloads,
            removed,
        }
    }

    fn apply(&mut self, delta: UpstreamDelta) {
        self.unwritable = delta.unwritable;
        if let Some(pauses) = delta.pauses {
            self.pauses = pauses;
        }
        if let Some(forced) = delta.forced {
            self.forced = forced;
        }
        self.workloads
            .retain(|workload| !delta.removed.contains(&workload.name));
        for change in delta.workloads {
            named(
                &mut self.workloads,
                &change.name,
                |it| &it.name,
                Workload::named,
            )
            .apply(change);
        }
    }
}

impl Workload {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn delta_to(old: Option<&Self>, newer: &Self) -> WorkloadDelta {
        let (budgets, removed) = changes(
            old.map_or(&[], |old| &old.budgets),
            &newer.budgets,
            Budget::key,
            |_, newer| newer.clone(),
        );
        WorkloadDelta {
            name: newer.name.clone(),
            budgets,
            removed,
            lanes: (old.map(|old| &old.lanes) != Some(&newer.lanes)).then(|| newer.lanes.clone()),
            recent: RecentDelta::between(old.map_or(&[], |old| &old.recent), &newer.recent),
            shared: newer.shared,
            full_until: newer.full_until.clone(),
            users: newer.users,
            next_cursor: newer.next_cursor.clone(),
        }
    }

    fn apply(&mut self, delta: WorkloadDelta) {
        // Some hundred at the most, and a map of them would weigh more than the page can spare.
        let mut gone = delta.removed;
        gone.extend(delta.budgets.iter().map(Budget::key));
        self.budgets.retain(|budget| !gone.contains(&budget.key()));
        self.budgets.extend(delta.budgets);
        super::sort_budgets(&mut self.budgets);
        if let Some(lanes) = delta.lanes {
            self.lanes = lanes;
        }
        if let Some(recent) = delta.recent {
            recent.apply(&mut self.recent);
        }
        self.shared = delta.shared;
        self.full_until = delta.full_until;
        self.users = delta.users;
        self.next_cursor = delta.next_cursor;
    }
}

impl RecentDelta {
    fn between(old: &[Second], newer: &[Second]) -> Option<Self> {
        if old == newer {
            return None;
        }
        let dropped = newer
            .first()
            .and_then(|first| old.iter().position(|second| second.at == first.at))
            .unwrap_or(old.len());
        let kept = old
            .iter()
            .skip(dropped)
            .zip(newer)
            .take_while(|(old, newer)| old == newer)
            .count();
        Some(Self {
            dropped,
            kept,
            added: newer.iter().skip(kept).copied().collect(),
        })
    }

    fn apply(self, recent: &mut Vec<Second>) {
        recent.drain(..self.dropped.min(recent.len()));
        recent.truncate(self.kept);
        recent.extend(self.added);
    }
}

/// What is new or different in `newer`, and the keys of what only `old` has.
fn changes<T: PartialEq, K: Ord, D>(
    old: &[T],
    newer: &[T],
    key: impl Fn(&T) -> K,
    delta: impl Fn(Option<&T>, &T) -> D,
) -> (Vec<D>, Vec<K>) {
    let mut before: BTreeMap<K, &T> = old.iter().map(|it| (key(it), it)).collect();
    let mut changed = Vec::new();
    for it in newer {
        let was = before.remove(&key(it));
        if was != Some(it) {
            changed.push(delta(was, it));
        }
    }
    (changed, before.into_keys().collect())
}

/// The element called `name` of `all`, which are in the order of their names; created if
/// there is none.
fn named<'a, T>(
    all: &'a mut Vec<T>,
    name: &str,
    name_of: impl Fn(&T) -> &str,
    create: impl Fn(&str) -> T,
) -> &'a mut T {
    let at = all
        .binary_search_by(|it| name_of(it).cmp(name))
        .unwrap_or_else(|at| {
            all.insert(at, create(name));
            at
        });
    &mut all[at]
}

#[cfg(test)]
mod tests;
