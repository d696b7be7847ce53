//! What sites are called and where they run, kept beside their lists, so that a look at all lists
//! asks no database.

use std::{collections::HashMap, sync::Arc};

use super::Site;

/// The sites of a shard that a platform has told of.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<String, Arc<Place>>);

/// A site's title and region; empty: it has none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) title: String,
    pub(super) region: String,
}

impl Places {
    /// The site is as told from now on.
    pub(super) fn set(&mut self, site: &Site) {
        let place = Place {
            title: site.title.clone(),
            region: site.region.clone(),
        };
        self.0.insert(site.site.clone(), Arc::new(place));
    }

    pub(super) fn of(&self, site: &str) -> Option<&Arc<Place>> {
        self.0.get(site)
    }
}
