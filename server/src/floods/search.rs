//! Lists by trouble, of all sites: looked for, counted, a page at a time.
//!
//! One look walks all lists, shard after shard, and keeps no more rows than are asked for, so that
//! it takes some thousandths of a second of each shard's lock with 100,000 lists. Who calls it
//! bounds how often.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use spillway::flood::{Component, ComponentView, ListView, Pause};

use super::{ComponentState, Floods, places::Place};

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What the keys or the site's title have in them, in any case; empty: anything.
    pub text: String,
    /// How they are.
    pub wanted: Wanted,
    /// The site's region; empty: any.
    pub region: String,
    /// The site's key; empty: any.
    pub site: String,
    /// Only this component.
    pub component: Option<Component>,
    /// How many rows come before those that are returned.
    pub skip: usize,
    /// The most rows that are returned.
    pub max: usize,
}

/// How lists are that are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// In any state.
    #[default]
    All,
    /// With a strike today, close to one, stopping or disabled.
    Trouble,
    /// Disabled.
    Disabled,
    /// Stopping the running minute's further events.
    Stopping,
    /// Paused, or of a paused site.
    Paused,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Most trouble first, then by name.
    pub rows: Vec<FoundRow>,
    /// How many there are, those skipped and cut off included.
    pub matched: usize,
    /// All lists, whatever is looked for.
    pub totals: Totals,
}

/// A component on a list, or a list that is paused before its first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRow {
    /// The site's key.
    pub site: String,
    /// What people call it; empty: by its key.
    pub title: String,
    /// Where it runs; empty: unknown.
    pub region: String,
    /// The list's key within the site.
    pub list: String,
    /// The component, if events of one were reported.
    pub component: Option<ComponentState>,
    /// When the list's own pause ends, if it is paused.
    pub paused_until: Option<Timestamp>,
    /// When its site's pause ends, if that is paused.
    pub site_paused_until: Option<Timestamp>,
}

/// How many lists are how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All together.
    pub all: Region,
    /// By region, the name empty where it is unknown.
    pub regions: BTreeMap<String, Region>,
}

/// The lists of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Those on which something is remembered.
    pub lists: u64,
    /// The events counted in the running minute.
    pub events: u64,
    /// Components that are disabled.
    pub disabled: u64,
    /// Components whose further events are stopped in the running minute.
    pub stopping: u64,
    /// Lists that are paused, or of a paused site.
    pub paused: u64,
    /// The strikes of today.
    pub strikes: u64,
}

/// How much a person should look at a row: disabled, then stopping, then the fullest minute in
/// thousandths of the threshold, then the day's strikes in thousandths of those that disable.
type Trouble = (bool, bool, u64, u64, bool);

/// Where a row stands: the least first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    trouble: Reverse<Trouble>,
    site: String,
    list: String,
    component: Option<Component>,
}

impl Floods {
    /// How many strikes and acts of people wait to be written.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        self.inner.writer.waiting()
    }

    /// Looks for lists, over all sites. It takes no lock for longer than a shard's share; not to be
    /// called where others wait for the thread.
    #[must_use]
    pub fn search(&self, search: &Search) -> Found {
        let now = self.now();
        let text = search.text.to_lowercase();
        let mut look = Look {
            floods: self,
            search,
            text: &text,
            best: BTreeMap::new(),
            found: Found::default(),
        };
        for shard in self.inner.shards.each() {
            let today = |site: &str| shard.days.look(site, now);
            for view in shard.guard.views(now, today) {
                look.at(&view, shard.places.of(view.site));
            }
        }
        let Look {
            best, mut found, ..
        } = look;
        found.rows = best.into_values().skip(search.skip).collect();
        found
    }
}

/// A look under way.
struct Look<'a> {
    floods: &'a Floods,
    search: &'a Search,
    text: &'a str,
    /// As many as are skipped and returned, at most.
    best: BTreeMap<Rank, FoundRow>,
    found: Found,
}

