//! OneNote page HTML to Notion blocks. It converts, and nothing else: no clock, no I/O, no async, and the same input
//! always gives the same output.
//!
//! A page goes through four steps, each of which can be looked at by itself:
//!
//! 1. [`read`]: HTML, however broken, to a [`model::Page`] in reading order.
//! 2. [`write`]: the model to [`notion::Block`]s, each within Notion's sizes.
//! 3. [`plan::Plan`]: the blocks to requests, as few as Notion's rules on nesting allow.
//! 4. [`plan::Site`]: links between pages, once all of these exist.
//!
//! Nothing is dropped in silence: what has no counterpart becomes a note on the page and a [`Warning`] on its record.
//! docs/CONVERSION.md has a row for each construct. [`rules`] judges requests as Notion would and shares no code with
//! what makes them; [`generate`] invents notebooks.

pub mod generate;
mod html;
mod link;
pub mod model;
pub mod notion;
pub mod plan;
mod read;
pub mod rules;
mod style;
mod upstream;
mod warning;
mod write;

pub use link::{Known, Target};
pub use read::read;
pub use upstream::{BadUpstream, Resource, Upstream};
pub use warning::{Kind, Warning, Warnings};
pub use write::{File, Media, Written, write};

/// A page's HTML to what is to be sent: [`read`], [`write`] and [`plan::Plan::new`] in a row.
pub fn convert(html: &str, upstream: &Upstream, known: &dyn Known) -> Converted {
    let mut page = read(html, upstream);
    let created = page.created.take();
    let written = write(page, known);
    Converted {
        plan: plan::Plan::new(written.title, written.blocks),
        created,
        files: written.files,
        warnings: written.warnings,
    }
}

/// What a page becomes.
#[derive(Debug)]
pub struct Converted {
    /// The requests that make it.
    pub plan: plan::Plan,
    /// When the page was made, as OneNote says it; Notion lets nobody set that.
    pub created: Option<String>,
    /// What must be uploaded first; blocks refer to it by its place in this list.
    pub files: Vec<File>,
    /// What is not as it was.
    pub warnings: Warnings,
}
