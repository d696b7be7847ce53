//! `[server]`: where Spillway listens and what it keeps.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use http::uri::Authority;
use ipnet::IpNet;
use serde::Deserialize;

use super::{
    Error, Origins, PerToken, WebAddress, networks, origins, per_token,
    source::{self, NotYet},
    tls::{self, TlsFiles},
};

/// The users one upstream may keep counts for: what engine.md's memory figures were measured with.
const USERS_MAX_DEFAULT: u32 = 200_000;

/// Where the server listens and what it keeps.
#[derive(Clone, Debug)]
pub struct Server {
    /// The dashboard's and the API's listener.
    pub listen: SocketAddr,
    /// The gateway's own listener: what upstreams send is never on the dashboard's origin.
    pub gateway_listen: SocketAddr,
    /// How browsers reach the dashboard; `None`: at the address it listens on.
    pub public_url: Option<WebAddress>,
    /// How clients reach the gateway; `None`: at the address it listens on.
    pub gateway_url: Option<WebAddress>,
    /// The only hosts that requests may name; `None`: those of the two addresses above.
    pub allowed_hosts: Option<Vec<Authority>>,
    /// What both listeners speak TLS with; `None`: they do not.
    pub tls: Option<TlsFiles>,
    /// The sites whose scripts may call the gateway.
    pub cors_origins: Origins,
    /// Where policies and everything else that must last are kept.
    pub database_url: String,
    /// What says which limits are in force.
    pub policy_source: PolicySource,
    /// Where the counters' journal and snapshot are kept.
    pub state_dir: PathBuf,
    /// Where the built dashboard is: scripts, styles, icons.
    pub site_dir: PathBuf,
    /// The proxies whose word on who calls is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// How many users an upstream may keep counts for at once.
    pub users_max: u32,
    /// How much of what all share one token may take.
    pub per_token: PerToken,
}

/// What says which limits are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicySource {
    /// The database: presets and configuration are where the first versions come from.
    #[default]
    Database,
    /// The configuration and its presets: what they say becomes the newest version at each start.
    File,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    listen: Option<String>,
    gateway_listen: Option<String>,
    public_url: Option<String>,
    gateway_url: Option<String>,
    allowed_hosts: Option<Vec<String>>,
    database_url: Option<String>,
    state_dir: Option<PathBuf>,
    site_dir: Option<PathBuf>,
    max_users: Option<i64>,
    max_waiters_per_token: Option<i64>,
    max_permits_per_token: Option<i64>,
    max_streams_per_token: Option<i64>,
    max_users_per_token: Option<i64>,
    policy_source: Option<String>,
    #[serde(rename = "secret_key_file")]
    _secret_key_file: Option<NotYet>,
    cors_origins: Option<Vec<String>>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    #[serde(default)]
    trusted_proxies: Vec<String>,
    #[serde(rename = "redis_url")]
    _redis_url: Option<NotYet>,
}

impl Raw {
    pub(super) fn check(self) -> Result<Server, Error> {
        let policy_source = policy_source(self.policy_source.as_deref())?;
        let listen = socket("server.listen", self.listen, "127.0.0.1:3000")?;
        let gateway_listen = socket(
            "server.gateway_listen",
            self.gateway_listen,
            "127.0.0.1:3001",
        )?;
        if listen == gateway_listen && listen.port() != 0 {
            let problem = "must differ from server.listen: upstream content never shares the dashboard's origin";
            return Err(Error::invalid("server.gateway_listen", problem));
        }
        let users_max = users_max(self.max_users)?;
        let per_token = per_token::Raw {
            waiters: self.max_waiters_per_token,
            permits: self.max_permits_per_token,
            streams: self.max_streams_per_token,
            users: self.max_users_per_token,
        };
        let tls = tls::files(self.tls_cert, self.tls_key)?;
        let public_url = origin("server.public_url", self.public_url)?;
        tls::check_url(tls.as_ref(), "server.public_url", public_url.as_ref())?;
        let gateway_url = origin("server.gateway_url", self.gateway_url)?;
        tls::check_url(tls.as_ref(), "server.gateway_url", gateway_url.as_ref())?;
        Ok(Server {
            listen,
            gateway_listen,
            public_url,
            gateway_url,
            tls,
            allowed_hosts: self.allowed_hosts.map(hosts).transpose()?,
            cors_origins: origins::check(self.cors_origins)?,
            database_url: database(self.database_url)?,
            policy_source,
            state_dir: self.state_dir.unwrap_or_else(|| ".".into()),
            site_dir: self.site_dir.unwrap_or_else(default_site_dir),
            trusted_proxies: networks::proxies("server.trusted_proxies", &self.trusted_proxies)?,
            users_max,
            per_token: per_token.check(users_max)?,
        })
    }
}

