//! A page's containers stand anywhere on it; they are read from top to bottom, and from left to right.

use std::collections::BTreeMap;

use super::{Reader, flow::Flow, inline::Around};
use crate::{
    html::{Element, Id},
    model::Block,
    style::{declarations, length},
};

/// What is placed together: a container, and what stands behind it without a place of its own.
struct Placed {
    top_left: (i64, i64),
    is_container: bool,
    nodes: Vec<Id>,
}

impl Reader<'_> {
    /// The whole document's blocks.
    pub(super) fn document(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.outside(self.tree.root(), &mut blocks);
        in_order_of_parts(&mut blocks);
        blocks
    }

    /// Around the body there is nothing but heads; in broken HTML there may be anything.
    fn outside(&mut self, id: Id, blocks: &mut Vec<Block>) {
        let tree = self.tree;
        let mut flow = Flow::default();
        for child in tree.children(id) {
            match tree.element(child).map_or("", Element::name) {
                name @ ("html" | "head" | "body") => {
                    self.end_line(&mut flow);
                    blocks.append(&mut flow.blocks);
                    match name {
                        "body" => self.body(child, blocks),
                        _ => self.outside(child, blocks),
                    }
                }
                _ => self.node(child, &Around::NOTHING, &mut flow),
            }
        }
        self.end_line(&mut flow);
        blocks.append(&mut flow.blocks);
    }

    fn body(&mut self, id: Id, blocks: &mut Vec<Block>) {
        let around = match self.tree.element(id) {
            Some(body) => Around {
                look: self.look(body, Around::NOTHING.look),
                ..Around::NOTHING
            },
            None => Around::NOTHING,
        };
        let mut placed = self.placed(id);
        placed.sort_by_key(|it| it.top_left);
        let mut after_container = false;
        for group in placed {
            let mut flow = Flow::default();
            for node in group.nodes {
                self.node(node, &around, &mut flow);
            }
            self.end_line(&mut flow);
            if flow.blocks.is_empty() {
                continue;
            }
            if after_container && group.is_container {
                blocks.push(Block::Divider);
            }
            after_container = group.is_container;
            blocks.append(&mut flow.blocks);
        }
    }

    fn placed(&self, body: Id) -> Vec<Placed> {
        let mut all: Vec<Placed> = Vec::new();
        for node in self.tree.children(body) {
            let element = self.tree.element(node);
            match (element.and_then(place), all.last_mut()) {
                (Some(top_left), _) => all.push(Placed {
                    top_left,
                    is_container: element.is_some_and(|it| it.name() == "div"),
                    nodes: vec![node],
                }),
                (None, Some(last)) => last.nodes.push(node),
                (None, None) => all.push(Placed {
                    top_left: (i64::MIN, 0),
                    is_container: false,
                    nodes: vec![node],
                }),
            }
        }
        all
    }
}

/// How far from the top and the left an element stands, if it is placed at all.
fn place(element: &Element) -> Option<(i64, i64)> {
    let (mut absolute, mut top, mut left) = (false, 0, 0);
    for (name, value) in declarations(element.attribute("style")?) {
        match &*name {
            "position" => absolute = value.eq_ignore_ascii_case("absolute"),
            "top" => top = length(value).unwrap_or(0),
            "left" => left = length(value).unwrap_or(0),
            _ => {}
        }
    }
    absolute.then_some((top, left))
}

/// Parts of a picture that was split say which is which; they may come in any order.
fn in_order_of_parts(blocks: &mut [Block]) {
    let mut wholes: BTreeMap<String, Vec<(u32, usize)>> = BTreeMap::new();
    for (place, block) in blocks.iter().enumerate() {
        if let Block::Picture(picture) = block
            && let Some((whole, index)) = &picture.part
        {
            wholes
                .entry(whole.clone())
                .or_default()
                .push((*index, place));
        }
    }
    for parts in wholes.into_values() {
        let places: Vec<_> = parts.iter().map(|(_, place)| *place).collect();
        let mut sorted = parts;
        sorted.sort_unstable();
        let taken: Vec<_> = sorted
            .iter()
            .filter_map(|(_, from)| blocks.get(*from).cloned())
            .collect();
        for (place, block) in places.into_iter().zip(taken) {
            if let Some(there) = blocks.get_mut(place) {
                *there = block;
            }
        }
    }
}
