//! The API at its boundary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod audit;
mod document;
mod flood_counts;
mod flood_night;
mod floods;
mod history;
mod letters;
mod lists;
mod live_limits;
mod pauses;
mod policies;
mod repeated;
#[path = "../support/mod.rs"]
mod support;
mod traces;
mod viewers;
