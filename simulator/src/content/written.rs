//! What users wrote since the start, in memory and within bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::library::{Notebook, Page, Section};

/// The most things and edits of all users together.
const ITEMS_MAX: usize = 20_000;
/// The most bytes of text of all users together: 64 MiB.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// All users' writings.
#[derive(Debug, Default)]
pub(crate) struct Written {
    users: BTreeMap<String, Arc<Notes>>,
    items: usize,
    bytes: usize,
}

/// One user's writings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) notebooks: Vec<Notebook>,
    pub(crate) sections: Vec<Section>,
    /// The oldest first.
    pub(crate) pages: Vec<Page>,
    edits: BTreeMap<String, Vec<Edit>>,
    deleted: BTreeSet<String>,
}

/// Something written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Notebook(Notebook),
    Section(Section),
    Page(Page),
    /// Changes of one page, by its id, which are made together.
    Edits(String, Vec<Edit>),
    /// A page is gone, by its id.
    Deleted(String),
}

/// One change of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) change: Change,
    /// When, in seconds since 1970.
    pub(crate) at_s: i64,
}

/// What is changed, to which text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Title(String),
    /// HTML at the beginning of its body.
    First(String),
    /// HTML at the end of its body.
    Last(String),
}

/// There is no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Written {
    /// What this user wrote.
    pub(crate) fn of(&self, user: &str) -> Arc<Notes> {
        self.users.get(user).cloned().unwrap_or_default()
    }

    /// How many entries there are: a new one is told apart from all others by that number.
    pub(crate) fn number(&self) -> usize {
        self.items
    }

    /// Keeps one more entry of this user.
    pub(crate) fn add(&mut self, user: &str, entry: Entry) -> Result<(), Full> {
        let (items, bytes) = (self.items + entry.items(), self.bytes + entry.bytes());
        if items > ITEMS_MAX || bytes > BYTES_MAX {
            return Err(Full);
        }
        (self.items, self.bytes) = (items, bytes);
        let notes = self.users.entry(user.to_owned()).or_default();
        Arc::make_mut(notes).add(entry);
        Ok(())
    }
}

impl Notes {
    /// The pages of a section, the newest first: these and the written ones, with what was changed
    /// in them.
    pub(crate) fn applied(
        &self,
        invented: impl Iterator<Item = Page>,
        section: &Section,
    ) -> Vec<Page> {
        let written = self.pages.iter().rev();
        let written = written
            .filter(|page| page.section_id == section.id)
            .cloned();
        let kept = written
            .chain(invented)
            .filter(|page| !self.deleted.contains(&page.id));
        kept.map(|page| self.edited(page)).collect()
    }

    fn edited(&self, mut page: Page) -> Page {
        for edit in self.edits.get(&page.id).into_iter().flatten() {
            page.modified_s = page.modified_s.max(edit.at_s);
            match &edit.change {
                Change::Title(title) => title.clone_into(&mut page.title),
                Change::First(html) => page.text.first.insert_str(0, html),
                Change::Last(html) => page.text.last.push_str(html),
            }
        }
        page
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Notebook(notebook) => self.notebooks.push(notebook),
            Entry::Section(section) => self.sections.push(section),
            Entry::Page(page) => self.pages.push(page),
            Entry::Edits(page, edits) => self.edits.entry(page).or_default().extend(edits),
            Entry::Deleted(page) => {
                self.deleted.insert(page);
            }
        }
    }
}

impl Entry {
    fn items(&self) -> usize {
        match self {
            Self::Edits(_, edits) => edits.len(),
            _ => 1,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Page(page) => page.text.body.as_ref().map_or(0, |body| body.len()),
            Self::Edits(_, edits) => edits.iter().map(|edit| edit.change.text().len()).sum(),
            _ => 0,
        }
    }
}

impl Change {
    fn text(&self) -> &str {
        match self {
            Self::Title(text) | Self::First(text) | Self::Last(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::library::Library;

    fn last(html: &str) -> Edit {
        Edit {
            change: Change::Last(html.to_owned()),
            at_s: i64::MAX,
        }
    }

    #[test]
    fn edits_show_in_order_and_only_to_their_user() {
        let mut written = Written::default();
        let library = Library::new(7, "u1", (3, 3));
        let page = library.pages().remove(0);
        for html in ["<p>a</p>", "<p>b</p>"] {
            let edits = Entry::Edits(page.id.clone(), vec![last(html)]);
            written.add("u1", edits).unwrap();
        }
        let seen = library.with(written.of("u1")).pages();
        let edited = seen.iter().find(|seen| seen.id == page.id).unwrap();
        assert_eq!(edited.text.last, "<p>a</p><p>b</p>");
        assert_eq!(seen.iter().filter(|p| !p.text.last.is_empty()).count(), 1);
        let other = Library::new(7, "u2", (3, 3)).with(written.of("u2")).pages();
        assert!(other.iter().all(|page| page.text.last.is_empty()));
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut written = Written::default();
        let text = "x".repeat(BYTES_MAX / 2);
        let edits = |text: &str| Entry::Edits("1-p".to_owned(), vec![last(text)]);
        assert_eq!(written.add("u1", edits(&text)), Ok(()));
        assert_eq!(written.add("u2", edits(&text)), Ok(()));
        assert_eq!(written.add("u1", edits("x")), Err(Full));
        for _ in written.number()..ITEMS_MAX {
            assert_eq!(written.add("u1", edits("")), Ok(()));
        }
        assert_eq!(written.add("u1", edits("")), Err(Full));
    }
}
