//! Which block goes into which request.

use std::collections::VecDeque;

use super::{
    Request, Under,
    batch::{Batch, Put},
    node::Node,
};
use crate::notion::{Block, RichText, size};

/// What a request that makes a page has beside its title and its blocks: its parent, names and braces.
const PAGE_BYTES: usize = 400;

/// The same of one that appends.
const APPEND_BYTES: usize = 40;

pub(super) fn requests(title: &[RichText], blocks: Vec<Block>) -> Vec<Request> {
    let mut layout = Layout::default();
    let nodes = blocks.into_iter().map(Node::of).collect();
    let around = PAGE_BYTES + size::bytes(&title);
    layout.page(around, nodes);
    while let Some((under, nodes)) = layout.owed.pop_front() {
        layout.append(under, nodes);
    }
    layout.requests
}

#[derive(Default)]
struct Layout {
    requests: Vec<Request>,
    /// What waits for its parent's id, which an earlier request brings.
    owed: VecDeque<(Under, VecDeque<Node>)>,
}

impl Layout {
    fn page(&mut self, around: usize, mut nodes: VecDeque<Node>) {
        self.request(Under::NewPage, Batch::new(around, false), &mut nodes);
        if !nodes.is_empty() {
            self.owed.push_back((Under::Page, nodes));
        }
    }

    fn append(&mut self, under: Under, mut nodes: VecDeque<Node>) {
        while !nodes.is_empty() {
            self.request(under, Batch::new(APPEND_BYTES, true), &mut nodes);
        }
    }

    /// Fills a request with as many of the next nodes as it takes; an append takes one at least.
    fn request(&mut self, under: Under, mut batch: Batch, nodes: &mut VecDeque<Node>) {
        let request = self.requests.len();
        while let Some(node) = nodes.pop_front() {
            match batch.put(node) {
                Put::Whole => {}
                Put::Without(rest) => {
                    let index = batch.blocks.len() - 1;
                    self.owed.push_back((Under::Block { request, index }, rest));
                }
                Put::Not(node) => {
                    nodes.push_front(node);
                    break;
                }
            }
        }
        let children = batch.blocks;
        self.requests.push(Request { under, children });
    }
}
