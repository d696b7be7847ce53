//! The guard: sites, their lists, and the components on these.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{
    LATE_MS_MAX,
    component::State,
    event::{Answer, Component, Decision, Event, ListKey, NotCounted, Trigger},
    pause::{Pause, Pauses},
    policy::Policy,
};
use crate::time::Instant;

/// How a guard is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most lists that are counted at a time. Lists on which nothing is remembered do not count.
    pub lists_max: usize,
    /// Seeds the hashing of names, which others choose. It affects no decision.
    pub seed: u64,
}

/// Counts the events of lists and says which to handle.
#[derive(Clone, Debug)]
pub struct Guard {
    pub(super) sites: HashMap<Box<str>, Site, foldhash::quality::FixedState>,
    seed: u64,
    lists_max: usize,
    /// How many lists there are, over all sites.
    lists: usize,
    policies: [Policy; Component::ALL.len()],
    /// Lists that have a policy of their own.
    overrides: BTreeMap<(ListKey, Component), Policy>,
}

#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) pauses: Pauses,
    pub(super) lists: HashMap<Box<str>, List, foldhash::quality::FixedState>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub(super) pauses: Pauses,
    /// By component; only those that were asked for.
    pub(super) components: SmallVec<[(Component, State); 1]>,
}

impl List {
    pub(super) fn component(&self, component: Component) -> Option<&State> {
        let mut states = self.components.iter();
        states
            .find(|(named, _)| *named == component)
            .map(|(_, state)| state)
    }

    fn component_mut(&mut self, component: Component) -> &mut State {
        let known = self
            .components
            .iter()
            .position(|(named, _)| *named == component);
        let place = known.unwrap_or_else(|| {
            self.components.push((component, State::default()));
            self.components.len() - 1
        });
        &mut self.components[place].1
    }

    /// Forgets what matters no more. True if nothing is left.
    fn forget(&mut self, now: Instant) -> bool {
        self.pauses.forget(now);
        self.components.retain(|(_, state)| {
            state.forget(now);
            !state.is_fresh()
        });
        self.components.is_empty() && self.pauses.is_empty()
    }
}

impl Guard {
    /// One that has counted nothing, with these policies by [`Component::ALL`].
    #[must_use]
    pub fn new(settings: Settings, policies: [Policy; Component::ALL.len()]) -> Self {
        Self {
            sites: HashMap::with_hasher(foldhash::quality::FixedState::with_seed(settings.seed)),
            seed: settings.seed,
            lists_max: settings.lists_max,
            lists: 0,
            policies,
            overrides: BTreeMap::new(),
        }
    }

    /// The policy of a component on all lists without one of their own. It holds from the next event.
    pub fn set_policy(&mut self, component: Component, policy: Policy) {
        self.policies[component.position()] = policy;
    }

    /// A list's own policy; `None`: the component's. It holds from the next event.
    pub fn set_override(&mut self, key: ListKey, component: Component, policy: Option<Policy>) {
        match policy {
            Some(policy) => self.overrides.insert((key, component), policy),
            None => self.overrides.remove(&(key, component)),
        };
    }

    /// No list has a policy of its own for this component.
    pub fn clear_overrides(&mut self, component: Component) {
        self.overrides.retain(|(_, of), _| *of != component);
    }

    /// The policy in force for a component on a list.
    #[must_use]
    pub fn policy(&self, site: &str, list: &str, component: Component) -> Policy {
        let general = self.policies[component.position()];
        if self.overrides.is_empty() {
            return general;
        }
        let own = self.overrides.get(&(ListKey::new(site, list), component));
        own.copied().unwrap_or(general)
    }

    /// What to do with an event, and what it changed. One that claims to happen later than `now`
    /// happens now.
    ///
    /// # Errors
    /// [`NotCounted`]: nothing has changed.
    pub fn ask(&mut self, now: Instant, event: &Event<'_>) -> Result<Answer, NotCounted> {
        let event = &Event {
            at: event.at.min(now),
            ..*event
        };
        if event.trigger != Trigger::Event {
            return Ok(self.uncounted(event, Decision::Handle));
        }
        if now.ms_since(event.at) > LATE_MS_MAX {
            return Err(NotCounted::TooLate);
        }
        if let Some(answer) = self.count(now, event) {
            return Ok(answer);
        }
        if self.is_paused(event) {
            return Ok(self.uncounted(event, Decision::Paused));
        }
        if self.lists >= self.lists_max && self.known(event.site, event.list).is_none() {
            return Err(NotCounted::Full);
        }
        let policy = self.policy(event.site, event.list, event.component);
        let state = self
            .reach(event.site, event.list)
            .component_mut(event.component);
        Ok(state.count(now, event, policy))
    }

