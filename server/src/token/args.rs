//! What `spillway token` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use spillway::Lane;

use crate::access::{
    Rights, Role, Scope,
    tokens::draft::{Expiry, expiry, key, lane, name},
};

/// `spillway token`
#[derive(Debug, Args)]
pub struct Token {
    /// The configuration whose database keeps the tokens. Without this, spillway.toml is
    /// read where it exists
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Makes a token and prints it, alone, on standard output. It is never shown again
    Create(Box<Create>),
    /// Lists the tokens that are not revoked: never their secrets
    List,
    /// Revokes a token; a running server refuses it within a second
    Revoke {
        /// Its name or its id
        #[arg(value_name = "NAME")]
        token: String,
    },
}

/// `spillway token create`
#[derive(Debug, Args)]
pub struct Create {
    /// What people call it; one valid token has it at a time
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: String,
    /// The most that it may do
    #[arg(long, value_name = "ROLE")]
    pub role: Role,
    /// What it is good for: one or several, as its role allows
    #[arg(
        long = "scope",
        value_name = "SCOPE",
        required = true,
        value_delimiter = ','
    )]
    pub scopes: Vec<Scope>,
    /// Binds it to this upstream; may be repeated, or a list with commas. Without this, all
    #[arg(long = "upstream", value_name = "NAME", value_delimiter = ',')]
    pub upstreams: Vec<String>,
    /// Binds it to this app's budgets; may be repeated, or a list with commas. Without this, all
    #[arg(long = "app", value_name = "APP", value_parser = key, value_delimiter = ',')]
    pub apps: Vec<String>,
    /// Binds it to events of this site; may be repeated, or a list with commas. Without this, all
    #[arg(long = "site", value_name = "SITE", value_parser = key, value_delimiter = ',')]
    pub sites: Vec<String>,
    /// The lane of calls that name none: foreground or background
    #[arg(long, value_name = "LANE", value_parser = lane)]
    pub lane: Option<Lane>,
    /// Lets it name, by the header Spillway-User, for whom it calls
    #[arg(long)]
    pub act_for_users: bool,
    /// When it ends: after so long, like 90d or 12h, or at an instant, like
    /// 2027-01-01T00:00:00Z. Without this, never
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Expiry>,
}

impl Create {
    /// What it may do.
    pub fn rights(&self) -> Rights {
        Rights {
            role: self.role,
            scopes: self.scopes.iter().copied().collect(),
            upstreams: self.upstreams.iter().cloned().collect(),
            apps: self.apps.iter().cloned().collect(),
            sites: self.sites.iter().cloned().collect(),
            lane: self.lane,
            act_for_users: self.act_for_users,
        }
    }
}
