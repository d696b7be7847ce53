//! Logs: lines on standard error, filtered by target and level.
//!
//! Nothing secret is ever in them: no code logs headers or whole addresses; [`crate::http`] logs
//! each request's path alone. Nobody waits for them to be written ([`sink`]). The line of each
//! call, of which there are more than of all others together, is written by hand ([`line`]).

mod line;
mod sink;

use std::{io::IsTerminal, sync::OnceLock};

use tracing::Level;
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

pub use line::Line;
use sink::Sink;

/// What the lines of calls through the gateway are filtered by.
pub const CALLS: &str = "spillway::gateway";

/// What the lines of requests to the dashboard, and of those that a listener refuses, are filtered
/// by.
pub const ACCESS: &str = "spillway::access";

/// Where lines go that are written by hand, once logs are set up.
static BY_HAND: OnceLock<ByHand> = OnceLock::new();

/// How lines are written by hand.
struct ByHand {
    sink: Sink,
    format: Format,
    /// Whether those of [`CALLS`] are wanted.
    calls: bool,
    /// Whether those of [`ACCESS`] are wanted.
    access: bool,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One readable line, coloured on a terminal.
    #[default]
    Compact,
    /// One JSON object a line.
    Json,
}

/// Logs are set up. Dropped, it writes what is left of them.
#[derive(Debug)]
#[must_use = "the last lines are written when it is dropped"]
pub struct Logs(Sink);

/// Logs cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They are already.
    #[error(transparent)]
    Again(#[from] TryInitError),
    /// There is nobody to write them.
    #[error("no thread writes them")]
    Thread(#[from] std::io::Error),
}

/// Sends what passes `filter` to standard error, from now on and once.
///
/// # Errors
/// See [`Error`].
pub fn init(format: Format, filter: Targets) -> Result<Logs, Error> {
    let sink = Sink::to(std::io::stderr(), format)?;
    let by_hand = ByHand {
        sink: sink.clone(),
        format,
        calls: filter.would_enable(CALLS, &Level::INFO),
        access: filter.would_enable(ACCESS, &Level::INFO),
    };
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Compact => fmt::layer()
            .compact()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(sink.clone())
            .boxed(),
        Format::Json => fmt::layer()
            .json()
            .flatten_event(true)
            .with_writer(sink.clone())
            .boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init()?;
    BY_HAND.get_or_init(|| by_hand);
    Ok(Logs(sink))
}

/// Writes the line of a call that ended so; `say` adds what is known of it.
pub fn call(outcome: &'static str, say: impl FnOnce(&mut Line)) {
    if let Some(by_hand) = BY_HAND.get().filter(|it| it.calls) {
        by_hand.write(CALLS, outcome, say);
    }
}

/// Writes the line of a request that ended so, as [`call`] does.
pub fn access(outcome: &'static str, say: impl FnOnce(&mut Line)) {
    if let Some(by_hand) = BY_HAND.get().filter(|it| it.access) {
        by_hand.write(ACCESS, outcome, say);
    }
}

impl ByHand {
    fn write(&self, target: &str, outcome: &str, say: impl FnOnce(&mut Line)) {
        let now = jiff::Timestamp::now();
        let mut line = Line::begin(self.format, now, " INFO", target, outcome);
        say(&mut line);
        self.sink.take(&line.end(), false);
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        self.0.flush();
    }
}
