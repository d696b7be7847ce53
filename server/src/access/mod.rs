//! Who gets in, and what they may do.
//!
//! Programs bring a token ([`secret`]) with [`rights`]. [`tokens`] knows those that are valid.

pub mod rights;
pub mod secret;
pub mod tokens;

pub use rights::{Impossible, Rights, Role, Scope};
pub use secret::{TokenHash, TokenSecret};
pub use tokens::{NotValid, Token, Tokens};
