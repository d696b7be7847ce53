//! Blocks to requests, as few as Notion's rules allow.
//!
//! A request may hold two levels of blocks below its own, 100 blocks in a row, 1,000 in all, and 500 kB. What is
//! deeper, or longer, is appended later, and for that its parent's id must be known. Notion's answers name the
//! blocks of a request's first level alone, and the answer to a new page none at all. So a block whose children do not
//! all fit stands on the first level of an append; as many of its first children as fit go with it.
//!
//! Order within a parent holds because everything is appended behind what is there, in the order of [`Plan::requests`];
//! no request refers to a later one.

mod batch;
mod layout;
mod node;
mod site;

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::notion::{Block, Body, Content, FileId, RichText};

pub use site::Site;

/// Blocks in a row: the children of one block in one request
/// (developers.notion.com/reference/request-limits, "any array of block types").
pub(crate) const CHILDREN_MAX: usize = 100;

/// Levels below the blocks of the request itself (developers.notion.com/reference/patch-block-children, "up to two
/// levels of nesting in a single request").
const LEVELS_BELOW: usize = 2;

/// Characters of the reason that a note gives.
const REASON_CHARS_MAX: usize = 160;

/// The requests that make a page, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    title: Vec<RichText>,
    /// The first makes the page; each further one appends to it, or to a block that an earlier one made.
    pub requests: Vec<Request>,
}

/// One call of Notion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    #[allow(missing_docs, reason = "said by its type")]
    pub under: Under,
    /// The blocks that it makes.
    pub children: Vec<Block>,
}

/// Where a request's blocks go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// `POST /v1/pages`: a page that it makes.
    NewPage,
    /// `PATCH /v1/blocks/{id}/children` with the page's id.
    Page,
    /// The same with the id of the block that `request` (its place in the plan) made as its `index`-th, from 0: the
    /// `results` of its answer are in that order.
    Block {
        #[allow(missing_docs, reason = "said above")]
        request: usize,
        #[allow(missing_docs, reason = "said above")]
        index: usize,
    },
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Notion has it, by this id.
    Uploaded(&'a str),
    /// It cannot be had, for this reason: a note stands in its place.
    Missing(&'a str),
}

impl Plan {
    /// Plans a page.
    pub fn new(title: Vec<RichText>, blocks: Vec<Block>) -> Self {
        let requests = layout::requests(&title, blocks);
        Self { title, requests }
    }

    /// How many blocks the page will have, as a workspace's block limit counts them.
    pub fn blocks(&self) -> usize {
        let requests = self.requests.iter();
        requests.map(|request| count(&request.children)).sum()
    }

    /// A request's body for a page under `parent`; it can be serialised once all of its files have come to something.
    /// `None` if there is no such request.
    pub fn body<'a>(&'a self, request: usize, parent: &'a str) -> Option<RequestBody<'a>> {
        let request = self.requests.get(request)?;
        let page = (request.under == Under::NewPage).then_some((parent, self.title.as_slice()));
        Some(RequestBody {
            page,
            children: &request.children,
        })
    }

    /// The files that a request needs, by their places in the list of files.
    pub fn files(&self, request: usize) -> Vec<usize> {
        let mut files = Vec::new();
        if let Some(request) = self.requests.get(request) {
            each(&request.children, &mut |block| {
                if let Body::Upload {
                    file: FileId::Wanted(place),
                    ..
                } = block.body
                    && !files.contains(&place)
                {
                    files.push(place);
                }
            });
        }
        files
    }

    /// Says what became of the file at a place in the list of files. It may be said anew, as long as it is wanted by
    /// requests that are not sent yet: an upload expires after an hour.
    pub fn put_file(&mut self, place: usize, outcome: Outcome<'_>) {
        for request in &mut self.requests {
            each_mut(&mut request.children, &mut |block| {
                put(block, place, outcome)
            });
        }
    }

    /// Where links lead to pages that were not at Notion when this one was written.
    pub fn sites(&self) -> Vec<Site> {
        site::sites(&self.requests)
    }
}

fn put(block: &mut Block, wanted: usize, outcome: Outcome<'_>) {
    let Body::Upload { file, caption, .. } = &mut block.body else {
        return;
    };
    if *file != FileId::Wanted(wanted) {
        return;
    }
    match outcome {
        Outcome::Uploaded(id) => *file = FileId::Uploaded(id.to_owned()),
        Outcome::Missing(reason) => {
            let reason: String = reason
                .chars()
                .filter(|c| !c.is_control())
                .take(REASON_CHARS_MAX)
                .collect();
            let content = format!("A picture or file is missing here: {reason}. ");
            let mut text = vec![RichText {
                content: Content::Text { content, url: None },
                look: crate::model::Look::PLAIN,
                target: None,
            }];
            // Notion's arrays have 100 items; a caption is as long as a text may be.
            text.extend(caption.drain(..).take(CHILDREN_MAX - 1));
            block.body = Body::Callout(text);
        }
    }
}

fn count(blocks: &[Block]) -> usize {
    let mut count = 0;
    each(blocks, &mut |_| count += 1);
    count
}

/// Three levels at most, by the rules above.
fn each(blocks: &[Block], visit: &mut impl FnMut(&Block)) {
    for block in blocks {
        visit(block);
        each(&block.children, visit);
    }
}

fn each_mut(blocks: &mut [Block], visit: &mut impl FnMut(&mut Block)) {
    for block in blocks {
        visit(block);
        each_mut(&mut block.children, visit);
    }
}

/// What is sent.
#[derive(Debug)]
pub struct RequestBody<'a> {
    page: Option<(&'a str, &'a [RichText])>,
    children: &'a [Block],
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some((parent, title)) = self.page {
            map.serialize_entry(
                "parent",
                &Parent {
                    r#type: "page_id",
                    page_id: parent,
                },
            )?;
            map.serialize_entry(
                "properties",
                &Properties {
                    title: Title { title },
                },
            )?;
        }
        map.serialize_entry("children", self.children)?;
        map.end()
    }
}

#[derive(Serialize)]
struct Parent<'a> {
    r#type: &'static str,
    page_id: &'a str,
}

#[derive(Serialize)]
struct Properties<'a> {
    title: Title<'a>,
}

#[derive(Serialize)]
struct Title<'a> {
    title: &'a [RichText],
}
