//! The ports: taken before anything is served, and how they are reached.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::{Error, Ready};
use crate::{
    config::{self, WebAddress},
    http::{self, BindError, Listener, Tls},
};

/// Both ports, taken but not served.
pub(super) struct Listeners {
    pub(super) dashboard: Listener,
    pub(super) gateway: Listener,
    pub(super) tls: Option<Tls>,
    pub(super) ready: Ready,
}

impl Listeners {
    pub(super) async fn bind(server: &config::Server, tls: Option<Tls>) -> Result<Self, Error> {
        let (dashboard, dashboard_at) = listen("server.listen", server.listen).await?;
        let (gateway, gateway_at) = listen("server.gateway_listen", server.gateway_listen).await?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = |key, configured: &Option<WebAddress>, bound| {
            address(key, configured.as_ref(), scheme, bound)
        };
        let ready = Ready {
            dashboard: url("server.public_url", &server.public_url, dashboard_at)?,
            gateway: url("server.gateway_url", &server.gateway_url, gateway_at)?,
            set_up: None,
        };
        let listener = |name, socket| Listener {
            name,
            socket,
            tls: tls.clone(),
        };
        Ok(Self {
            dashboard: listener("dashboard", dashboard),
            gateway: listener("gateway", gateway),
            tls,
            ready,
        })
    }
}

async fn listen(
    key: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Bind { key, source };
    let listener = http::bind(address).await.map_err(failed)?;
    let bound = listener
        .local_addr()
        .map_err(|source| failed(BindError::new(address, source)))?;
    Ok((listener, bound))
}

/// The configured address, or the one that is listened on; who listens everywhere has none.
fn address(
    key: &str,
    configured: Option<&WebAddress>,
    scheme: &str,
    bound: SocketAddr,
) -> Result<WebAddress, Error> {
    if let Some(address) = configured {
        return Ok(address.clone());
    }
    let address = format!("{scheme}://{bound}").parse().ok();
    address
        .filter(|_| !bound.ip().is_unspecified())
        .ok_or_else(|| {
            let problem = format!("is needed when listening on {}", bound.ip());
            config::Error::invalid(key, problem).into()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_must_say_where_it_is_reached() {
        let everywhere = "0.0.0.0:3000".parse().unwrap();
        let error = address("server.public_url", None, "http", everywhere).unwrap_err();
        assert_eq!(
            error.to_string(),
            "server.public_url: is needed when listening on 0.0.0.0"
        );
        let configured = "https://spillway.example.org".parse().unwrap();
        let found = address("server.public_url", Some(&configured), "http", everywhere).unwrap();
        assert_eq!(found, configured);
        let own = address(
            "server.public_url",
            None,
            "https",
            "[::1]:3000".parse().unwrap(),
        )
        .unwrap();
        assert_eq!(own.to_string(), "https://[::1]:3000");
    }
}
