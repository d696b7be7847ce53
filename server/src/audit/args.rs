//! What `spillway audit` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Head;

/// `spillway audit`
#[derive(Debug, Args)]
pub struct Audit {
    /// The configuration whose database keeps the log. Without this, spillway.toml is read
    /// where it exists
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with the audit log.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Checks that no entry was changed, moved or taken out
    ///
    /// Prints how many entries there are and the head: the last one's number and hash. Keep it
    /// elsewhere, and give it to a later run, which then also finds that the end was cut off or
    /// that everything was written anew. Exit code 1, and the first bad entry, where something
    /// is wrong.
    Verify {
        /// A head that was printed before (or the seq and hash of a line in the log), which
        /// must still be there
        #[arg(long, value_name = "SEQ:HASH")]
        head: Option<Head>,
    },
}
