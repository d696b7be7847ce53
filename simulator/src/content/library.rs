//! A user's notebooks, section groups, sections and pages: what is invented for everyone, and what
//! was written since.
//!
//! The invented shape is the same for everyone but for the number of notebooks (two or three) and the
//! pages in a section: two sections in every notebook, and in the first one a chain of section
//! groups four deep, with a section at the top and one at the bottom. Ids look like OneNote's,
//! exclamation mark included.

use std::sync::Arc;

use super::words;
use super::written::Notes;
use crate::random::{between, hash};

/// How deep section groups nest.
const GROUP_DEPTH: usize = 4;
/// 1 January 2024, when the oldest page was written.
const EPOCH_S: i64 = 1_704_067_200;

/// Everything one user has.
#[derive(Debug)]
pub(crate) struct Library {
    seed: u64,
    user: String,
    pub(crate) notebooks: Vec<Notebook>,
    pub(crate) groups: Vec<Group>,
    pub(crate) sections: Vec<Section>,
    notes: Arc<Notes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notebook {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) is_default: bool,
}

/// What a section or a section group lies in, by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) notebook: String,
    /// None directly in the notebook.
    pub(crate) group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) place: Place,
    /// How many pages are invented in it.
    pub(crate) pages: u32,
    pub(crate) index: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) section_id: String,
    pub(crate) section_name: String,
    /// Its place in the section, from 0.
    pub(crate) order: u32,
    /// How far it is indented: 0 or 1.
    pub(crate) level: u32,
    /// Seconds since 1970.
    pub(crate) created_s: i64,
    /// Seconds since 1970; no two invented pages of a user share it.
    pub(crate) modified_s: i64,
    /// What its text and its resources are drawn from.
    pub(crate) seed: u64,
    /// What was written into it.
    pub(crate) text: Text,
}

/// What was written into a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// Its body in place of an invented one.
    pub(crate) body: Option<Arc<str>>,
    /// Before the body.
    pub(crate) first: String,
    /// Behind the body.
    pub(crate) last: String,
}

impl Library {
    /// What this user has, with a number of pages per section from the range, both included.
    pub(crate) fn new(seed: u64, user: &str, pages_per_section: (u32, u32)) -> Self {
        let mut library = Self {
            seed,
            user: user.to_owned(),
            notebooks: Vec::new(),
            groups: Vec::new(),
            sections: Vec::new(),
            notes: Arc::default(),
        };
        for index in 0..between(library.hash(&["notebooks"]), 2, 3) {
            library.add_notebook(index as usize, pages_per_section);
        }
        library
    }

    /// The same with what was written since.
    pub(crate) fn with(mut self, notes: Arc<Notes>) -> Self {
        self.notebooks.extend_from_slice(&notes.notebooks);
        self.sections.extend_from_slice(&notes.sections);
        self.notes = notes;
        self
    }

    /// The pages of a section, the newest first, as OneNote lists them.
    pub(crate) fn pages_of(&self, section: &Section) -> Vec<Page> {
        let invented = (0..section.pages)
            .rev()
            .map(|order| self.page(section, order));
        self.notes.applied(invented, section)
    }

    /// The place of the next page in a section.
    pub(crate) fn next_order(&self, section: &Section) -> u32 {
        let mut newest_first = self.notes.pages.iter().rev();
        let last = newest_first.find(|page| page.section_id == section.id);
        last.map_or(section.pages, |page| page.order.saturating_add(1))
    }

    /// All pages, the newest first.
    pub(crate) fn pages(&self) -> Vec<Page> {
        let pages = self
            .sections
            .iter()
            .flat_map(|section| self.pages_of(section));
        let mut pages: Vec<Page> = pages.collect();
        pages.sort_by_key(|page| std::cmp::Reverse(page.modified_s));
        pages
    }

    /// The resource with this id, of whatever page.
    pub(crate) fn resource(&self, id: &str) -> Option<Resource> {
        let resources = self.pages().into_iter().flat_map(|page| page.resources());
        resources.into_iter().find(|resource| resource.id == id)
    }

    fn add_notebook(&mut self, index: usize, pages: (u32, u32)) {
        let name = words::NOTEBOOKS
            .get(index)
            .copied()
            .unwrap_or("More")
            .to_owned();
        let id = self.id("notebook", &name);
        let place = Place {
            notebook: id.clone(),
            group: None,
        };
        self.notebooks.push(Notebook {
            id,
            name,
            is_default: index == 0,
        });
        self.add_section(&place, pages);
        self.add_section(&place, pages);
        if index == 0 {
            self.add_group_chain(place, pages);
        }
    }

    fn add_group_chain(&mut self, mut place: Place, pages: (u32, u32)) {
        for depth in 1..=GROUP_DEPTH {
            let name = format!("Archive {depth}");
            let id = self.id("group", &name);
            self.groups.push(Group {
                id: id.clone(),
                name,
                place: place.clone(),
            });
            place.group = Some(id);
            if depth == 1 || depth == GROUP_DEPTH {
                self.add_section(&place, pages);
            }
        }
    }

