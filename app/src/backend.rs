//! What the pages ask of the server that renders them.

use std::sync::Arc;

use crate::live::State;

/// The server behind the pages; handed over by context as [`SharedBackend`] while they
/// are rendered. Calls must not block: they run on the thread that renders.
pub trait Backend: Send + Sync + 'static {
    /// What is true now.
    fn state(&self) -> State;

    /// Where clients send their calls: `http://127.0.0.1:3001`.
    fn gateway_url(&self) -> String;
}

/// How a [`Backend`] is kept in the context.
pub type SharedBackend = Arc<dyn Backend>;
