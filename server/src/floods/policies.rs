//! Flood policies as people write them: a component's, and those of lists that have their own.
//!
//! They are versioned, audited and rolled back as limits are, in the same table, under the
//! upstream [`PLACE`], which no configured upstream can be called.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use spillway::flood::{Component, ListKey, Policy, PolicyError};
use utoipa::ToSchema;

use super::{Floods, Stored};
use crate::{
    audit::{By, action},
    store::{self, NewPolicy, PolicyPlace, StoredPolicy},
};

/// What stands in for an upstream's name: one cannot begin so.
const PLACE: &str = "_floods";

/// The most lists with a policy of their own, for each component.
const LISTS_MAX: usize = 1_000;

/// The longest key of a site or a list, in bytes, as where events are reported.
const KEY_BYTES_MAX: usize = 256;

/// A component's policy, and the lists that have another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FloodPolicy)]
pub struct FloodDocument {
    /// The event of a minute that is a strike, still handled.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub per_minute: u32,
    /// The strike of a day that disables.
    #[schema(minimum = 1, maximum = 1_500)]
    pub strikes_per_day: u32,
    /// How many of a day's first strikes stop nothing.
    #[schema(maximum = 1_500)]
    pub grace: u32,
    /// Lists with a policy of their own, each at most once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 1_000)]
    pub lists: Vec<ListDocument>,
}

/// A list's own policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ListFloodPolicy)]
pub struct ListDocument {
    /// The site's key.
    #[schema(min_length = 1, max_length = 256)]
    pub site: String,
    /// The list's key within the site.
    #[schema(min_length = 1, max_length = 256)]
    pub list: String,
    /// As the component's.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub per_minute: u32,
    /// As the component's.
    #[schema(minimum = 1, maximum = 1_500)]
    pub strikes_per_day: u32,
    /// As the component's.
    #[schema(maximum = 1_500)]
    pub grace: u32,
}

/// Policies that are legal.
#[derive(Debug)]
pub struct Checked {
    general: Policy,
    own: Vec<(ListKey, Policy)>,
}

impl Checked {
    /// The threshold of lists without a policy of their own.
    pub(super) const fn per_minute(&self) -> u32 {
        self.general.per_minute()
    }

    /// Which policy a list has.
    pub(super) fn of_lists(&self) -> impl Fn(&ListKey) -> Policy {
        let own: HashMap<_, _> = self
            .own
            .iter()
            .map(|(key, policy)| (key, *policy))
            .collect();
        move |key| own.get(key).copied().unwrap_or(self.general)
    }
}

impl FloodDocument {
    /// Whether it can be in force.
    ///
    /// # Errors
    /// What is wrong, with its place.
    pub fn check(&self) -> Result<Checked, String> {
        let general = Policy::new(self.per_minute, self.strikes_per_day, self.grace);
        let general = general.map_err(|error| error.to_string())?;
        if self.lists.len() > LISTS_MAX {
            return Err(format!(
                "lists: at most {LISTS_MAX} lists may have their own policy"
            ));
        }
        let mut seen = BTreeSet::new();
        let mut own = Vec::with_capacity(self.lists.len());
        for (n, list) in self.lists.iter().enumerate() {
            if !is_key(&list.site) || !is_key(&list.list) {
                return Err(format!(
                    "lists[{n}]: site and list must have 1 to {KEY_BYTES_MAX} bytes without control characters"
                ));
            }
            let key = ListKey::new(&list.site, &list.list);
            if !seen.insert(key.clone()) {
                return Err(format!(
                    "lists[{n}]: this list has a policy further up already"
                ));
            }
            let policy = list
                .policy()
                .map_err(|error| format!("lists[{n}].{error}"))?;
            own.push((key, policy));
        }
        Ok(Checked { general, own })
    }
}

fn is_key(text: &str) -> bool {
    (1..=KEY_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

impl From<Policy> for FloodDocument {
    fn from(policy: Policy) -> Self {
        Self {
            per_minute: policy.per_minute(),
            strikes_per_day: policy.strikes_per_day(),
            grace: policy.grace(),
            lists: Vec::new(),
        }
    }
}

impl ListDocument {
    fn policy(&self) -> Result<Policy, PolicyError> {
        Policy::new(self.per_minute, self.strikes_per_day, self.grace)
    }
}

/// Which version a change follows, who makes it, and when.
#[derive(Clone, Copy, Debug)]
pub struct FloodEdit<'a> {
    /// The version that was looked at.
    pub base: i64,
    /// Who, and why.
    pub by: &'a By,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// Whether an old version's is put in force again.
    pub back: bool,
}

fn place(component: Component) -> PolicyPlace<'static> {
    PolicyPlace {
        upstream: PLACE,
        workload: component.name(),
    }
}

