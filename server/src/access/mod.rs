//! Who gets in, and what they may do.
//!
//! Programs bring a token ([`secret`]) with [`rights`]; [`tokens`] knows those that are valid.
//! The gateway also lets in who calls from a configured network, found behind [`proxies`] that
//! are trusted. Either way a [`Caller`] comes of it, which says what it may do, and ends what
//! waits in its name when its token does ([`validity`]).

mod caller;
mod proxies;
pub mod rights;
pub mod secret;
pub mod tokens;
mod validity;
mod wait;

pub use caller::{Caller, Denied};
pub use proxies::{NoAddress, TrustedProxies, marks_a_proxy};
pub use rights::{Impossible, Rights, Role, Scope};
pub use secret::{TokenHash, TokenSecret};
pub use tokens::{NotValid, Token, Tokens};
pub use validity::Validity;

/// Whom the server lets in. Clones share it.
#[derive(Clone, Debug)]
pub enum Access {
    /// Anyone (`--open`, and the demo): only ever on loopback.
    Open,
    /// Holders of these tokens, and at the gateway callers from configured networks.
    Closed(Tokens),
}
