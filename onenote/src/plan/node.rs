//! A block with what is known of all that is below it.

use std::collections::VecDeque;

use super::CHILDREN_MAX;
use crate::notion::{Block, Body, json_bytes};

/// What a block's JSON has more for its children: `,"children":[]`, and a comma behind itself.
const CHILDREN_BYTES: usize = 16;

/// Blocks and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) blocks: usize,
    pub(super) bytes: usize,
}

impl Size {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) children: VecDeque<Node>,
    /// Its own size.
    pub(super) own: Size,
    /// With all below.
    pub(super) total: Size,
    /// Levels below it.
    height: usize,
    /// Whether it, or one below, has more children than one request may give it.
    is_wide: bool,
}

impl Node {
    pub(super) fn of(block: Block) -> Self {
        let own = Size {
            blocks: 1,
            bytes: json_bytes(&block.body) + CHILDREN_BYTES,
        };
        let children: VecDeque<_> = block.children.into_iter().map(Self::of).collect();
        Self {
            body: block.body,
            own,
            total: children
                .iter()
                .fold(own, |total, child| total.plus(child.total)),
            height: children
                .iter()
                .map(|child| child.height + 1)
                .max()
                .unwrap_or(0),
            is_wide: children.len() > CHILDREN_MAX || children.iter().any(|child| child.is_wide),
            children,
        }
    }

    /// Whether all of it may be sent at once where so many levels are left below it.
    pub(super) fn is_whole(&self, levels: usize) -> bool {
        self.height <= levels && !self.is_wide
    }

    /// What must go with it: Notion takes no table without a row.
    pub(super) fn least(&self) -> Size {
        match (&self.body, self.children.front()) {
            (Body::Table { .. }, Some(row)) => self.own.plus(row.total),
            _ => self.own,
        }
    }

    pub(super) fn into_block(self) -> Block {
        Block {
            body: self.body,
            children: self.children.into_iter().map(Self::into_block).collect(),
        }
    }
}
