//! The gateway at its boundary: real sockets on both sides.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod answers;
mod batches;
mod breakers;
mod browsers;
mod calls;
mod closing;
mod limits;
mod links;
mod links_up;
mod log;
mod memory;
mod operations;
mod permits;
mod requests;
mod retries;
mod sdk_patience;
#[path = "../support/mod.rs"]
mod support;
mod told_waits;
mod units;
