//! What people see of lists.

use smallvec::SmallVec;

use super::{
    event::{Component, Day},
    guard::{Guard, List, Site},
    pause::Pause,
    policy::Policy,
    record::Disabled,
};
use crate::time::Instant;

/// A list, as it is at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListView<'a> {
    /// The site's key.
    pub site: &'a str,
    /// The list's key within the site.
    pub list: &'a str,
    /// Its own pause in force.
    pub pause: Option<Pause>,
    /// Its site's.
    pub site_pause: Option<Pause>,
    /// Its components, those that were asked for.
    pub components: SmallVec<[ComponentView; 1]>,
}

/// A component on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentView {
    /// Which.
    pub component: Component,
    /// What it endures.
    pub policy: Policy,
    /// The events counted in the running minute.
    pub count: u32,
    /// The strikes of today.
    pub strikes: u32,
    /// Whether the running minute's further events are stopped.
    pub stopping: bool,
    /// Whether it is disabled, and since when.
    pub disabled: Option<Disabled>,
}

impl Guard {
    /// Every list on which something is remembered, in no order. `today` tells the day of a site.
    pub fn views(
        &self,
        now: Instant,
        today: impl Fn(&str) -> Day,
    ) -> impl Iterator<Item = ListView<'_>> {
        self.sites.iter().flat_map(move |(name, site)| {
            let day = today(name);
            let lists = site.lists.iter();
            lists.map(move |(list, of)| self.list_view(now, day, (name, site), (list, of)))
        })
    }

    /// The lists of one site on which something is remembered, in no order.
    pub fn site_views(
        &self,
        now: Instant,
        site: &str,
        today: Day,
    ) -> impl Iterator<Item = ListView<'_>> {
        let known = self.sites.get_key_value(site).into_iter();
        known.flat_map(move |(name, site)| {
            let lists = site.lists.iter();
            lists.map(move |(list, of)| self.list_view(now, today, (name, site), (list, of)))
        })
    }

    /// One list, if something is remembered of it.
    #[must_use]
    pub fn view(&self, now: Instant, site: &str, list: &str, today: Day) -> Option<ListView<'_>> {
        let (name, site) = self.sites.get_key_value(site)?;
        let (list, of) = site.lists.get_key_value(list)?;
        Some(self.list_view(now, today, (name, site), (list, of)))
    }

    fn list_view<'a>(
        &self,
        now: Instant,
        today: Day,
        (site, of_site): (&'a str, &Site),
        (list, of): (&'a str, &List),
    ) -> ListView<'a> {
        let components = of.components.iter().map(|(component, state)| {
            let policy = self.policy(site, list, *component);
            let minute = state.minutes.at(now);
            ComponentView {
                component: *component,
                policy,
                count: minute.map_or(0, |minute| minute.count),
                strikes: state.strikes.of(today),
                stopping: minute.is_some_and(|minute| {
                    u32::from(minute.strike) > policy.grace() && minute.count >= policy.per_minute()
                }),
                disabled: state.disabled,
            }
        });
        ListView {
            site,
            list,
            pause: of.pauses.in_force(now),
            site_pause: of_site.pauses.in_force(now),
            components: components.collect(),
        }
    }
}
