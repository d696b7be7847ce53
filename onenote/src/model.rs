//! A page as a person sees it, free of HTML and of Notion alike.

use crate::{Resource, Target, Warnings, style::Colour};

/// A page of OneNote, in reading order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Without the spaces around it; may be empty.
    pub title: String,
    /// When it was made, as OneNote says it.
    pub created: Option<String>,
    #[allow(missing_docs, reason = "said by its type")]
    pub blocks: Vec<Block>,
    /// What could not be read.
    pub warnings: Warnings,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub enum Block {
    Paragraph(Text),
    /// `level` is 1 to 6.
    Heading {
        level: u8,
        text: Text,
    },
    Item(Item),
    Quote {
        text: Text,
        children: Vec<Block>,
    },
    Code(Text),
    /// LaTeX.
    Formula(String),
    /// Between two of the page's containers, or drawn.
    Divider,
    Table(Table),
    Picture(Picture),
    Attachment(Attachment),
    /// A page or film of the web, by its address.
    Embed {
        url: String,
        is_film: bool,
    },
    /// Says of something that it is not there.
    Note(Text),
}

/// An entry of a list, or something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Item {
    pub marker: Marker,
    pub text: Text,
    pub children: Vec<Block>,
}

/// What an item begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub enum Marker {
    Bullet,
    Number,
    ToDo { done: bool },
}

/// Rows of cells of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Table {
    /// Whether its first row is one of heads.
    pub has_header: bool,
    pub rows: Vec<Vec<Vec<Block>>>,
}

/// A picture of the page, of one that was printed onto it, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// In full size where there is one.
    pub resource: Resource,
    /// Its media type, as OneNote says it.
    pub media_type: Option<String>,
    /// What it shows, in words.
    pub description: Text,
    /// In hundredths of a pixel, as it is shown.
    pub width: Option<i64>,
    /// The same.
    pub height: Option<i64>,
    /// Which of the parts it is, and of what.
    pub part: Option<(String, u32)>,
}

/// A file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    #[allow(missing_docs, reason = "said by its type")]
    pub resource: Resource,
    /// As the page shows it; may be empty.
    pub name: String,
    /// Its media type, as OneNote says it.
    pub media_type: Option<String>,
}

/// Runs of text, none empty and no two alike in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    #[allow(missing_docs, reason = "said by its type")]
    pub runs: Vec<Run>,
}

/// Text of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Run {
    pub content: Content,
    pub look: Look,
    pub link: Option<Link>,
}

/// Letters, or a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Lines end in `\n`.
    Letters(String),
    /// LaTeX.
    Formula(String),
}

/// How text looks, as far as Notion has a counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "said by their names")]
pub struct Look {
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub strikethrough: bool,
    pub code: bool,
    /// Cited; a paragraph of nothing else is a quote.
    pub quoted: bool,
    pub colour: Colour,
    pub background: Colour,
}

/// Where a run leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// To an address of http or https.
    Web(String),
    /// To a page or section of OneNote.
    Page(Target),
}

impl Look {
    /// As text is that nobody changed.
    pub const PLAIN: Self = Self {
        bold: false,
        italic: false,
        underline: false,
        strikethrough: false,
        code: false,
        quoted: false,
        colour: Colour::Default,
        background: Colour::Default,
    };
}

impl Look {
    /// The one colour that Notion gives a run: of two, that of the text.
    pub fn notion_colour(&self) -> Option<String> {
        match (self.colour, self.background) {
            (Colour::Default, Colour::Default) => None,
            (Colour::Default, behind) => Some(format!("{}_background", behind.name())),
            (colour, _) => Some(colour.name().to_owned()),
        }
    }
}

impl Text {
    /// Letters of no look.
    pub fn plain(letters: impl Into<String>) -> Self {
        let mut text = Self::default();
        text.push(Content::Letters(letters.into()), Look::PLAIN, None);
        text
    }

    /// Puts a run behind the others; letters that look alike become one.
    pub fn push(&mut self, content: Content, look: Look, link: Option<&Link>) {
        if let (Content::Letters(more), Some(last)) = (&content, self.runs.last_mut())
            && let Content::Letters(letters) = &mut last.content
            && (last.look, last.link.as_ref()) == (look, link)
        {
            letters.push_str(more);
            return;
        }
        if !matches!(&content, Content::Letters(letters) if letters.is_empty()) {
            self.runs.push(Run {
                content,
                look,
                link: link.cloned(),
            });
        }
    }

    /// Puts another text behind.
    pub fn extend(&mut self, other: Self) {
        for run in other.runs {
            self.push(run.content, run.look, run.link.as_ref());
        }
    }

    /// Whether nobody would see it.
    pub fn is_blank(&self) -> bool {
        self.runs.iter().all(|run| match &run.content {
            Content::Letters(letters) => letters.chars().all(char::is_whitespace),
            Content::Formula(_) => false,
        })
    }

    /// Its letters and formulas in a row.
    pub fn letters(&self) -> String {
        let contents = self.runs.iter().map(|run| match &run.content {
            Content::Letters(text) | Content::Formula(text) => text.as_str(),
        });
        contents.collect()
    }
}
