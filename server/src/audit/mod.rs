//! The audit log: who did what, when, from where, why, and what it changed.
//!
//! An [`Act`] is what somebody does, an [`Entry`] the row that it became. What changes the
//! database is written in one transaction with its entry; what does not is done only while its
//! entry can be written (`Store::audited`). Each entry is chained to the one before it by its
//! hash ([`entry`]), which [`verify`] checks, and is copied to the log once it is on disk.

pub mod action;
mod actor;
mod args;
mod changes;
mod check;
mod command;
mod entry;
mod reason;
mod trail;
mod verify;

pub use actor::{Actor, ActorKind, By};
pub use args::{Audit, Command};
pub use changes::{Change, changes};
pub use check::{Check, NotWhole};
pub use command::{Error, run};
pub use entry::{Act, Entry, EntryHash, Head, NoHead};
pub use reason::{NoReason, REASON_CHARS_MAX, reason};
pub use trail::Trail;
pub use verify::{Broken, Chain};
