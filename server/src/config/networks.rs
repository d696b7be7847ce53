//! Networks: whose callers need no token, and whose proxies are believed.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use serde::Deserialize;
use spillway::Lane;

use super::{Error, upstream};

/// A network whose callers an upstream lets in without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientNetwork {
    /// Names it in the log: the network as it is written.
    pub name: String,
    /// Their addresses.
    pub cidr: IpNet,
    /// Whose budgets they use; `None`: as their credentials or the upstream's `app` say.
    pub app: Option<String>,
    /// The lane of calls that name none.
    pub lane: Option<Lane>,
}

/// `[[upstreams.NAME.clients]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    cidr: Option<String>,
    app: Option<String>,
    lane: Option<Lane>,
}

/// The narrowest come first, as they say most.
pub(super) fn clients(key: &str, raw: Vec<RawClient>) -> Result<Vec<Arc<ClientNetwork>>, Error> {
    let mut clients = Vec::new();
    for (n, raw) in raw.into_iter().enumerate() {
        let client = raw.check(&format!("{key}.clients[{n}]"))?;
        if clients
            .iter()
            .any(|other: &Arc<ClientNetwork>| other.cidr == client.cidr)
        {
            let problem = format!("{} is given twice", client.cidr);
            return Err(Error::invalid(format!("{key}.clients[{n}].cidr"), problem));
        }
        clients.push(Arc::new(client));
    }
    clients.sort_by_key(|client| std::cmp::Reverse(client.cidr.prefix_len()));
    Ok(clients)
}

/// Networks, or single addresses.
pub(super) fn proxies(key: &str, texts: &[String]) -> Result<Vec<IpNet>, Error> {
    let networks = texts.iter().enumerate();
    networks
        .map(|(n, text)| network(&format!("{key}[{n}]"), text))
        .collect()
}

impl RawClient {
    fn check(self, key: &str) -> Result<ClientNetwork, Error> {
        let cidr_key = format!("{key}.cidr");
        let Some(cidr) = self.cidr else {
            return Err(Error::invalid(cidr_key, "is missing"));
        };
        let cidr = network(&cidr_key, &cidr)?;
        Ok(ClientNetwork {
            name: cidr.to_string(),
            cidr,
            app: match self.app {
                Some(app) => Some(upstream::app_key(&format!("{key}.app"), app)?),
                None => None,
            },
            lane: self.lane,
        })
    }
}

fn network(key: &str, text: &str) -> Result<IpNet, Error> {
    let network = text.parse::<IpNet>().ok();
    let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let Some(network) = network else {
        let problem = "must be a network or an address, like 10.1.0.0/16";
        return Err(Error::invalid(key, problem));
    };
    let whole = network.trunc();
    if whole != network {
        let problem = format!("{network} is an address in a network; the network is {whole}");
        return Err(Error::invalid(key, problem));
    }
    if network.prefix_len() == 0 {
        let problem = "must not be everybody: whoever reaches the port would be let in";
        return Err(Error::invalid(key, problem));
    }
    if let IpNet::V6(mapped) = network
        && mapped.addr().to_ipv4_mapped().is_some()
    {
        let problem = "must be written as the IPv4 network that it is";
        return Err(Error::invalid(key, problem));
    }
    Ok(network)
}
