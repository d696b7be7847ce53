//! HTML to the model, in reading order.
//!
//! Facts on OneNote's HTML: learn.microsoft.com/graph/onenote-input-output-html, and pages as they come.

mod body;
mod flow;
mod inline;
mod line;
mod list;
mod math;
mod media;
mod table;
mod tag;
mod walk;

use crate::{
    Kind, Upstream, Warnings,
    html::{self, Tree},
    model::Page,
};

/// Reads a page's HTML. Whatever it is, there is a page: what is not HTML at all is text.
pub fn read(html: &str, upstream: &Upstream) -> Page {
    let tree = html::parse(html);
    let mut reader = Reader {
        tree: &tree,
        upstream,
        warnings: Warnings::default(),
        before: String::new(),
        title: None,
        created: None,
        has_ink: false,
    };
    if tree.flattened {
        let what = format!("more than {} elements within each other", html::DEPTH_MAX);
        reader.warn(Kind::Nesting, &what);
    }
    let blocks = reader.document();
    Page {
        title: reader.title.unwrap_or_default(),
        created: reader.created,
        blocks,
        warnings: reader.warnings,
    }
}

/// What is known while a page is read.
struct Reader<'a> {
    tree: &'a Tree,
    upstream: &'a Upstream,
    warnings: Warnings,
    /// The end of the text that was read last.
    before: String,
    title: Option<String>,
    created: Option<String>,
    has_ink: bool,
}

impl Reader<'_> {
    fn warn(&mut self, kind: Kind, what: &str) {
        self.warnings.add(kind, what, &self.before);
    }
}
