//! Lists: an item is its first paragraph, and what follows is within it.

use super::{Reader, flow::Flow, inline::Around};
use crate::{
    html::{Data, Element, Id},
    model::{Block, Content, Item, Look, Marker, Text},
};

impl Reader<'_> {
    pub(super) fn list(&mut self, id: Id, element: &Element, around: &Around, flow: &mut Flow) {
        self.end_line(flow);
        let look = self.look(element, around.look);
        let around = Around {
            look,
            ..around.clone()
        };
        let marker = match element.name() {
            "ol" => Marker::Number,
            _ => Marker::Bullet,
        };
        let tree = self.tree;
        let mut items = Vec::new();
        for child in tree.children(id) {
            match tree.data(child) {
                Some(Data::Element(element)) if element.name() == "li" => {
                    let item = self.item(child, element, marker, &around);
                    add(&mut items, item);
                }
                // OneNote puts breaks between items, others whole lists; nothing may be lost.
                _ => self.stray(child, &around, &mut items),
            }
        }
        flow.blocks.append(&mut items);
    }

    fn stray(&mut self, id: Id, around: &Around, items: &mut Vec<Block>) {
        let mut flow = Flow::default();
        self.node(id, around, &mut flow);
        self.end_line(&mut flow);
        match items.last_mut() {
            Some(Block::Item(last)) => last.children.append(&mut flow.blocks),
            _ => items.append(&mut flow.blocks),
        }
    }

    fn item(&mut self, id: Id, element: &Element, marker: Marker, around: &Around) -> Item {
        let look = self.look(element, around.look);
        let mut flow = Flow::default();
        if let Some(tag) = element.attribute("data-tag") {
            flow.tag(tag);
        }
        let boxed = flow.to_do.map(|done| Marker::ToDo { done });
        self.children(
            id,
            &Around {
                look,
                ..around.clone()
            },
            &mut flow,
        );
        self.end_line(&mut flow);
        let mut item = of_blocks(flow.blocks, marker);
        item.marker = boxed.unwrap_or(item.marker);
        item
    }
}

/// Its first text is the item's own.
fn of_blocks(blocks: Vec<Block>, marker: Marker) -> Item {
    let mut blocks = blocks.into_iter();
    let mut item = Item {
        marker,
        text: Text::default(),
        children: Vec::new(),
    };
    if let Some(first) = blocks.next() {
        match first {
            // A paragraph with a box makes the item one; an item of a list within it is not its text.
            Block::Item(first) if is_boxed_paragraph(&first) => item = first,
            Block::Paragraph(text) | Block::Heading { text, .. } => item.text = text,
            Block::Code(text) if !text.letters().contains('\n') => item.text = text,
            Block::Quote { text, children } if children.is_empty() => item.text = text,
            Block::Formula(latex) => item.text.push(Content::Formula(latex), Look::PLAIN, None),
            other => item.children.push(other),
        }
    }
    item.children.extend(blocks);
    item
}

fn is_boxed_paragraph(item: &Item) -> bool {
    matches!(item.marker, Marker::ToDo { .. }) && item.children.is_empty()
}

/// An item that holds nothing but a list is how indentation is written: its items belong to the one before.
fn add(items: &mut Vec<Block>, mut item: Item) {
    if !item.text.is_blank() {
        return items.push(Block::Item(item));
    }
    let only_items = item
        .children
        .iter()
        .all(|child| matches!(child, Block::Item(_)));
    match items.last_mut() {
        Some(Block::Item(before)) if only_items => before.children.append(&mut item.children),
        _ if only_items => items.append(&mut item.children),
        _ => items.push(Block::Item(item)),
    }
}