impl Floods {
    /// The newest version of a component's policy.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy(&self, component: Component) -> Stored<StoredPolicy> {
        let newest = self.inner.store.policy(place(component)).await?;
        // Each is seeded at the start.
        newest.ok_or_else(|| store::Error::NoPolicy(format!("{PLACE}/{component}")))
    }

    /// Versions of it before `before`, or all, newest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy_versions(
        &self,
        component: Component,
        before: Option<i64>,
        limit: u32,
    ) -> Stored<Vec<StoredPolicy>> {
        let store = &self.inner.store;
        store.policy_versions(place(component), before, limit).await
    }

    /// One version of it; none: there is no such.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn policy_version(
        &self,
        component: Component,
        version: i64,
    ) -> Stored<Option<StoredPolicy>> {
        let before = Some(version.saturating_add(1));
        let newest = self.policy_versions(component, before, 1).await?;
        Ok(newest.into_iter().find(|it| it.version == version))
    }

    /// Puts a policy in force, from the next event on.
    ///
    /// # Errors
    /// Somebody was first, or the database cannot be written.
    pub async fn change_policy(
        &self,
        component: Component,
        document: &FloodDocument,
        checked: &Checked,
        edit: FloodEdit<'_>,
    ) -> Stored<StoredPolicy> {
        let text = serde_json::json!(document).to_string();
        let new = NewPolicy {
            place: place(component),
            base: edit.base,
            document: &text,
            action: if edit.back {
                action::POLICY_ROLLBACK
            } else {
                action::POLICY_CHANGE
            },
        };
        let stored = self
            .inner
            .store
            .change_policies(&[new], edit.by, edit.at_ms)
            .await?;
        self.put_in_force(component, checked);
        stored
            .into_iter()
            .next()
            .ok_or_else(|| store::Error::NoPolicy(format!("{PLACE}/{component}")))
    }

    fn put_in_force(&self, component: Component, checked: &Checked) {
        for mut shard in self.inner.shards.each() {
            shard.guard.set_policy(component, checked.general);
            shard.guard.clear_overrides(component);
        }
        for (key, policy) in &checked.own {
            let mut shard = self.inner.shards.of(&key.site);
            shard
                .guard
                .set_override(key.clone(), component, Some(*policy));
        }
    }

    /// Takes up the newest versions, and makes the first where there is none.
    pub(super) async fn load_policies(&self, at_ms: i64) -> Result<(), super::OpenError> {
        let first = serde_json::json!(FloodDocument::from(Policy::default())).to_string();
        for component in Component::ALL {
            let stored = self
                .inner
                .store
                .seed_policy(place(component), &first, at_ms)
                .await?;
            let document: Result<FloodDocument, _> = serde_json::from_str(&stored.document);
            let checked = document.map_err(|error| error.to_string());
            let checked = checked.and_then(|document| document.check());
            let checked =
                checked.map_err(|problem| super::OpenError::Policy { component, problem })?;
            self.put_in_force(component, &checked);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(per_minute: u32, lists: &[(&str, &str, u32)]) -> FloodDocument {
        let list = |(site, list, per_minute): &(&str, &str, u32)| ListDocument {
            site: (*site).to_owned(),
            list: (*list).to_owned(),
            per_minute: *per_minute,
            strikes_per_day: 20,
            grace: 3,
        };
        FloodDocument {
            per_minute,
            strikes_per_day: 20,
            grace: 3,
            lists: lists.iter().map(list).collect(),
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert!(
            document(100, &[("s", "l", 5), ("s", "m", 5)])
                .check()
                .is_ok()
        );
        for (document, says) in [
            (document(0, &[]), "per_minute is 0"),
            (document(1, &[("s", "l", 0)]), "lists[0].per_minute is 0"),
            (
                document(1, &[("s", "l", 1), ("s", "l", 2)]),
                "lists[1]: this list",
            ),
            (document(1, &[("", "l", 1)]), "lists[0]: site and list"),
        ] {
            let problem = document.check().unwrap_err();
            assert!(problem.starts_with(says), "{problem}");
        }
    }
}
