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

/// Where the lines of calls go, once logs are set up and if they are wanted.
static CALL_LINES: OnceLock<(Sink, Format)> = OnceLock::new();

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
    let calls = filter.would_enable(CALLS, &Level::INFO);
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
    if calls {
        CALL_LINES.get_or_init(|| (sink.clone(), format));
    }
    Ok(Logs(sink))
}

/// Writes the line of a call that ended so; `say` adds what is known of it.
pub fn call(outcome: &'static str, say: impl FnOnce(&mut Line)) {
    let Some((sink, format)) = CALL_LINES.get() else {
        return;
    };
    let mut line = Line::begin(*format, jiff::Timestamp::now(), " INFO", CALLS, outcome);
    say(&mut line);
    sink.take(&line.end(), false);
}

impl Drop for Logs {
    fn drop(&mut self) {
        self.0.flush();
    }
}
