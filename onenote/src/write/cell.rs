//! A cell holds text alone: what is no text goes below its table.

use crate::model::{Block, Content, Item, Link, Look, Marker, Text};

/// A cell's text, and what it cannot hold.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) text: Text,
    pub(super) below: Vec<Block>,
}

impl Cell {
    pub(super) fn of(blocks: Vec<Block>) -> Self {
        let mut cell = Self::default();
        for block in blocks {
            cell.add(block, 0);
        }
        cell
    }

    fn add(&mut self, block: Block, depth: usize) {
        match block {
            Block::Paragraph(text) | Block::Code(text) | Block::Note(text) => {
                self.line(depth, "", text)
            }
            Block::Heading { mut text, .. } => {
                text.runs.iter_mut().for_each(|run| run.look.bold = true);
                self.line(depth, "", text);
            }
            Block::Quote { text, children } => {
                self.line(depth, "", text);
                self.all(children, depth);
            }
            Block::Item(Item {
                marker,
                text,
                children,
            }) => {
                self.line(depth, sign(marker), text);
                self.all(children, depth + 1);
            }
            Block::Formula(latex) => {
                let mut text = Text::default();
                text.push(Content::Formula(latex), Look::PLAIN, None);
                self.line(depth, "", text);
            }
            Block::Embed { url, .. } => {
                let mut text = Text::default();
                text.push(
                    Content::Letters(url.clone()),
                    Look::PLAIN,
                    Some(&Link::Web(url)),
                );
                self.line(depth, "", text);
            }
            Block::Divider => {}
            Block::Table(_) => self.put_below("table", block),
            Block::Picture(_) => self.put_below("picture", block),
            Block::Attachment(_) => self.put_below("file", block),
        }
    }

    fn all(&mut self, blocks: Vec<Block>, depth: usize) {
        for block in blocks {
            self.add(block, depth);
        }
    }

    fn put_below(&mut self, what: &str, block: Block) {
        self.line(0, "", Text::plain(format!("[{what} below]")));
        self.below.push(block);
    }

    fn line(&mut self, depth: usize, sign: &str, text: Text) {
        let mut begin = String::new();
        if !self.text.runs.is_empty() {
            begin.push('\n');
        }
        begin.extend(std::iter::repeat_n('\u{2003}', depth));
        begin.push_str(sign);
        self.text.push(Content::Letters(begin), Look::PLAIN, None);
        self.text.extend(text);
    }
}

fn sign(marker: Marker) -> &'static str {
    match marker {
        // Numbers depend on what is before them; within a cell the order says enough.
        Marker::Bullet | Marker::Number => "• ",
        Marker::ToDo { done: false } => "☐ ",
        Marker::ToDo { done: true } => "☑ ",
    }
}
