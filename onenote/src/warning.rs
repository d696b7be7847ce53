//! What is not as it was, on a page's record.

use serde::Serialize;

/// As many warnings one by one; of more only the number is kept.
pub const WARNINGS_MAX: usize = 200;

/// Characters of what and where, at most.
const EXCERPT_CHARS_MAX: usize = 120;

/// What kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Handwriting, of which OneNote sends no picture.
    Handwriting,
    /// An element that OneNote or Notion does not support.
    Unsupported,
    /// A picture or file whose address is not a resource of the upstream: it is a link now.
    ForeignResource,
    /// A picture, file or video without an address.
    NoAddress,
    /// A link that does not lead to the web: its address is text now.
    LinkScheme,
    /// A link that is longer than Notion takes: its address is text now.
    LinkLength,
    /// A formula that is longer than Notion takes: it is text now.
    FormulaLength,
    /// What a cell cannot hold stands below its table.
    BelowTable,
    /// A table of more columns than Notion takes: it is several now.
    WideTable,
    /// Merged cells, which Notion's tables do not have.
    MergedCells,
    /// Elements that are nested too deep: they are beside each other now.
    Nesting,
    /// A heading of a level that Notion does not have.
    HeadingLevel,
    /// Raised or lowered text, which Notion does not have.
    Script,
    /// Fonts and sizes of text.
    Typography,
    /// Text with a colour and another behind it, of which Notion has one.
    TwoColours,
    /// Sizes of pictures.
    PictureSize,
    /// Machine-made descriptions of pictures.
    Description,
}

impl Kind {
    /// Whether it is about looks alone, so that no word and no picture is missing.
    pub fn is_looks(self) -> bool {
        matches!(
            self,
            Self::HeadingLevel
                | Self::Script
                | Self::Typography
                | Self::TwoColours
                | Self::PictureSize
                | Self::Description
        )
    }
}

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    #[allow(missing_docs, reason = "said by its type")]
    pub kind: Kind,
    /// Which one: an address, a tag. Hostile text, at most 120 characters, without controls.
    pub what: String,
    /// The text that stands before it, of the same kind.
    pub after: String,
}

/// The warnings of a page. Of those on looks the first of each kind is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Warnings {
    /// In the order of the page.
    pub list: Vec<Warning>,
    /// How many more there were.
    pub more: usize,
}

impl Warnings {
    pub(crate) fn add(&mut self, kind: Kind, what: &str, after: &str) {
        let known = kind.is_looks() && self.list.iter().any(|it| it.kind == kind);
        if known || self.list.len() >= WARNINGS_MAX {
            self.more += 1;
            return;
        }
        self.list.push(Warning {
            kind,
            what: excerpt(what.chars()),
            after: last(after),
        });
    }
}

/// Its beginning, of harmless characters: no controls, and none that turn text around (Unicode 15, 23.2).
fn excerpt(text: impl Iterator<Item = char>) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.filter(|c| !c.is_control() && !turns(*c))
        .take(EXCERPT_CHARS_MAX)
        .collect()
}

fn last(text: &str) -> String {
    let end: String = text.chars().rev().take(EXCERPT_CHARS_MAX).collect();
    excerpt(end.chars().rev())
}
