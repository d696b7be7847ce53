//! Blocks as Notion takes them (developers.notion.com/reference/block, version 2022-06-28 and later), serialised to
//! exactly its JSON.

use crate::{Target, model::Look};

mod json;
pub(crate) mod size;

pub use size::json_bytes;

/// A block with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Block {
    pub body: Body,
    pub children: Vec<Block>,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as Notion names them")]
pub enum Body {
    Paragraph(Vec<RichText>),
    /// `level` is 1 to 3.
    Heading {
        level: u8,
        text: Vec<RichText>,
    },
    BulletedListItem(Vec<RichText>),
    NumberedListItem(Vec<RichText>),
    ToDo {
        text: Vec<RichText>,
        checked: bool,
    },
    Quote(Vec<RichText>),
    /// With a warning sign: something is not here.
    Callout(Vec<RichText>),
    Code(Vec<RichText>),
    Equation(String),
    Divider,
    Table {
        width: usize,
        has_header: bool,
    },
    TableRow(Vec<Vec<RichText>>),
    /// `kind` is `image`, `file`, `pdf`, `audio` or `video`.
    Upload {
        kind: &'static str,
        file: FileId,
        caption: Vec<RichText>,
    },
    Video {
        url: String,
    },
    Embed {
        url: String,
    },
}

/// An upload that a block shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileId {
    /// Not uploaded yet: its place in the list of files. It cannot be serialised.
    Wanted(usize),
    /// What Notion calls it.
    Uploaded(String),
}

/// A run of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RichText {
    #[allow(missing_docs, reason = "said by its type")]
    pub content: Content,
    #[allow(missing_docs, reason = "said by its type")]
    pub look: Look,
    /// The page of OneNote that it means, if that is not at Notion yet; Notion is not told.
    pub target: Option<Target>,
}

/// What a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as Notion names them")]
pub enum Content {
    Text {
        content: String,
        url: Option<String>,
    },
    Equation(String),
}

impl Body {
    /// As Notion names it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Paragraph(_) => "paragraph",
            Self::Heading { level: 1, .. } => "heading_1",
            Self::Heading { level: 2, .. } => "heading_2",
            Self::Heading { .. } => "heading_3",
            Self::BulletedListItem(_) => "bulleted_list_item",
            Self::NumberedListItem(_) => "numbered_list_item",
            Self::ToDo { .. } => "to_do",
            Self::Quote(_) => "quote",
            Self::Callout(_) => "callout",
            Self::Code(_) => "code",
            Self::Equation(_) => "equation",
            Self::Divider => "divider",
            Self::Table { .. } => "table",
            Self::TableRow(_) => "table_row",
            Self::Upload { kind, .. } => kind,
            Self::Video { .. } => "video",
            Self::Embed { .. } => "embed",
        }
    }

    /// Its runs of text, cell by cell where it is a row.
    pub fn texts(&self) -> impl Iterator<Item = &RichText> {
        let (one, cells): (&[RichText], &[Vec<RichText>]) = match self {
            Self::Paragraph(text)
            | Self::BulletedListItem(text)
            | Self::NumberedListItem(text)
            | Self::Quote(text)
            | Self::Callout(text)
            | Self::Code(text)
            | Self::Heading { text, .. }
            | Self::ToDo { text, .. }
            | Self::Upload { caption: text, .. } => (text, &[]),
            Self::TableRow(cells) => (&[], cells),
            Self::Equation(_)
            | Self::Divider
            | Self::Table { .. }
            | Self::Video { .. }
            | Self::Embed { .. } => (&[], &[]),
        };
        one.iter().chain(cells.iter().flatten())
    }

    /// The same, to be changed.
    pub(crate) fn texts_mut(&mut self) -> Vec<&mut RichText> {
        match self {
            Self::Paragraph(text)
            | Self::BulletedListItem(text)
            | Self::NumberedListItem(text)
            | Self::Quote(text)
            | Self::Callout(text)
            | Self::Code(text)
            | Self::Heading { text, .. }
            | Self::ToDo { text, .. }
            | Self::Upload { caption: text, .. } => text.iter_mut().collect(),
            Self::TableRow(cells) => cells.iter_mut().flatten().collect(),
            Self::Equation(_)
            | Self::Divider
            | Self::Table { .. }
            | Self::Video { .. }
            | Self::Embed { .. } => Vec::new(),
        }
    }
}
