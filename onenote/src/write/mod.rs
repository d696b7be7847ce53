//! The model to Notion's blocks, each within Notion's sizes.

mod cell;
mod file;
mod table;
mod text;

use std::collections::BTreeMap;

use crate::{
    Kind, Known, Warnings,
    model::{self, Item, Marker, Page, Picture, Text},
    notion::{Block, Body, FileId, RichText},
};

pub use file::{File, Media};
use text::{Limits, NO_LIMITS_BUT_NOTIONS};

/// A formula has at most as many characters (developers.notion.com/reference/request-limits, "equation expression").
const FORMULA_CHARS_MAX: usize = 1_000;

/// What a page without a title is called.
const UNTITLED: &str = "Untitled";

/// A page as Notion takes it, before it is cut into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The page's title.
    pub title: Vec<RichText>,
    /// What is on it, as deep as it is.
    pub blocks: Vec<Block>,
    /// What must be uploaded first; blocks refer to it by its place in this list.
    pub files: Vec<File>,
    /// What is not as it was.
    pub warnings: Warnings,
}

/// Writes a page. Links to pages that are at Notion already lead there; those to others wait for their
/// [`Site`](crate::plan::Site).
pub fn write(page: Page, known: &dyn Known) -> Written {
    let mut writer = Writer {
        known,
        files: Vec::new(),
        places: BTreeMap::new(),
        warnings: page.warnings,
    };
    let mut blocks = Vec::new();
    let title = if page.title.is_empty() {
        UNTITLED.to_owned()
    } else {
        page.title
    };
    let mut title = writer
        .pieces(Text::plain(title), NO_LIMITS_BUT_NOTIONS)
        .into_iter();
    let (title, rest) = (title.next().unwrap_or_default(), title);
    blocks.extend(rest.map(|piece| leaf(Body::Paragraph(piece))));
    writer.blocks(page.blocks, &mut blocks);
    Written {
        title,
        blocks,
        files: writer.files,
        warnings: writer.warnings,
    }
}

struct Writer<'a> {
    known: &'a dyn Known,
    files: Vec<File>,
    /// Where a file is in the list, so that it is uploaded once.
    places: BTreeMap<(String, String), usize>,
    warnings: Warnings,
}

fn leaf(body: Body) -> Block {
    Block {
        body,
        children: Vec::new(),
    }
}

