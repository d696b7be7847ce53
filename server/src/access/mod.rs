//! Who gets in, and what they may do.
//!
//! Programs bring a token ([`secret`]) with [`rights`]; [`tokens`] knows those that are valid.
//! People sign in with a [`password`], [`throttle`]d, or set a new server up ([`set_up`]); who has
//! no password yet chooses one by an [`invitation`];
//! [`people`] knows them and their sessions. A site's admins have no account: a signed link in
//! their mails ([`SiteLinks`]) lets them see to the lists of that site.
//! The gateway also lets in who calls from a configured network, found behind [`proxies`] that
//! are trusted. Either way a [`Caller`] comes of it, which says what it may do, and ends what
//! waits in its name when its token does ([`validity`]). Each has an [`account`] of what it has
//! taken of what all share.

mod account;
mod caller;
pub mod invitation;
pub mod password;
pub mod people;
pub mod person;
pub mod provider;
mod proxies;
pub mod rights;
pub mod secret;
pub mod set_up;
pub mod site_link;
mod throttle;
pub mod tokens;
mod validity;
mod wait;

pub use account::{Account, Full, Good, Taken};
pub use caller::{Caller, Denied, Network};
pub use password::Hasher;
pub use people::{People, Session};
pub use person::Person;
pub use provider::Provider;
pub use proxies::{NoAddress, TrustedProxies, marks_a_proxy};
pub use rights::{Impossible, Rights, Role, Scope};
pub use secret::{TokenHash, TokenSecret};
pub use site_link::{NotLetIn, SiteLink, SiteLinks};
pub use tokens::{NotValid, Token, Tokens};
pub use validity::Validity;
pub use wait::Stopped;

/// Whom the server lets in. Clones share it.
#[derive(Clone, Debug)]
pub enum Access {
    /// Anyone (`--open`): only ever on loopback.
    Open,
    /// Anyone to look and to call, people who have signed in to steer (the demo): only ever
    /// on loopback.
    Demo(People),
    /// Holders of these tokens, people who have signed in, and at the gateway callers from
    /// configured networks.
    Closed(Tokens, People),
}

impl Access {
    /// Those who may sign in; `None`: nobody needs to.
    #[must_use]
    pub const fn people(&self) -> Option<&People> {
        match self {
            Self::Open => None,
            Self::Demo(people) | Self::Closed(_, people) => Some(people),
        }
    }

    /// The tokens that programs bring; `None`: they need none.
    #[must_use]
    pub const fn tokens(&self) -> Option<&Tokens> {
        match self {
            Self::Open | Self::Demo(_) => None,
            Self::Closed(tokens, _) => Some(tokens),
        }
    }

    /// Whether strangers are let in, which they are on loopback alone.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self, Self::Closed(..))
    }
}
