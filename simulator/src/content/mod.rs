//! What a user's OneNote holds: invented from the seed and the user's name, the same at every
//! start, and never stored.

pub(crate) mod html;
pub(crate) mod library;
pub(crate) mod png;
mod words;