fn policy_source(source: Option<&str>) -> Result<PolicySource, Error> {
    match source {
        None | Some("database") => Ok(PolicySource::Database),
        Some("file") => Ok(PolicySource::File),
        Some(_) => {
            let problem = "must be \"database\" or \"file\"";
            Err(Error::invalid("server.policy_source", problem))
        }
    }
}

fn socket(key: &str, text: Option<String>, default: &str) -> Result<SocketAddr, Error> {
    let text = text.as_deref().unwrap_or(default);
    SocketAddr::from_str(text)
        .map_err(|_| Error::invalid(key, "must be an IP address and a port, like 127.0.0.1:3000"))
}

/// An address without a path.
fn origin(key: &str, text: Option<String>) -> Result<Option<WebAddress>, Error> {
    let Some(text) = text else {
        return Ok(None);
    };
    let address: WebAddress = text
        .parse()
        .map_err(|error: super::AddressError| Error::invalid(key, error.to_string()))?;
    if address.path().is_empty() {
        Ok(Some(address))
    } else {
        Err(Error::invalid(key, "must not hold a path"))
    }
}

fn hosts(hosts: Vec<String>) -> Result<Vec<Authority>, Error> {
    if hosts.is_empty() {
        return Err(Error::invalid(
            "server.allowed_hosts",
            "must hold at least one host",
        ));
    }
    hosts
        .iter()
        .enumerate()
        .map(|(n, text)| host(n, text))
        .collect()
}

fn host(n: usize, text: &str) -> Result<Authority, Error> {
    let authority = text.parse::<Authority>().ok();
    let plain = |authority: &Authority| {
        let rest = &authority.as_str()[authority.host().len().min(text.len())..];
        !authority.as_str().contains('@') && (rest.is_empty() || authority.port_u16().is_some())
    };
    let key = format!("server.allowed_hosts[{n}]");
    if text.contains('*') {
        let problem =
            "must name one host: wildcards are not supported, as they would let other sites in";
        return Err(Error::invalid(key, problem));
    }
    let problem = "must be a host, or a host and a port, like spillway.example.org:8443";
    authority
        .filter(plain)
        .ok_or_else(|| Error::invalid(key, problem))
}

fn database(url: Option<String>) -> Result<String, Error> {
    let url = url.unwrap_or_else(|| "sqlite://spillway.db".into());
    let problem = match url.split(':').next() {
        Some("sqlite") if url.contains(":memory:") || url.contains("mode=memory") => {
            "must be a file: counters that outlive their database would be wrong"
        }
        Some("sqlite") => return Ok(url),
        Some("postgres" | "postgresql") => "PostgreSQL is not supported yet; use sqlite://…",
        _ => "must be an address like sqlite://spillway.db",
    };
    Err(Error::invalid("server.database_url", problem))
}

fn users_max(users: Option<i64>) -> Result<u32, Error> {
    users.map_or(Ok(USERS_MAX_DEFAULT), |users| {
        source::whole("server.max_users", users, 1..=u32::MAX)
    })
}

/// Where `make site` puts the site; `cargo leptos` names another place by a variable.
fn default_site_dir() -> PathBuf {
    std::env::var_os("LEPTOS_SITE_ROOT").map_or_else(|| "target/site".into(), PathBuf::from)
}
