//! The configuration: `spillway.toml` and `SPILLWAY__SECTION__KEY` variables, parsed
//! once into values that cannot be wrong.
//!
//! Whatever is wrong ends start-up before a port is bound, with one line that names the
//! key: unknown keys, so that a misspelt limit does not silently become the default; and
//! documented keys that this version cannot honour, so that nobody believes in a
//! protection that is not there.

mod address;
mod alerts;
mod error;
mod global;
mod mail;
mod networks;
mod oidc;
mod origins;
mod paths;
mod per_token;
mod server;
mod source;
mod telemetry;
mod tls;
mod upstream;
mod workload;

use std::{collections::BTreeMap, ffi::OsString, path::Path};

use serde::Deserialize;
use toml::Table;

pub use address::{AddressError, WebAddress};
pub use alerts::{Alerts, Webhook};
pub use error::Error;
pub use global::NAME as GLOBAL;
pub use mail::{Mail, MailServer, MailServerError, Security};
pub use networks::ClientNetwork;
pub use oidc::Oidc;
pub use origins::Origins;
pub use paths::{PathPattern, PatternError};
pub use per_token::PerToken;
pub use server::{PolicySource, Server};
pub use telemetry::Telemetry;
pub use tls::TlsFiles;
pub use upstream::{Upstream, UserFrom};
pub use workload::{Claims, Workload};

/// The file read where none is named.
pub const FILE_DEFAULT: &str = "spillway.toml";

/// Everything the server is told at start.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens and what it keeps.
    pub server: Server,
    /// What is told of requests to other systems.
    pub telemetry: Telemetry,
    /// Where mail goes; `None`: nobody is told by mail.
    pub mail: Option<Mail>,
    /// What counts as trouble, and who is told.
    pub alerts: Alerts,
    /// The identity provider that vouches for people, if there is one.
    pub oidc: Option<Oidc>,
    /// The throttled APIs, by name, at least one.
    pub upstreams: Vec<Upstream>,
}

impl Config {
    /// Reads `file`, or [`FILE_DEFAULT`] where it exists, and lets `variables` override it.
    ///
    /// # Errors
    /// The first thing that is wrong, see [`Error`].
    pub fn load(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Error> {
        let default = Path::new(FILE_DEFAULT);
        let mut table = match file {
            Some(file) => source::read(file)?,
            None if default.exists() => source::read(default)?,
            None => Table::new(),
        };
        let variables: Vec<_> = variables.into_iter().collect();
        source::override_with(&mut table, variables.iter().cloned())?;
        let config = Self::from_table(table)?;
        Ok(Self {
            telemetry: config.telemetry.or_standard(&variables)?,
            ..config
        })
    }

    /// Reads a configuration from its text.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_table(source::parse(Path::new(FILE_DEFAULT), text)?)
    }

    fn from_table(table: Table) -> Result<Self, Error> {
        let raw: Raw = source::typed(table)?;
        if raw.upstreams.is_empty() {
            let problem =
                "none is given; add a section like [upstreams.graph] to the configuration";
            return Err(Error::invalid("upstreams", problem));
        }
        Ok(Self {
            server: raw.server.check()?,
            telemetry: raw.telemetry.check()?,
            mail: raw.mail.map(mail::Raw::check).transpose()?,
            alerts: raw.alerts.check()?,
            oidc: raw.oidc.map(oidc::Raw::check).transpose()?,
            upstreams: raw
                .upstreams
                .into_iter()
                .map(|(name, upstream)| upstream.check(name))
                .collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    server: server::Raw,
    #[serde(default)]
    telemetry: telemetry::Raw,
    oidc: Option<oidc::Raw>,
    #[serde(default)]
    upstreams: BTreeMap<String, upstream::Raw>,
    mail: Option<mail::Raw>,
    #[serde(default)]
    alerts: alerts::Raw,
}

#[cfg(test)]
mod tests;
