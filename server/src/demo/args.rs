//! What `spillway demo` can be told.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use spillway_simulator::{Rejected, Settings, Windows};

use super::{
    Error, Folder,
    authority::{self, Files},
};

/// `spillway demo`
///
/// Everything in one process: a OneNote lookalike that enforces the real limits, the
/// server in front of it, users who call through the gateway as any client would, and a form
/// platform some of whose events are a flood.
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Demo {
    /// Where the dashboard and the API listen; loopback only, as anybody may look
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub listen: SocketAddr,
    /// Where the gateway listens; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3001")]
    pub gateway_listen: SocketAddr,
    /// Where the simulator listens; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3002")]
    pub simulator_listen: SocketAddr,
    /// Where the mails are shown that Spillway sends in the demo; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3003")]
    pub mailbox_listen: SocketAddr,
    /// Speak TLS on both ports, as SDKs insist on, with a certificate made for this run; its
    /// authority, for clients to trust, is written beside the database
    #[arg(long)]
    pub tls: bool,
    /// How many times faster than the wall clock everything runs: 60 makes an hour's limit
    /// a minute's. Up to 1000; beyond some 300 the machine is slower than the latencies
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub time_scale: u32,
    /// Where database and counters are kept. Without this, in a temporary folder that is
    /// removed at the end
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// How many users look into their notebooks now and then, in the foreground lane
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(0..=200))]
    pub scan_users: u32,
    /// How many users' notebooks are crawled without end, in the background lane
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub crawl_users: u32,
    /// One more foreground user, who always has more to ask than an hour allows
    #[arg(long)]
    pub saturate: bool,
    /// Decides contents, latencies and what the users do
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How the simulator counts its rate windows: fixed (back to back, at a random phase) or sliding
    #[arg(long, value_name = "KIND", default_value = "fixed")]
    pub windows: Windows,
    /// Whether calls that the simulator refuses count against its windows: count or ignore
    #[arg(long, value_name = "WHETHER", default_value = "count")]
    pub rejected: Rejected,
}

impl Demo {
    /// What the simulator is told.
    pub(super) fn simulator(&self) -> Settings {
        Settings {
            time_scale: self.time_scale,
            windows: self.windows,
            rejected: self.rejected,
            seed: self.seed,
            ..Settings::default()
        }
    }

    /// What TLS needs, made anew.
    pub(super) fn certificates(&self, folder: &Folder<'_>) -> Result<Option<Files>, Error> {
        if !self.tls {
            return Ok(None);
        }
        let addresses = [self.listen.ip(), self.gateway_listen.ip()];
        Ok(Some(authority::write(
            folder.path(),
            addresses,
            jiff::Timestamp::now(),
        )?))
    }

    /// All addresses must be this machine's own: nothing here asks who calls.
    pub(super) fn check(&self) -> Result<(), Error> {
        let addresses = [
            ("--listen", self.listen),
            ("--gateway-listen", self.gateway_listen),
            ("--simulator-listen", self.simulator_listen),
            ("--mailbox-listen", self.mailbox_listen),
        ];
        match addresses
            .into_iter()
            .find(|(_, address)| !address.ip().is_loopback())
        {
            Some((flag, address)) => Err(Error::NotLoopback { flag, address }),
            None => Ok(()),
        }
    }
}
