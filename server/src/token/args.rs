//! What `spillway token` can be told.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::{Span, Timestamp, tz::TimeZone};
use spillway::Lane;

use crate::access::{Rights, Role, Scope};

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// The longest key of an app or a site, in bytes: as long as the gateway keeps them.
const KEY_BYTES_MAX: usize = 256;

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

/// When a token ends.
#[derive(Clone, Copy, Debug)]
pub enum Expiry {
    /// So long after its making.
    After(Span),
    /// Then.
    At(Timestamp),
}

impl Expiry {
    /// The instant, for a token made `now`; `None`: it does not lie ahead, or beyond all
    /// calendars.
    pub fn ends(self, now: Timestamp) -> Option<Timestamp> {
        let at = match self {
            Self::At(at) => at,
            // Days and months are the calendar's.
            Self::After(span) => {
                let now = now.to_zoned_datetime(TimeZone::UTC);
                now.checked_add(span).ok()?.timestamp()
            }
        };
        (at > now).then_some(at)
    }
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

fn name(text: &str) -> Result<String, String> {
    let sound = !text.trim().is_empty()
        && text.trim() == text
        && text.chars().count() <= NAME_CHARS_MAX
        && !text.chars().any(char::is_control);
    if sound {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "must be 1 to {NAME_CHARS_MAX} characters, without control characters or spaces around them"
        ))
    }
}

fn key(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > KEY_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(format!(
            "must be 1 to {KEY_BYTES_MAX} bytes, without control characters"
        ));
    }
    Ok(text.to_owned())
}

fn lane(text: &str) -> Result<Lane, String> {
    let mut lanes = Lane::ALL.into_iter();
    lanes
        .find(|lane| lane.to_string() == text)
        .ok_or_else(|| "must be foreground or background".to_owned())
}

fn expiry(text: &str) -> Result<Expiry, String> {
    let at = text.parse().map(Expiry::At);
    at.or_else(|_| text.parse().map(Expiry::After))
        .map_err(|_| {
            "must be a length of time, like 90d, or an instant, like 2027-01-01T00:00:00Z"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_length_of_time_or_an_instant_and_lies_ahead() {
        let now: Timestamp = "2026-12-01T06:00:00Z".parse().unwrap();
        for (text, ends) in [
            ("90d", Some("2027-03-01T06:00:00Z")),
            ("12h", Some("2026-12-01T18:00:00Z")),
            ("1 month", Some("2027-01-01T06:00:00Z")),
            ("2027-01-01T00:00:00+01:00", Some("2026-12-31T23:00:00Z")),
            ("2026-12-01T06:00:00Z", None),
            ("-1d", None),
            ("0s", None),
            ("19000y", None),
        ] {
            let ends = ends.map(|at: &str| at.parse().unwrap());
            assert_eq!(expiry(text).unwrap().ends(now), ends, "{text}");
        }
        for text in ["", "soon", "90", "2027-01-01"] {
            assert!(expiry(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_and_keys_are_plain() {
        assert!(name("crawler of finance").is_ok());
        for text in ["", " ", " a", "a\n", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert!(name(text).is_err(), "{text:?}");
        }
        assert!(key(&"k".repeat(KEY_BYTES_MAX)).is_ok());
        for text in ["", " ", "a\u{7f}", &"k".repeat(KEY_BYTES_MAX + 1)] {
            assert!(key(text).is_err(), "{text:?}");
        }
    }
}
