//! The edge: who may ask at all, how errors look, what is logged, how a listener ends.
//!
//! Every call of both listeners is logged ([`calls`]) and comes through [`guarded`]: what is no
//! request at all is refused, then, by the Host allow-list, what is not meant for us, then, while
//! open, what was forwarded. The dashboard's listener asks besides that no other site's page changes
//! anything ([`cross_site`]), and its routes have rules that say who may ask ([`caller`]). The
//! gateway asks by itself who calls. Who is signed in is told by a cookie ([`visitors`]).

mod access_log;
mod activity;
mod aside;
mod bounds;
mod calls;
mod connection;
mod credit;
mod cross_site;
mod door;
mod forwarded;
mod health;
mod hosts;
mod listener;
mod places;
mod problem;
mod request_id;
mod rules;
mod shutdown;
mod streams;
mod tls;
mod upload;
mod visitors;

pub use access_log::{Arrived, Entry};
pub use calls::Peer;
pub use credit::{Credit, TooSlow};
pub(crate) use cross_site::refusal as cross_site_refusal;
pub use door::{Answer, Guard, Guarded, guarded};
pub use health::Health;
pub use hosts::AllowedHosts;
pub use listener::{BindError, Listener, bind, serve};
pub use problem::{Problem, ProblemDocument, retry_after_s};
pub use request_id::{REQUEST_ID, RequestId};
pub(crate) use rules::{Head, caller, needs_token, not_valid};
pub use shutdown::Shutdown;
pub use tls::{RELOAD_EVERY, Tls, TlsError};
pub use visitors::{Auth, Visitor};
pub(crate) use visitors::{known_visitors, see_other, sign_in_first, visitor};
