//! What is in Notion: pages and blocks, one tree that all connections see. Pure; it is told the
//! time.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::errors::Error;
use super::id::Id;
use super::new_blocks::NewBlock;
use crate::random::{hash, mix};

/// The most pages and blocks that are kept.
const BLOCKS_MAX: usize = 200_000;
/// The most bytes of JSON that are kept, as far as they were written: 128 MiB.
const BYTES_MAX: usize = 128 * 1024 * 1024;
/// How many paragraphs the page that is there from the start has, more than one answer lists.
const HOME_BLOCKS: usize = 130;
/// When it was made: 1 January 2024.
const HOME_S: i64 = 1_704_067_200;

/// Everything.
#[derive(Debug)]
pub(crate) struct Workspace {
    seed: u64,
    blocks: BTreeMap<Id, Block>,
    bytes: usize,
}

/// A page or a block.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) id: Id,
    pub(super) parent: Parent,
    /// `paragraph`, `child_page`, …
    pub(super) kind: String,
    /// What stands under its kind, children apart; a page's properties.
    pub(super) content: Map<String, Value>,
    pub(super) children: Vec<Id>,
    /// Seconds since 1970.
    pub(super) created_s: i64,
    pub(super) edited_s: i64,
    pub(super) in_trash: bool,
}

/// What something lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Workspace,
    Page(Id),
    Block(Id),
}

/// Where among a parent's children something comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Start,
    After(Id),
    End,
}

/// The kind of a block that is a page.
pub(super) const PAGE: &str = "child_page";

impl Workspace {
    /// With one page, "Home", that has some text.
    pub(crate) fn new(seed: u64) -> Self {
        let mut workspace = Self {
            seed,
            blocks: BTreeMap::new(),
            bytes: 0,
        };
        let home = workspace.insert(Parent::Workspace, PAGE, title("Home"), HOME_S);
        for n in 1..=HOME_BLOCKS {
            let text = json!([{"type": "text", "text": {"content": format!("Line {n}")}}]);
            let content = Map::from_iter([("rich_text".to_owned(), text)]);
            let line = workspace.insert(Parent::Page(home), "paragraph", content, HOME_S);
            workspace.adopt(home, &[line], Position::End);
        }
        workspace
    }

    /// The page of that id.
    pub(super) fn page(&self, id: Id) -> Result<&Block, Error> {
        let page = self.blocks.get(&id).filter(|block| block.kind == PAGE);
        page.ok_or_else(|| Error::not_found("page", id))
    }

    /// The block of that id, which may be a page.
    pub(super) fn block(&self, id: Id) -> Result<&Block, Error> {
        let block = self.blocks.get(&id);
        block.ok_or_else(|| Error::not_found("block", id))
    }

    /// All pages that are not in the trash.
    pub(super) fn pages(&self) -> impl Iterator<Item = &Block> {
        let pages = self.blocks.values().filter(|block| block.kind == PAGE);
        pages.filter(|page| !page.in_trash)
    }

    /// What lies directly in a block, the trash apart.
    pub(super) fn children(&self, block: &Block) -> Vec<Id> {
        let ids = block.children.iter();
        let kept = ids.filter(|id| self.blocks.get(id).is_some_and(|child| !child.in_trash));
        kept.copied().collect()
    }

    /// Makes a page in another, or at the top.
    pub(super) fn add_page(
        &mut self,
        parent: Parent,
        content: Map<String, Value>,
        children: Vec<NewBlock>,
        now_s: i64,
    ) -> Result<Id, Error> {
        self.make_room(1 + count(&children), &children)?;
        let page = self.insert(parent, PAGE, content, now_s);
        if let Parent::Page(above) = parent {
            self.adopt(above, &[page], Position::End);
        }
        self.grow(page, children, Position::End, now_s);
        Ok(page)
    }

    /// Puts blocks into a block; gives the ids of the first level, in order.
    pub(super) fn append(
        &mut self,
        into: Id,
        children: Vec<NewBlock>,
        at: Position,
        now_s: i64,
    ) -> Result<Vec<Id>, Error> {
        self.make_room(count(&children), &children)?;
        Ok(self.grow(into, children, at, now_s))
    }

    /// Changes a block.
    pub(super) fn change(&mut self, id: Id, now_s: i64, change: impl FnOnce(&mut Block)) {
        if let Some(block) = self.blocks.get_mut(&id) {
            change(block);
            block.edited_s = now_s;
        }
    }

    fn grow(&mut self, into: Id, children: Vec<NewBlock>, at: Position, now_s: i64) -> Vec<Id> {
        let is_page = self.blocks.get(&into).is_some_and(|b| b.kind == PAGE);
        let parent = match is_page {
            true => Parent::Page(into),
            false => Parent::Block(into),
        };
        let mut ids = Vec::with_capacity(children.len());
        for child in children {
            let id = self.insert(parent, &child.kind, child.content, now_s);
            // The rules bound the depth of what one request brings.
            self.grow(id, child.children, Position::End, now_s);
            ids.push(id);
        }
        self.adopt(into, &ids, at);
        self.change(into, now_s, |_| {});
        ids
    }

    fn insert(
        &mut self,
        parent: Parent,
        kind: &str,
        content: Map<String, Value>,
        now_s: i64,
    ) -> Id {
        let random = hash(self.seed, &["notion block", &self.blocks.len().to_string()]);
        let id = Id::of(random, mix(random));
        let block = Block {
            id,
            parent,
            kind: kind.to_owned(),
            content,
            children: Vec::new(),
            created_s: now_s,
            edited_s: now_s,
            in_trash: false,
        };
        self.blocks.insert(id, block);
        id
    }

    fn adopt(&mut self, parent: Id, ids: &[Id], at: Position) {
        let Some(parent) = self.blocks.get_mut(&parent) else {
            return;
        };
        let index = match at {
            Position::Start => 0,
            Position::End => parent.children.len(),
            Position::After(id) => {
                let index = parent.children.iter().position(|child| *child == id);
                index.map_or(parent.children.len(), |index| index + 1)
            }
        };
        parent.children.splice(index..index, ids.iter().copied());
    }

    fn make_room(&mut self, blocks: usize, new: &[NewBlock]) -> Result<(), Error> {
        let bytes = self.bytes + new.iter().map(NewBlock::bytes).sum::<usize>();
        if self.blocks.len() + blocks > BLOCKS_MAX || bytes > BYTES_MAX {
            return Err(Error::full());
        }
        self.bytes = bytes;
        Ok(())
    }
}

fn count(blocks: &[NewBlock]) -> usize {
    let below = blocks.iter().map(|block| count(&block.children));
    blocks.len() + below.sum::<usize>()
}

fn title(text: &str) -> Map<String, Value> {
    let text = json!([{"type": "text", "text": {"content": text}}]);
    Map::from_iter([("title".to_owned(), text)])
}
