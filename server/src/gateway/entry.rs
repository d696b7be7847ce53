//! Who gets into the gateway: holders of a token, and callers from networks that the upstream
//! lets in. A token that is shown must be valid, wherever it comes from.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, request::Parts};
use jiff::Timestamp;

use super::{
    Gateway,
    dialect::Dialect,
    misplaced,
    refusal::{Refusal, Unauthorized},
    upstream::Upstream,
};
use crate::{
    access::{Access, Caller, NoAddress, NotValid, Scope, Tokens},
    http::Peer,
};

const TOKEN: HeaderName = HeaderName::from_static("spillway-token");

/// Who makes the call, if it may call `upstream` at all. Where there is no such upstream, only
/// holders of a token learn of it.
pub(super) async fn enter(
    gateway: &Gateway,
    upstream: Option<&Upstream>,
    parts: &Parts,
    peer: Option<Peer>,
) -> Result<Caller, Refusal> {
    if let Some(place) = misplaced::find(&parts.uri, &parts.headers) {
        return Err(Refusal::Misplaced(place));
    }
    let Access::Closed(tokens, _) = &gateway.access else {
        return Ok(Caller::Anyone);
    };
    let dialect = upstream.map_or(Dialect::Generic, Upstream::dialect);
    let unauthorized = |why| Refusal::Unauthorized(why, dialect);
    let Some(token) = parts.headers.get(TOKEN) else {
        let network = network(gateway, upstream, parts, peer);
        return network.map_err(unauthorized);
    };
    // On the heap: it may ask the database.
    let caller = Box::pin(holder(tokens, token.as_bytes())).await;
    let caller = caller.map_err(|not| Refusal::by_token(not, dialect))?;
    caller.is_for(Scope::Gateway)?;
    if let Some(upstream) = upstream {
        caller.may_use(upstream.limiter.name())?;
    }
    Ok(caller)
}

async fn holder(tokens: &Tokens, token: &[u8]) -> Result<Caller, NotValid> {
    let token = tokens.find(token.trim_ascii(), Timestamp::now()).await?;
    Ok(Caller::Token(token))
}

fn network(
    gateway: &Gateway,
    upstream: Option<&Upstream>,
    parts: &Parts,
    peer: Option<Peer>,
) -> Result<Caller, Unauthorized> {
    let clients = upstream.map_or(&[][..], |upstream| &upstream.clients);
    let Some(Peer(peer)) = peer.filter(|_| !clients.is_empty()) else {
        return Err(Unauthorized::Nobody);
    };
    let address = address(gateway, peer, &parts.headers)?;
    let client = clients
        .iter()
        .find(|client| client.of.cidr.contains(&address));
    client
        .inspect(|client| client.see(Timestamp::now()))
        .cloned()
        .map(Caller::Network)
        .ok_or(Unauthorized::Nobody)
}

fn address(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<std::net::IpAddr, NoAddress> {
    gateway.proxies.client(peer.ip(), headers)
}