    fn add_section(&mut self, place: &Place, (fewest, most): (u32, u32)) {
        let index = self.sections.len() as u32;
        let name = words::SECTIONS
            .get(index as usize)
            .copied()
            .unwrap_or("Notes");
        let random = self.hash(&["pages in", name]);
        self.sections.push(Section {
            id: self.id("section", name),
            name: name.to_owned(),
            place: place.clone(),
            pages: between(random, u64::from(fewest), u64::from(most)) as u32,
            index,
        });
    }

    fn page(&self, section: &Section, order: u32) -> Page {
        let number = order.to_string();
        let seed = self.hash(&["page", &section.id, &number]);
        // Hours apart within a section and seconds apart between sections.
        let created_s = EPOCH_S + i64::from(order) * 3600 + i64::from(section.index);
        let section_part = section.id.trim_start_matches("1-");
        Page {
            id: format!("{}!1-{section_part}", self.id(&section.id, &number)),
            title: words::title(seed, order + 1),
            section_id: section.id.clone(),
            section_name: section.name.clone(),
            order,
            level: u32::from(order % 5 == 4),
            created_s,
            modified_s: created_s + 60 * i64::from(order % 7),
            seed,
            text: Text::default(),
        }
    }

    /// The id of a thing of this user that is told apart by `name`.
    pub(crate) fn id(&self, kind: &str, name: &str) -> String {
        let halves = ["a", "b"].map(|half| self.hash(&[kind, name, half]));
        format!("1-{:016x}{:016x}", halves[0], halves[1])
    }

    fn hash(&self, parts: &[&str]) -> u64 {
        hash(hash(self.seed, &[&self.user]), parts)
    }
}

/// A file that a page shows or carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) kind: ResourceKind,
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    Image,
    Attachment,
}

impl Page {
    /// Every third page has an image, every ninth of these a second, every seventh a file.
    /// A page that was written has none.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        if self.text.body.is_some() {
            return Vec::new();
        }
        let images =
            usize::from(self.order.is_multiple_of(3)) + usize::from(self.order.is_multiple_of(27));
        let files = usize::from(self.order.is_multiple_of(7));
        let kinds = [
            (ResourceKind::Image, images),
            (ResourceKind::Attachment, files),
        ];
        let kinds = kinds
            .into_iter()
            .flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
        kinds
            .enumerate()
            .map(|(n, kind)| self.nth_resource(n, kind))
            .collect()
    }

    fn nth_resource(&self, n: usize, kind: ResourceKind) -> Resource {
        let seed = hash(self.seed, &["resource", &n.to_string()]);
        let section_part = self.section_id.trim_start_matches("1-");
        Resource {
            id: format!("1-{seed:016x}!1-{section_part}"),
            kind,
            seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn library(user: &str) -> Library {
        Library::new(7, user, (32, 48))
    }

    #[test]
    fn is_the_same_each_time_and_another_for_each_user() {
        let (once, again) = (library("u1"), library("u1"));
        assert_eq!(once.notebooks, again.notebooks);
        assert_eq!(once.pages(), again.pages());
        assert_ne!(once.notebooks[0].id, library("u2").notebooks[0].id);
    }

    #[test]
    fn no_id_is_used_twice() {
        let library = library("u1");
        let pages = library.pages();
        let resources: Vec<Resource> = pages.iter().flat_map(Page::resources).collect();
        let ids = (library.notebooks.iter().map(|n| &n.id))
            .chain(library.groups.iter().map(|g| &g.id))
            .chain(library.sections.iter().map(|s| &s.id))
            .chain(pages.iter().map(|p| &p.id))
            .chain(resources.iter().map(|r| &r.id));
        let all: Vec<_> = ids.collect();
        let different: BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert!(pages.len() >= 6 * 32, "{}", pages.len());
    }

    #[test]
    fn groups_nest_four_deep_with_a_section_at_the_bottom() {
        let library = library("u1");
        let parent = |id: &str| {
            let group = library.groups.iter().find(|group| group.id == id);
            group.and_then(|group| group.place.group.clone())
        };
        let depth = |section: &Section| {
            std::iter::successors(section.place.group.clone(), |id| parent(id)).count()
        };
        assert_eq!(library.sections.iter().map(depth).max(), Some(4));
    }

    #[test]
    fn pages_come_newest_first_and_resources_are_found() {
        let library = library("u1");
        let pages = library.pages();
        assert!(pages.windows(2).all(|w| w[0].modified_s > w[1].modified_s));
        let page = pages.iter().find(|page| page.order == 0).unwrap();
        assert_eq!(page.resources().len(), 3);
        for resource in page.resources() {
            assert_eq!(library.resource(&resource.id), Some(resource));
        }
        assert_eq!(library.resource("1-0"), None);
    }
}
