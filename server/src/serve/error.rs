//! Why a server does not start, or does not end well.

use std::net::SocketAddr;

use super::{key_secret, state_dir};
use crate::{
    config, floods, gateway,
    http::{BindError, TlsError},
    limiter, outbox, store, traces,
};

/// Why the server could not start, or not end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Open to others than this machine.
    #[error("{key}: {address} is not a loopback address, and --open serves on loopback only")]
    NotLoopback {
        /// The key of the address.
        key: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// Limits that run faster than those of the upstream.
    #[error(
        "upstreams.{upstream}.base_url: {host} is not this machine, and limits that run faster than \
         the clock are for `spillway simulate` alone"
    )]
    TooFast {
        /// The upstream.
        upstream: String,
        /// Its host.
        host: String,
    },
    /// The folder of the counters cannot be used.
    #[error("server.state_dir")]
    StateDir(#[from] state_dir::Error),
    /// The secret behind callers' keys cannot be used.
    #[error("server.state_dir")]
    KeySecret(#[from] key_secret::Error),
    /// The database cannot be used.
    #[error("server.database_url")]
    Database(#[from] store::OpenError),
    /// Tokens or accounts cannot be read.
    #[error("server.database_url")]
    Access(#[source] store::Error),
    /// That it serves cannot be written down.
    #[error("server.database_url")]
    Audit(#[source] store::Error),
    /// The limits or their counters cannot be used.
    #[error("server.state_dir")]
    Limiters(#[source] limiter::OpenError),
    /// The flood guard cannot take up what is remembered.
    #[error("the flood guard")]
    Floods(#[from] floods::OpenError),
    /// The listeners' certificate cannot be served.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Nobody could be told of trouble.
    #[error(transparent)]
    Outbox(#[from] outbox::Misconfigured),
    /// What goes on cannot be read.
    #[error("server.database_url")]
    Alerts(#[source] store::Error),
    /// No certificates to know upstreams by.
    #[error("upstreams")]
    Roots(#[from] gateway::RootsError),
    /// There are no metrics.
    #[error("metrics")]
    Metrics(#[from] prometheus::Error),
    /// Spans cannot be sent.
    #[error("telemetry.otlp_endpoint")]
    Traces(#[source] traces::Error),
    /// No certificates to know the identity provider by.
    #[error("oidc.issuer")]
    Provider(#[source] std::io::Error),
    /// An address cannot be listened on.
    #[error("{key}")]
    Bind {
        /// The key of the address.
        key: &'static str,
        /// What the system said.
        #[source]
        source: BindError,
    },
    /// A listener has an address that no client could name.
    #[error(transparent)]
    Address(#[from] config::Error),
    /// The counters could not be written at the end; the journal has them.
    #[error("the counters could not be written at the end")]
    Close(#[source] limiter::OpenError),
}

impl Error {
    /// Whether the server never took a call: something about its configuration, its
    /// files or its ports is wrong.
    pub fn at_start(&self) -> bool {
        !matches!(self, Self::Close(_))
    }
}
