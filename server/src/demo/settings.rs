//! What the demo configures the server with.

use std::net::SocketAddr;

use super::{Demo, Error, Folder, authority::Files};
use crate::config::Config;

/// The upstream's name: the first segment of the gateway's paths.
pub(super) const UPSTREAM: &str = "graph";

/// The application that all users use.
pub(super) const APP: &str = "note-bridge";

/// How long the gateway holds a call, in milliseconds of the wall clock: with time running
/// sixtyfold, longer than the longest window, so that callers wait where they would
/// otherwise be refused.
const HOLD_MS_MAX: u64 = 70_000;

/// The configuration of a server in front of the simulator at `simulator`, with its mail to `smtp`.
pub(super) fn config(
    demo: &Demo,
    simulator: SocketAddr,
    smtp: SocketAddr,
    folder: &Folder<'_>,
    certificates: Option<&Files>,
) -> Result<Config, Error> {
    let mut config = Config::parse(&format!(
        "[upstreams.{UPSTREAM}]\n\
         base_url = 'http://{simulator}/'\n\
         presets = ['onenote']\n\
         app = '{APP}'\n\
         user_from = 'token'\n\
         hold_max_ms = {HOLD_MS_MAX}\n\
         [mail]\n\
         smtp_url = 'smtp://{smtp}?tls=none'\n\
         from = 'Spillway <spillway@demo.invalid>'\n\
         to = ['operators@demo.invalid']\n"
    ))?;
    config.server.listen = demo.listen;
    config.server.gateway_listen = demo.gateway_listen;
    config.server.tls = certificates.map(|files| files.server.clone());
    config.server.database_url = folder.database_url();
    config.server.state_dir = folder.path().join("state");
    Ok(config)
}
