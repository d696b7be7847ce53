//! `spillway demo`: server, simulator, users and a form platform in one process.
//!
//! The server is composed by [`serve::run`] as `spillway serve --open` is, but that steering
//! takes one of the [`accounts`] that are made for it; the simulator
//! has a listener of its own; and the users ([`workload`]) know nothing of either but the
//! gateway's address, nor the form [`platform`] but the dashboard's. Mail lands in a [`mailbox`].
//! The end: the users leave; once the last is gone the server finishes
//! what is in flight, and only then does the simulator stop answering.

mod accounts;
mod args;
pub mod authority;
mod banner;
mod error;
mod folder;
mod mailbox;
pub mod people;
mod platform;
mod settings;
pub(crate) mod workload;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use spillway_simulator::Simulator;
use tokio::{net::TcpListener, sync::oneshot};

use crate::{
    http::{self, Shutdown},
    limiter::Recovery,
    serve::{self, Options, Ready},
};
pub use args::Demo;
use banner::Banner;
pub use error::Error;
use folder::Folder;
use platform::Platform;
use workload::{Gateway, Workload};

/// Where the mail server listens that the demo's mail goes to: nobody else needs to know.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Runs the demo until `shutdown` begins.
///
/// # Errors
/// See [`Error`].
pub async fn run(demo: &Demo, shutdown: Shutdown) -> Result<(), Error> {
    demo.check()?;
    let folder = Folder::open(demo.data_dir.as_deref())?;
    let simulator = Simulator::new(demo.simulator())?;
    let (listener, at) = listen("--simulator-listen", demo.simulator_listen).await?;
    let (smtp, smtp_at) = listen("--mailbox-listen", ANY_PORT).await?;
    let (mails, mails_at) = listen("--mailbox-listen", demo.mailbox_listen).await?;
    let certificates = demo.certificates(&folder)?;
    let config = settings::config(demo, at, smtp_at, &folder, certificates.as_ref())?;
    let ca = certificates.as_ref().map(|files| files.ca.as_path());
    let (gateway, connector) = (Gateway::new(ca)?, Gateway::connector(ca)?);
    let now = jiff::Timestamp::now();
    let accounts = accounts::make(&config.server.database_url, now).await?;
    platform::tell(&config.server.database_url, now).await?;
    let options = Options {
        open: true,
        guests: true,
        recovery: Recovery::AssumeFull,
        time_scale: demo.time_scale,
        ..Options::default()
    };

    let (tell, told) = oneshot::channel::<Ready>();
    let (left, served) = (Shutdown::new(), Shutdown::new());
    let serving = serve::run(config, options, left.clone(), |ready| {
        drop(tell.send(ready))
    });
    let users = async {
        if let Ok(ready) = told.await {
            Banner::new(demo, &ready, at, &folder)
                .with(certificates.as_ref())
                .and_accounts(&accounts)
                .and_mails(mails_at)
                .show();
            let workload = Workload::start(demo, gateway.at(&ready.gateway));
            let (scale, seed) = (demo.time_scale, demo.seed);
            let platform = Platform::new(connector, &ready.dashboard, scale, seed);
            tokio::join!(workload.run_until(&shutdown), platform.run(&shutdown));
        }
        left.begin();
    };
    let server = async {
        let (result, ()) = tokio::join!(serving, users);
        served.begin();
        result
    };
    let (simulated, served, ()) = tokio::join!(
        simulate(listener, simulator, &served, &shutdown),
        server,
        mailbox::run(smtp, mails, mails_at, &served),
    );
    served?;
    simulated
}

async fn listen(
    flag: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Bind { flag, source };
    let listener = http::bind(address).await.map_err(failed)?;
    let bound = listener
        .local_addr()
        .map_err(|source| failed(http::BindError::new(address, source)))?;
    Ok((listener, bound))
}

/// Answers as the upstream until the server has ended; where it cannot, everything ends.
async fn simulate(
    listener: TcpListener,
    simulator: Simulator,
    served: &Shutdown,
    shutdown: &Shutdown,
) -> Result<(), Error> {
    let served = served.clone();
    let simulated =
        spillway_simulator::serve(listener, simulator, async move { served.begun().await }).await;
    shutdown.begin();
    simulated.map_err(Error::Listener)
}
