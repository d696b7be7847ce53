//! `spillway simulate`: the lookalike on a port of its own.

use std::io;

use spillway_simulator::{SettingsError, Simulator};

use crate::{
    cli,
    http::{BindError, Shutdown, bind},
};

/// Why the lookalike cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is told something impossible.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its address cannot be listened on.
    #[error("--listen")]
    Bind(#[from] BindError),
    /// Its listener failed while it ran.
    #[error("the listener failed")]
    Listener(#[source] io::Error),
}

impl Error {
    /// Whether it never ran, because of what it was told.
    pub fn at_start(&self) -> bool {
        !matches!(self, Self::Listener(_))
    }
}

/// Runs the lookalike until `shutdown`.
///
/// # Errors
/// See [`Error`].
pub async fn run(command: &cli::Simulate, shutdown: Shutdown) -> Result<(), Error> {
    let simulator = Simulator::new(command.settings())?;
    let listener = bind(command.listen).await?;
    let address = listener.local_addr().map_err(Error::Listener)?;
    tracing::info!(
        simulator = %format_args!("http://{address}"),
        time_scale = command.time_scale,
        seed = command.seed,
        "ready"
    );
    spillway_simulator::serve(listener, simulator, async move { shutdown.begun().await })
        .await
        .map_err(Error::Listener)
}
