//! Who gets in, and what they may do.
//!
//! Programs bring a token ([`secret`]) with [`rights`]; [`tokens`] knows those that are valid.
//! The gateway also lets in who calls from a configured network, found behind [`proxies`] that
//! are trusted. Either way a [`Caller`] comes of it, which says what it may do, and ends what
//! waits in its name when its token does ([`validity`]). Each has an [`account`] of what it has
//! taken of what all share.

mod account;
mod caller;
pub mod password;
pub mod person;
mod proxies;
pub mod rights;
pub mod secret;
pub mod tokens;
mod validity;
mod wait;

pub use account::{Account, Full, Good, Taken};
pub use caller::{Caller, Denied, Network};
pub use password::Hasher;
pub use person::Person;
pub use proxies::{NoAddress, TrustedProxies, marks_a_proxy};
pub use rights::{Impossible, Rights, Role, Scope};
pub use secret::{TokenHash, TokenSecret};
pub use tokens::{NotValid, Token, Tokens};
pub use validity::Validity;
pub use wait::Stopped;

/// Whom the server lets in. Clones share it.
#[derive(Clone, Debug)]
pub enum Access {
    /// Anyone (`--open`, and the demo): only ever on loopback.
    Open,
    /// Holders of these tokens, and at the gateway callers from configured networks.
    Closed(Tokens),
}