impl Writer<'_> {
    fn blocks(&mut self, from: Vec<model::Block>, out: &mut Vec<Block>) {
        for block in from {
            self.block(block, out);
        }
    }

    fn block(&mut self, block: model::Block, out: &mut Vec<Block>) {
        match block {
            model::Block::Paragraph(text) => self.each_piece(text, Body::Paragraph, out),
            model::Block::Note(text) => self.each_piece(text, Body::Callout, out),
            model::Block::Code(text) => self.each_piece(as_code(text), Body::Code, out),
            model::Block::Heading { level, text } => self.heading(level, text, out),
            model::Block::Item(item) => self.item(item, out),
            model::Block::Quote { text, children } => self.parent(text, children, Body::Quote, out),
            model::Block::Formula(latex) => self.formula(latex, out),
            model::Block::Divider => out.push(leaf(Body::Divider)),
            model::Block::Table(table) => self.table(table, out),
            model::Block::Picture(picture) => self.picture(picture, out),
            model::Block::Attachment(attachment) => self.attachment(attachment, out),
            model::Block::Embed { url, is_film: true } => out.push(leaf(Body::Video { url })),
            model::Block::Embed {
                url,
                is_film: false,
            } => out.push(leaf(Body::Embed { url })),
        }
    }

    /// What is too long for one block goes on in the next.
    fn each_piece(&mut self, text: Text, body: fn(Vec<RichText>) -> Body, out: &mut Vec<Block>) {
        let pieces = self.pieces(text, NO_LIMITS_BUT_NOTIONS);
        out.extend(pieces.into_iter().map(|piece| leaf(body(piece))));
    }

    fn heading(&mut self, level: u8, text: Text, out: &mut Vec<Block>) {
        if level > 3 {
            self.warnings
                .add(Kind::HeadingLevel, &format!("h{level}"), &text.letters());
        }
        let mut pieces = self.pieces(text, NO_LIMITS_BUT_NOTIONS).into_iter();
        let level = level.clamp(1, 3);
        out.extend(
            pieces
                .next()
                .map(|text| leaf(Body::Heading { level, text })),
        );
        out.extend(pieces.map(|piece| leaf(Body::Paragraph(piece))));
    }

    fn item(&mut self, item: Item, out: &mut Vec<Block>) {
        let body: fn(Vec<RichText>) -> Body = match item.marker {
            Marker::Bullet => Body::BulletedListItem,
            Marker::Number => Body::NumberedListItem,
            Marker::ToDo { done: true } => |text| Body::ToDo {
                text,
                checked: true,
            },
            Marker::ToDo { done: false } => |text| Body::ToDo {
                text,
                checked: false,
            },
        };
        self.parent(item.text, item.children, body, out);
    }

    /// A block with children; what is too long of its text is the first of them.
    fn parent(
        &mut self,
        text: Text,
        from: Vec<model::Block>,
        body: fn(Vec<RichText>) -> Body,
        out: &mut Vec<Block>,
    ) {
        let mut pieces = self.pieces(text, NO_LIMITS_BUT_NOTIONS).into_iter();
        let first = pieces.next().unwrap_or_default();
        let mut children: Vec<_> = pieces.map(|piece| leaf(Body::Paragraph(piece))).collect();
        self.blocks(from, &mut children);
        out.push(Block {
            body: body(first),
            children,
        });
    }

    fn formula(&mut self, latex: String, out: &mut Vec<Block>) {
        if text::length(&latex) <= FORMULA_CHARS_MAX {
            return out.push(leaf(Body::Equation(latex)));
        }
        self.warnings.add(Kind::FormulaLength, &latex, "");
        self.each_piece(Text::plain(latex), Body::Code, out);
    }

    fn picture(&mut self, picture: Picture, out: &mut Vec<Block>) {
        let place = self.file(file::of_picture(&picture));
        self.upload(Media::Image, place, picture.description, out);
    }

    fn attachment(&mut self, attachment: model::Attachment, out: &mut Vec<Block>) {
        let file = file::of_attachment(&attachment);
        let (media, caption) = (file.media, Text::plain(file.name.clone()));
        let place = self.file(file);
        self.upload(media, place, caption, out);
    }

    fn upload(&mut self, media: Media, place: usize, caption: Text, out: &mut Vec<Block>) {
        let mut pieces = self.pieces(caption, NO_LIMITS_BUT_NOTIONS).into_iter();
        let (file, caption) = (FileId::Wanted(place), pieces.next().unwrap_or_default());
        out.push(leaf(Body::Upload {
            kind: media.name(),
            file,
            caption,
        }));
        out.extend(pieces.map(|piece| leaf(Body::Paragraph(piece))));
    }

    fn file(&mut self, mut file: File) -> usize {
        let next = self.files.len();
        let key = (file.resource.path.clone(), file.name.clone());
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            file.number(next);
            self.files.push(file);
        }
        place
    }

    fn pieces(&mut self, text: Text, limits: Limits) -> Vec<Vec<RichText>> {
        text::pieces(text, limits, self.known, &mut self.warnings)
    }
}

/// In code the block says that it is code, and spaces are spaces.
fn as_code(mut text: Text) -> Text {
    for run in &mut text.runs {
        run.look.code = false;
        if let model::Content::Letters(letters) = &mut run.content {
            *letters = letters.replace('\u{a0}', " ");
        }
    }
    let mut joined = Text::default();
    joined.extend(text);
    joined
}
