//! What `spillway user` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::access::{Role, person};

/// `spillway user`
#[derive(Debug, Args)]
pub struct User {
    /// The configuration whose database keeps the accounts. Without this, spillway.toml is
    /// read where it exists
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with accounts.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Makes an account. Its password is asked for on the terminal, or is the first line of
    /// standard input
    Add {
        /// What its owner signs in with
        #[arg(value_name = "NAME", value_parser = name)]
        name: String,
        /// What its owner may do
        #[arg(long, value_name = "ROLE")]
        role: Role,
    },
    /// Sets another password, asked for likewise, and ends the account's sessions
    Passwd {
        /// Whose, by name or id
        #[arg(value_name = "NAME")]
        account: String,
    },
    /// Gives an account another role and ends its sessions
    Role {
        /// Whose, by name or id
        #[arg(value_name = "NAME")]
        account: String,
        /// What its owner may do from now on
        #[arg(value_name = "ROLE")]
        role: Role,
    },
    /// Lists the accounts that are there
    List,
    /// Removes an account and ends its sessions; a running server does so within a second
    Remove {
        /// Whose, by name or id
        #[arg(value_name = "NAME")]
        account: String,
    },
}

fn name(text: &str) -> Result<String, String> {
    person::name(text).map_err(|error| error.to_string())
}
