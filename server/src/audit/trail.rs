//! What audits the acts of requests.

use http::request::Parts;

use super::{Actor, By};
use crate::{
    access::{Caller, TrustedProxies},
    http::Peer,
    store::Store,
};

/// Where acts are written down, and what tells from where they were asked. Clones share it.
#[derive(Clone, Debug)]
pub struct Trail {
    /// The database of the audit log.
    pub store: Store,
    /// The proxies whose word on who asks is taken.
    pub proxies: TrustedProxies,
}

impl Trail {
    /// Who asks by a request with this head, for no reason yet.
    #[must_use]
    pub fn by(&self, head: &Parts) -> By {
        let caller = head.extensions.get::<Caller>();
        let peer = head.extensions.get::<Peer>();
        let client = peer.and_then(|peer| self.proxies.client(peer.0.ip(), &head.headers).ok());
        By {
            actor: caller.map_or_else(Actor::anyone, Actor::from),
            client,
            reason: None,
        }
    }
}
