//! Blocks as they come: text gathers in a line until a block ends it.

use super::{Reader, line::Line};
use crate::model::{Block, Content, Item, Look, Marker, Text};

/// What a line becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Paragraph,
    Heading(u8),
    Code,
}

/// What is being read into: a page, an item, a cell.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) blocks: Vec<Block>,
    pub(super) line: Line,
    pub(super) role: Role,
    /// What the line is to be done, if it is.
    pub(super) to_do: Option<bool>,
    /// What stands before the line's text: a tag's sign.
    pub(super) sign: String,
}

impl Flow {
    /// How much there is, to be compared.
    pub(super) fn length(&self) -> (usize, usize) {
        (self.blocks.len(), self.line.length())
    }

    fn take_text(&mut self) -> Text {
        let sign = std::mem::take(&mut self.sign);
        let text = self.line.take();
        if sign.is_empty() || text.is_blank() && self.to_do.is_none() {
            self.sign = sign;
            return text;
        }
        let mut signed = Text::plain(sign);
        signed.extend(text);
        signed
    }
}

impl Reader<'_> {
    /// Makes a block of the line, if there is anything in it.
    pub(super) fn end_line(&mut self, flow: &mut Flow) {
        let text = flow.take_text();
        if text.is_blank() {
            return;
        }
        self.remember(&text);
        let block = match (flow.to_do.take(), flow.role) {
            (Some(done), _) => Block::Item(Item {
                marker: Marker::ToDo { done },
                text,
                children: Vec::new(),
            }),
            (None, Role::Heading(level)) => Block::Heading { level, text },
            (None, Role::Code) => Block::Code(text),
            (None, Role::Paragraph) => paragraph(text),
        };
        push(&mut flow.blocks, block);
    }

    /// Ends the line, and puts a block behind it.
    pub(super) fn push_block(&mut self, flow: &mut Flow, block: Block) {
        self.end_line(flow);
        flow.blocks.push(block);
    }

    fn remember(&mut self, text: &Text) {
        self.before.clear();
        if let Some(run) = text.runs.last() {
            let (Content::Letters(end) | Content::Formula(end)) = &run.content;
            let from = end.len().saturating_sub(500);
            let from = (from..end.len()).find(|at| end.is_char_boundary(*at));
            self.before
                .push_str(from.and_then(|from| end.get(from..)).unwrap_or(""));
        }
    }
}

/// OneNote marks code by its font, quotes by `cite`, and formulas by nothing: the text itself says what it is.
fn paragraph(mut text: Text) -> Block {
    if let [run] = text.runs.as_slice()
        && let Content::Formula(latex) = &run.content
        && run.link.is_none()
    {
        return Block::Formula(latex.clone());
    }
    let all = |has: fn(&Look) -> bool| {
        let mut runs = text.runs.iter().filter(|run| !is_blank(&run.content));
        runs.all(|run| has(&run.look))
    };
    if all(|look| look.code) && text.runs.iter().all(|run| run.link.is_none()) {
        return Block::Code(text);
    }
    let quoted = all(|look| look.quoted);
    for run in &mut text.runs {
        run.look.italic |= run.look.quoted && !quoted;
        run.look.quoted = false;
    }
    if quoted {
        return Block::Quote {
            text,
            children: Vec::new(),
        };
    }
    Block::Paragraph(text)
}

fn is_blank(content: &Content) -> bool {
    matches!(content, Content::Letters(letters) if letters.chars().all(char::is_whitespace))
}

/// Lines of code in a row are one piece of code.
fn push(blocks: &mut Vec<Block>, block: Block) {
    match (blocks.last_mut(), block) {
        (Some(Block::Code(before)), Block::Code(more)) => {
            let look = before.runs.last().map_or(Look::PLAIN, |run| run.look);
            before.push(Content::Letters("\n".to_owned()), look, None);
            before.extend(more);
        }
        (_, block) => blocks.push(block),
    }
}
