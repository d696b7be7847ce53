//! What `spillway policy` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::audit;

/// `spillway policy`
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The configuration whose database keeps the limits. Without this, spillway.toml is read
    /// where it exists
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with limits.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prints the limits in force as a file to edit and to apply
    Export,
    /// Says how a file's limits differ from those in force; nothing where they do not
    Diff {
        /// A file as `spillway policy export` prints it
        file: PathBuf,
    },
    /// Puts a file's limits in force, all of them or none; a running server takes them up
    /// within half a second
    ///
    /// Where somebody else has changed one of these limits since the file was exported, nothing
    /// is changed.
    Apply {
        /// A file as `spillway policy export` prints it
        file: PathBuf,
        /// Why, for the history and the audit log: 1 to 500 characters
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        reason: String,
    },
}

fn reason(text: &str) -> Result<String, audit::NoReason> {
    audit::reason(text).map(str::to_owned)
}
