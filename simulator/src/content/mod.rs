//! What a user's OneNote holds: invented from the seed and the user's name, the same at every
//! start, and never stored; and what was written since the start.

pub(crate) mod html;
pub(crate) mod library;
pub(crate) mod png;
mod words;
pub(crate) mod written;