impl Look<'_> {
    fn at(&mut self, view: &ListView<'_>, place: Option<&Arc<Place>>) {
        let region = place.map_or("", |place| place.region.as_str());
        self.add(view, region);
        if !self.is_meant(view, place, region) {
            return;
        }
        let paused = view.pause.is_some() || view.site_pause.is_some();
        for component in &view.components {
            if self
                .search
                .component
                .is_none_or(|it| it == component.component)
                && self.search.wanted.matches(Some(component), paused)
            {
                self.keep(view, place, Some(component));
            }
        }
        if view.components.is_empty()
            && self.search.component.is_none()
            && self.search.wanted.matches(None, paused)
        {
            self.keep(view, place, None);
        }
    }

    /// Adds a list to the totals.
    fn add(&mut self, view: &ListView<'_>, region: &str) {
        let mut of = Region {
            lists: 1,
            paused: u64::from(view.pause.is_some() || view.site_pause.is_some()),
            ..Region::default()
        };
        for it in &view.components {
            of.events += u64::from(it.count);
            of.disabled += u64::from(it.disabled.is_some());
            of.stopping += u64::from(it.stopping);
            of.strikes += u64::from(it.strikes);
        }
        let totals = &mut self.found.totals;
        totals.all.add(of);
        match totals.regions.get_mut(region) {
            Some(known) => known.add(of),
            None => {
                totals.regions.insert(region.to_owned(), of);
            }
        }
    }

    fn is_meant(&self, view: &ListView<'_>, place: Option<&Arc<Place>>, region: &str) -> bool {
        let Search {
            region: wanted,
            site,
            ..
        } = self.search;
        let title = place.map_or("", |place| place.title.as_str());
        let has = |name: &str| name.to_lowercase().contains(self.text);
        (wanted.is_empty() || wanted == region)
            && (site.is_empty() || site == view.site)
            && (self.text.is_empty() || [view.list, view.site, title].into_iter().any(has))
    }

    /// Keeps a row if it is among those that are asked for.
    fn keep(
        &mut self,
        view: &ListView<'_>,
        place: Option<&Arc<Place>>,
        component: Option<&ComponentView>,
    ) {
        self.found.matched += 1;
        let most = self.search.skip.saturating_add(self.search.max);
        if most == 0 {
            return;
        }
        let paused = view.pause.is_some() || view.site_pause.is_some();
        let trouble = Reverse(trouble(component, paused));
        let worst = self.best.last_key_value();
        // Most rows end here, before anything is copied.
        let is_beyond = |(worst, _): (&Rank, _)| {
            let Rank { site, list, .. } = worst;
            (trouble, view.site, view.list) > (worst.trouble, site.as_str(), list.as_str())
        };
        if self.best.len() >= most && worst.is_some_and(is_beyond) {
            return;
        }
        let rank = Rank {
            trouble,
            site: view.site.to_owned(),
            list: view.list.to_owned(),
            component: component.map(|it| it.component),
        };
        let row = self.row(view, place, component);
        self.best.insert(rank, row);
        if self.best.len() > most {
            self.best.pop_last();
        }
    }

    fn row(
        &self,
        view: &ListView<'_>,
        place: Option<&Arc<Place>>,
        component: Option<&ComponentView>,
    ) -> FoundRow {
        let clock = self.floods.clock();
        let until = |pause: Option<Pause>| pause.map(|pause| clock.timestamp(pause.until));
        FoundRow {
            site: view.site.to_owned(),
            title: place.map(|place| place.title.clone()).unwrap_or_default(),
            region: place.map(|place| place.region.clone()).unwrap_or_default(),
            list: view.list.to_owned(),
            component: component.map(|it| self.floods.component_state(it)),
            paused_until: until(view.pause),
            site_paused_until: until(view.site_pause),
        }
    }
}

impl Wanted {
    fn matches(self, component: Option<&ComponentView>, paused: bool) -> bool {
        match self {
            Self::All => true,
            Self::Paused => paused,
            Self::Disabled => component.is_some_and(|it| it.disabled.is_some()),
            Self::Stopping => component.is_some_and(|it| it.stopping),
            Self::Trouble => component.is_some_and(|it| {
                it.disabled.is_some() || it.stopping || it.strikes > 0 || full(it) >= NEAR_PERMILLE
            }),
        }
    }
}

/// From here on a minute is close to the threshold, per mille: where gauges turn amber.
const NEAR_PERMILLE: u64 = 800;

/// The running minute in thousandths of the threshold.
fn full(it: &ComponentView) -> u64 {
    u64::from(it.count) * 1_000 / u64::from(it.policy.per_minute())
}

fn trouble(component: Option<&ComponentView>, paused: bool) -> Trouble {
    let Some(it) = component else {
        return (false, false, 0, 0, paused);
    };
    let strikes = u64::from(it.strikes) * 1_000 / u64::from(it.policy.strikes_per_day());
    (
        it.disabled.is_some(),
        it.stopping,
        full(it),
        strikes,
        paused,
    )
}

impl Region {
    const fn add(&mut self, more: Self) {
        self.lists += more.lists;
        self.events += more.events;
        self.disabled += more.disabled;
        self.stopping += more.stopping;
        self.paused += more.paused;
        self.strikes += more.strikes;
    }
}
