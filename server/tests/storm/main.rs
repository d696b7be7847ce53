//! Crowds of bad clients and an upstream that dies: nothing is left behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod cut_clients;
mod load;
mod memory;
mod simulator;
#[path = "../support/mod.rs"]
mod support;
mod waiting_callers;

use std::time::Duration;

use tokio::sync::Mutex;

/// Longer than any single step may take: permits of calls whose end nobody knows are kept for
/// two minutes.
const PATIENCE: Duration = Duration::from_secs(180);

/// One storm at a time: each needs the machine for itself.
static ALONE: Mutex<()> = Mutex::const_new(());

/// What the servers of the storm log: what is wrong, and the line that says where they are.
const LOG: &str = "warn,spillway_server::serve=info";

/// How many times faster than the wall clock limits and permits run in the storm.
const SCALE: u32 = 300;