    /// The same for nearly all: the list is known, and nothing is paused. Each name is looked up once.
    fn count(&mut self, now: Instant, event: &Event<'_>) -> Option<Answer> {
        let policy = self.policy(event.site, event.list, event.component);
        let site = self.sites.get_mut(event.site)?;
        let list = site.lists.get_mut(event.list)?;
        if site.pauses.covers(event.at) || list.pauses.covers(event.at) {
            return None;
        }
        Some(
            list.component_mut(event.component)
                .count(now, event, policy),
        )
    }

    fn uncounted(&self, event: &Event<'_>, decision: Decision) -> Answer {
        let list = self.known(event.site, event.list);
        let state = list.and_then(|list| list.component(event.component));
        let fresh = State::default();
        state
            .unwrap_or(&fresh)
            .unchanged(decision, event.at, event.day)
    }

    fn is_paused(&self, event: &Event<'_>) -> bool {
        let Some(site) = self.sites.get(event.site) else {
            return false;
        };
        let list = site.lists.get(event.list);
        site.pauses.covers(event.at) || list.is_some_and(|list| list.pauses.covers(event.at))
    }

    /// A person has re-enabled the component on the list: the running minute starts again, the
    /// day's strikes stay. False if it was not disabled.
    pub fn enable(&mut self, now: Instant, key: &ListKey, component: Component) -> bool {
        self.known_mut(&key.site, &key.list)
            .is_some_and(|list| list.component_mut(component).enable(now))
    }

    /// The list's events are neither handled nor counted before `until`. A pause in force gets the
    /// new end.
    ///
    /// # Errors
    /// [`NotCounted::Full`]: the list is new, and as many are being counted as may be.
    pub fn pause_list(
        &mut self,
        now: Instant,
        key: &ListKey,
        until: Instant,
    ) -> Result<(), NotCounted> {
        if self.lists >= self.lists_max && self.known(&key.site, &key.list).is_none() {
            return Err(NotCounted::Full);
        }
        self.list(key).pauses.pause(now, until);
        Ok(())
    }

    /// Ends a list's pause; its site's goes on. False if there was none.
    pub fn resume_list(&mut self, now: Instant, key: &ListKey) -> bool {
        self.known_mut(&key.site, &key.list)
            .is_some_and(|list| list.pauses.resume(now))
    }

    /// The same for all lists of a site, those that are not known yet included.
    pub fn pause_site(&mut self, now: Instant, site: &str, until: Instant) {
        self.site(site).pauses.pause(now, until);
    }

    /// Ends a site's pause; those of its lists go on. False if there was none.
    pub fn resume_site(&mut self, now: Instant, site: &str) -> bool {
        self.sites
            .get_mut(site)
            .is_some_and(|site| site.pauses.resume(now))
    }

    /// The pauses in force of a list and of its site.
    #[must_use]
    pub fn pauses(&self, now: Instant, key: &ListKey) -> (Option<Pause>, Option<Pause>) {
        let Some(site) = self.sites.get(key.site.as_str()) else {
            return (None, None);
        };
        let list = site.lists.get(key.list.as_str());
        let of_list = list.and_then(|list| list.pauses.in_force(now));
        (of_list, site.pauses.in_force(now))
    }

    /// Forgets lists on which nothing is left to remember. To be called each minute or so.
    pub fn forget(&mut self, now: Instant) {
        let mut left = 0;
        self.sites.retain(|_, site| {
            site.pauses.forget(now);
            site.lists.retain(|_, list| !list.forget(now));
            left += site.lists.len();
            !(site.lists.is_empty() && site.pauses.is_empty())
        });
        self.lists = left;
    }

    /// How many lists are counted.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.lists
    }

    /// Whether none is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.lists == 0
    }

    fn known(&self, site: &str, list: &str) -> Option<&List> {
        self.sites.get(site)?.lists.get(list)
    }

    fn known_mut(&mut self, site: &str, list: &str) -> Option<&mut List> {
        self.sites.get_mut(site)?.lists.get_mut(list)
    }

    pub(super) fn site(&mut self, site: &str) -> &mut Site {
        let seed = self.seed;
        self.sites.entry_ref(site).or_insert_with(|| Site {
            pauses: Pauses::default(),
            lists: HashMap::with_hasher(foldhash::quality::FixedState::with_seed(seed)),
        })
    }

    pub(super) fn list(&mut self, key: &ListKey) -> &mut List {
        self.reach(&key.site, &key.list)
    }

    fn reach(&mut self, site: &str, list: &str) -> &mut List {
        if self.known(site, list).is_none() {
            self.lists += 1;
        }
        self.site(site).lists.entry_ref(list).or_default()
    }

    pub(super) fn state(&mut self, key: &ListKey, component: Component) -> &mut State {
        self.list(key).component_mut(component)
    }

    pub(super) fn states_mut(
        &mut self,
    ) -> impl Iterator<Item = (&str, &str, Component, &mut State)> {
        self.sites.iter_mut().flat_map(|(site, of)| {
            of.lists.iter_mut().flat_map(move |(list, of)| {
                let components = of.components.iter_mut();
                components.map(move |(component, state)| (&**site, &**list, *component, state))
            })
        })
    }
}
