//! What people see of a site's lists.

use jiff::Timestamp;
use spillway::flood::{Component, ComponentView, ListKey, ListView, Policy};

use super::{Floods, Letter, Stored};
use crate::store::{FloodEntry, FloodPause, StrikeDay};

/// A list as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListState {
    /// The site's key.
    pub site: String,
    /// The list's key within the site.
    pub list: String,
    /// When its own pause ends, if it is paused.
    pub paused_until: Option<Timestamp>,
    /// When its site's pause ends, if that is paused.
    pub site_paused_until: Option<Timestamp>,
    /// Its components, those that events were reported of.
    pub components: Vec<ComponentState>,
}

/// A component on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentState {
    /// Which.
    pub component: Component,
    /// What it endures.
    pub policy: Policy,
    /// The events counted in the running minute.
    pub count: u32,
    /// Today's strikes.
    pub strikes: u32,
    /// Whether the running minute's further events are stopped.
    pub stopping: bool,
    /// Since when it is disabled, if it is.
    pub disabled_since: Option<Timestamp>,
}

impl Floods {
    /// A site's lists on which something is remembered: those in trouble first, then by name.
    #[must_use]
    pub fn lists(&self, site: &str) -> Vec<ListState> {
        let now = self.now();
        let shard = self.inner.shards.of(site);
        let day = shard.days.look(site, now);
        let views = shard.guard.site_views(now, site, day);
        let mut lists: Vec<_> = views.map(|view| self.shown(&view)).collect();
        lists.sort_by(|a, b| (b.trouble(), &a.list).cmp(&(a.trouble(), &b.list)));
        lists
    }

    /// One list; none: nothing is remembered of it.
    #[must_use]
    pub fn list(&self, site: &str, list: &str) -> Option<ListState> {
        let now = self.now();
        let shard = self.inner.shards.of(site);
        let day = shard.days.look(site, now);
        let view = shard.guard.view(now, site, list, day)?;
        Some(self.shown(&view))
    }

    /// What happened to a list and its site, newest first, at most `limit`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn history(&self, key: &ListKey, limit: u32) -> Stored<Vec<FloodEntry>> {
        self.inner.store.flood_history(key, None, limit).await
    }

    /// When the site's day ends, and strikes are counted from none.
    #[must_use]
    pub fn day_ends(&self, site: &str) -> Timestamp {
        let now = self.now();
        let day = self.inner.shards.of(site).days.look(site, now);
        self.clock().timestamp(day.ends)
    }

    /// An instant of a list's history, on the wall clock.
    #[must_use]
    pub fn timestamp(&self, at: spillway::Instant) -> Timestamp {
        self.clock().timestamp(at)
    }

    /// What the site's admins were told of a list, newest first, at most `limit`.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn letters(&self, key: &ListKey, limit: u32) -> Stored<Vec<Letter>> {
        let letters = self.inner.store.flood_letters(key, limit).await?;
        Ok(letters.into_iter().map(Letter::from).collect())
    }

    /// What people did to a list and its site, and what disabled it, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn deeds(
        &self,
        key: &ListKey,
        before: Option<i64>,
        limit: u32,
    ) -> Stored<Vec<FloodEntry>> {
        self.inner.store.flood_deeds(key, before, limit).await
    }

    /// A list's strikes by component and day, the oldest day first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn strike_days(&self, key: &ListKey) -> Stored<Vec<StrikeDay>> {
        self.inner.store.strike_days(key).await
    }

    /// The pauses in force of a list and of its site, with who made them.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn pauses(&self, key: &ListKey) -> Stored<Vec<FloodPause>> {
        self.inner.store.flood_pauses_of(key, self.now()).await
    }

    /// The number of the site's day today: days from 1970-01-01 to its date.
    #[must_use]
    pub fn today(&self, site: &str) -> i32 {
        let now = self.now();
        self.inner.shards.of(site).days.look(site, now).number
    }

    pub(super) fn component_state(&self, it: &ComponentView) -> ComponentState {
        let clock = self.clock();
        ComponentState {
            component: it.component,
            policy: it.policy,
            count: it.count,
            strikes: it.strikes,
            stopping: it.stopping,
            disabled_since: it.disabled.map(|disabled| clock.timestamp(disabled.since)),
        }
    }

    fn shown(&self, view: &ListView<'_>) -> ListState {
        let clock = self.clock();
        let components = view.components.iter().map(|it| self.component_state(it));
        ListState {
            site: view.site.to_owned(),
            list: view.list.to_owned(),
            paused_until: view.pause.map(|pause| clock.timestamp(pause.until)),
            site_paused_until: view.site_pause.map(|pause| clock.timestamp(pause.until)),
            components: components.collect(),
        }
    }
}

impl ListState {
    /// How much a person should look at it: disabled, then stopping, then the fullest minute in
    /// thousandths of the threshold.
    fn trouble(&self) -> (bool, bool, u64) {
        let disabled = self.components.iter().any(|it| it.disabled_since.is_some());
        let stopping = self.components.iter().any(|it| it.stopping);
        let full =
            |it: &ComponentState| u64::from(it.count) * 1_000 / u64::from(it.policy.per_minute());
        (
            disabled,
            stopping,
            self.components.iter().map(full).max().unwrap_or(0),
        )
    }
}
