//! Logs: structured lines on standard error, for people or for machines.
//!
//! What may never be in them (security.md): `Authorization`, `Cookie`, `Spillway-Token`,
//! query strings, bodies. Nothing logs headers or whole addresses; [`crate::http`] logs
//! each request's path alone.

use std::io::IsTerminal;

use tracing_subscriber::{
    Layer, Registry, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One readable line, coloured on a terminal.
    #[default]
    Compact,
    /// One JSON object a line.
    Json,
}

/// Sends what passes `filter` to standard error, from now on and once.
///
/// # Errors
/// Logs are set up already.
pub fn init(format: Format, filter: Targets) -> Result<(), tracing_subscriber::util::TryInitError> {
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Compact => fmt::layer()
            .compact()
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr)
            .boxed(),
        Format::Json => fmt::layer()
            .json()
            .flatten_event(true)
            .with_writer(std::io::stderr)
            .boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init()
}
