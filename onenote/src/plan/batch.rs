//! One request as it fills.

use std::collections::VecDeque;

use super::{
    CHILDREN_MAX, LEVELS_BELOW,
    node::{Node, Size},
};
use crate::notion::Block;

/// Blocks in a request (developers.notion.com/reference/request-limits, "payloads have a maximum size of 1000 block
/// elements and 500KB overall").
const BLOCKS_MAX: usize = 1_000;

/// Bytes in a request (the same); what is beside the blocks is counted by who makes the batch.
const BYTES_MAX: usize = 500_000;

/// What became of a node.
pub(super) enum Put {
    /// All of it is in.
    Whole,
    /// It is in; these of its children are not.
    Without(VecDeque<Node>),
    /// It is not in.
    Not(Node),
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) blocks: Vec<Block>,
    size: Size,
    around: usize,
    /// Whether the answer will name the blocks, so that some may come without all of their children.
    is_answered: bool,
}

impl Batch {
    /// `around`: the bytes that the request has beside its blocks.
    pub(super) fn new(around: usize, is_answered: bool) -> Self {
        Self {
            blocks: Vec::new(),
            size: Size {
                blocks: 0,
                bytes: around,
            },
            around,
            is_answered,
        }
    }

    pub(super) fn put(&mut self, node: Node) -> Put {
        if self.blocks.len() >= CHILDREN_MAX {
            return Put::Not(node);
        }
        if node.is_whole(LEVELS_BELOW) {
            if self.has_room(node.total) {
                self.size = self.size.plus(node.total);
                self.blocks.push(node.into_block());
                return Put::Whole;
            }
            // Better whole in the next request than in two.
            if fits(node.total.plus(Size {
                blocks: 0,
                bytes: self.around,
            })) {
                return Put::Not(node);
            }
        }
        // Alone a block always fits: see the bounds of texts and rows.
        let must = self.blocks.is_empty();
        if !self.is_answered || !(must || self.has_room(node.least())) {
            return Put::Not(node);
        }
        self.put_in_part(node)
    }

    fn put_in_part(&mut self, mut node: Node) -> Put {
        self.size = self.size.plus(node.own);
        let mut children = Vec::new();
        while let Some(child) = node.children.pop_front() {
            let fits = children.len() < CHILDREN_MAX
                && child.is_whole(LEVELS_BELOW - 1)
                && self.has_room(child.total);
            if !fits {
                node.children.push_front(child);
                break;
            }
            self.size = self.size.plus(child.total);
            children.push(child.into_block());
        }
        self.blocks.push(Block {
            body: node.body,
            children,
        });
        if node.children.is_empty() {
            Put::Whole
        } else {
            Put::Without(node.children)
        }
    }

    fn has_room(&self, more: Size) -> bool {
        fits(self.size.plus(more))
    }
}

fn fits(size: Size) -> bool {
    size.blocks <= BLOCKS_MAX && size.bytes <= BYTES_MAX
}
