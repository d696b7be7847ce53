//! HTML to a tree. The tokens are html5ever's; the tree is not.
//!
//! A browser's tree builder moves text (out of tables), copies elements (formatting that is still open) and, for
//! each tag, may look through all that is open: it takes quadratic time and memory on input that is made for it. A
//! converter must keep text where it was and take every input in linear time, so this builder never moves or copies,
//! and nests no deeper than [`DEPTH_MAX`]. On well-formed pages, which OneNote sends, both come to the same.

mod builder;
mod implied;
mod tree;

pub(crate) use builder::parse;
pub(crate) use tree::{Data, Element, Id, Tree};

/// Elements within each other, at most; deeper ones become siblings. Readers recurse, and OneNote's own lists and
/// tables stay far below it (a level of a list is two elements).
pub(crate) const DEPTH_MAX: usize = 128;
