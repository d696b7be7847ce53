//! What `spillway mail` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use lettre::message::Mailbox;

/// `spillway mail`
#[derive(Debug, Args)]
pub struct MailArgs {
    /// The configuration whose mail server is used. Without this, spillway.toml is read where
    /// it exists
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with mail.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sends a mail at once and says how the mail server took it
    Test {
        /// To whom. Without this, to everybody in mail.to
        #[arg(long, value_name = "ADDRESS", value_parser = mailbox)]
        to: Option<Mailbox>,
    },
}

fn mailbox(text: &str) -> Result<Mailbox, String> {
    text.parse()
        .map_err(|_| "must be an address like ops@example.org".to_owned())
}
