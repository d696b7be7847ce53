//! How a notebook is divided: sections, and groups of them within groups.

use std::ops::Range;

use super::random::Random;

/// Pages of a notebook, at most.
pub const PAGES_MAX: u32 = 5_000;

/// Levels of groups within groups; OneNote's users go as deep (see the cases of nested groups).
const DEPTH_MAX: u32 = 4;

/// A notebook, as its table of contents shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Notebook {
    pub name: String,
    pub sections: Vec<Section>,
    pub groups: Vec<Group>,
}

/// Sections that are put together, and groups of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Group {
    pub name: String,
    pub sections: Vec<Section>,
    pub groups: Vec<Group>,
}

/// A section with its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    #[allow(missing_docs, reason = "said by its name")]
    pub name: String,
    /// Their numbers, by which [`page`](super::page) makes them.
    pub pages: Range<u32>,
}

/// A notebook of so many pages, at most 5,000. Each is in one section.
pub fn notebook(seed: u64, pages: u32) -> Notebook {
    let pages = pages.min(PAGES_MAX);
    let mut maker = Maker {
        random: Random::new(seed, u64::MAX),
        next: 0,
        pages,
        named: 0,
    };
    let (sections, mut groups) = maker.level(0);
    // What is left is in a last group, so that none is lost.
    if maker.next < pages {
        let mut sections = Vec::new();
        while maker.next < pages {
            sections.push(maker.section());
        }
        groups.push(Group {
            name: maker.name("More"),
            sections,
            groups: Vec::new(),
        });
    }
    Notebook {
        name: format!("Notebook {seed}"),
        sections,
        groups,
    }
}

struct Maker {
    random: Random,
    next: u32,
    pages: u32,
    named: u32,
}

impl Maker {
    fn level(&mut self, depth: u32) -> (Vec<Section>, Vec<Group>) {
        let mut sections = Vec::new();
        for _ in 0..self.random.between(1, 4) {
            if self.next < self.pages {
                sections.push(self.section());
            }
        }
        let mut groups = Vec::new();
        // The first goes as deep as groups may, so that every notebook of some size has one that does.
        let count = if depth >= DEPTH_MAX {
            0
        } else {
            self.random.between(1, 2)
        };
        for _ in 0..count {
            if self.next < self.pages {
                let name = self.name("Group");
                let (sections, inner) = self.level(depth + 1);
                groups.push(Group {
                    name,
                    sections,
                    groups: inner,
                });
            }
        }
        (sections, groups)
    }

    fn section(&mut self) -> Section {
        let most = u64::from(self.pages / 12).clamp(1, 400);
        let count = self.random.between(1, most);
        let end = self
            .next
            .saturating_add(u32::try_from(count).unwrap_or(1))
            .min(self.pages);
        let pages = self.next..end;
        self.next = end;
        Section {
            name: self.name("Section"),
            pages,
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.named += 1;
        format!("{kind} {}", self.named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(sections: &[Section], groups: &[Group], out: &mut Vec<u32>) -> usize {
        out.extend(sections.iter().flat_map(|section| section.pages.clone()));
        let depths = groups
            .iter()
            .map(|group| 1 + pages(&group.sections, &group.groups, out));
        depths.max().unwrap_or(0)
    }

    #[test]
    fn every_page_is_in_one_section() {
        for (seed, count) in [(0, 0), (1, 1), (2, 30), (3, 1_300), (4, 5_000), (5, 9_999)] {
            let notebook = notebook(seed, count);
            let mut found = Vec::new();
            let depth = pages(&notebook.sections, &notebook.groups, &mut found);
            found.sort_unstable();
            assert!(
                found.iter().copied().eq(0..count.min(PAGES_MAX)),
                "seed {seed}"
            );
            assert!(count < 100 || depth >= 4, "seed {seed}: {depth}");
            assert_eq!(notebook, super::notebook(seed, count));
        }
    }
}
