//! The one place that turns errors into exit codes.

use std::{io, process::ExitCode};

use crate::{audit, config, demo, mail, policy, serve, simulate, token, user};

/// What was asked for is impossible as it was configured; no port was bound, or it was
/// given back at once.
const MISCONFIGURED: u8 = 2;

/// It failed while running.
const FAILED: u8 = 1;

/// Why a command did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The server could not start, or not end well.
    #[error(transparent)]
    Serve(#[from] serve::Error),
    /// The demo could not start, or not end well.
    #[error(transparent)]
    Demo(#[from] demo::Error),
    /// The lookalike could not start.
    #[error(transparent)]
    Simulate(#[from] simulate::Error),
    /// A token was not made, listed or revoked.
    #[error(transparent)]
    Token(#[from] token::Error),
    /// The audit log is not as it was written, or cannot be looked at.
    #[error(transparent)]
    Audit(#[from] audit::Error),
    /// An account was not made, listed, changed or removed.
    #[error(transparent)]
    User(#[from] user::Error),
    /// Limits were not exported, compared or changed.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    /// Mail was not sent.
    #[error(transparent)]
    Mail(#[from] mail::Error),
    /// Signals cannot be listened for.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// What was asked for cannot be printed.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
    /// Logs cannot be set up.
    #[error("cannot set up logs")]
    Logs(#[from] crate::telemetry::Error),
}

impl Failure {
    /// What the process says to its parent.
    pub fn exit_code(&self) -> ExitCode {
        let misconfigured = match self {
            Self::Config(_) => true,
            Self::Simulate(error) => error.at_start(),
            Self::Serve(error) => error.at_start(),
            Self::Demo(error) => error.at_start(),
            Self::Token(error) => error.at_start(),
            Self::Audit(error) => error.at_start(),
            Self::User(error) => error.at_start(),
            Self::Policy(error) => error.at_start(),
            Self::Mail(error) => error.at_start(),
            Self::Signals(_) | Self::Output(_) | Self::Logs(_) => false,
        };
        ExitCode::from(if misconfigured { MISCONFIGURED } else { FAILED })
    }
}
