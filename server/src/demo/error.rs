//! What can keep a demo from running, in terms of its flags.

use std::{io, net::SocketAddr, path::PathBuf};

use spillway_simulator::SettingsError;

use super::{accounts, authority, platform};
use crate::{config, http::BindError, serve};

/// Why the demo could not start, or not end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others than this machine could call it.
    #[error(
        "{flag}: {address} is not a loopback address, and the demo, which shows everything to anybody, listens on loopback only"
    )]
    NotLoopback {
        /// Where the address was given.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// An address cannot be listened on.
    #[error("{flag}")]
    Bind {
        /// Where the address was given.
        flag: &'static str,
        /// What the system said.
        #[source]
        source: BindError,
    },
    /// The folder for database and counters cannot be made.
    #[error("--data-dir: {} cannot be made", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The accounts to steer with cannot be made.
    #[error("--data-dir: its accounts")]
    Accounts(#[from] accounts::Error),
    /// The sites of the form platform cannot be told.
    #[error("--data-dir: its sites")]
    Sites(#[from] platform::NotTold),
    /// There are no certificates.
    #[error("--tls")]
    Certificates(#[from] authority::Error),
    /// Nobody can trust the certificates.
    #[error("--tls: the authority cannot be trusted")]
    Trust(#[source] rustls::Error),
    /// Database or counters in the folder cannot be used.
    #[error("--data-dir")]
    Data(#[source] serve::Error),
    /// The simulator is told something impossible.
    #[error(transparent)]
    Simulator(#[from] SettingsError),
    /// The simulator's listener failed while it ran.
    #[error("the simulator's listener failed")]
    Listener(#[source] io::Error),
    /// The configuration that the demo makes for the server is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The server could not start, or not end well.
    #[error(transparent)]
    Serve(serve::Error),
}

impl Error {
    /// Whether it never ran: something about its flags, its folder or its ports is wrong.
    pub fn at_start(&self) -> bool {
        match self {
            Self::Listener(_) => false,
            Self::Serve(error) | Self::Data(error) => error.at_start(),
            _ => true,
        }
    }
}

impl From<serve::Error> for Error {
    /// Names the flag instead of the configuration's key.
    fn from(error: serve::Error) -> Self {
        match error {
            serve::Error::Bind {
                key: "server.listen",
                source,
            } => Self::Bind {
                flag: "--listen",
                source,
            },
            serve::Error::Bind {
                key: "server.gateway_listen",
                source,
            } => Self::Bind {
                flag: "--gateway-listen",
                source,
            },
            serve::Error::StateDir(_)
            | serve::Error::KeySecret(_)
            | serve::Error::Database(_)
            | serve::Error::Limiters(_) => Self::Data(error),
            other => Self::Serve(other),
        }
    }
}
