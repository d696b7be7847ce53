//! What the pages ask of the server that renders them.

use std::sync::Arc;

use crate::live::{State, UserState};

/// The server behind the pages; handed over by context as [`SharedBackend`] while they
/// are rendered. Calls must not block: they run on the thread that renders.
pub trait Backend: Send + Sync + 'static {
    /// What is true now.
    fn state(&self) -> State;

    /// What was true a moment ago: for pages that many ask for, and ask again.
    fn recent(&self) -> State {
        self.state()
    }

    /// What is true of one user now: names of upstream and workload, and the raw query of the
    /// page's address. `None`: nobody can be meant by that.
    fn user(&self, upstream: &str, workload: &str, query: &str) -> Option<UserState>;

    /// Where clients send their calls: `http://127.0.0.1:3001`.
    fn gateway_url(&self) -> String;
}

/// How a [`Backend`] is kept in the context.
pub type SharedBackend = Arc<dyn Backend>;

/// Which page was asked for; handed over by context. Without it there is no such page.
#[derive(Clone, Debug)]
pub enum Asked {
    /// The overview.
    Overview,
    /// The page of this user.
    User(Box<UserState>),
}
