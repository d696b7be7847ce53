//! The flood guard: its worked examples, and random histories against a plain model.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod examples;
mod histories;
mod model;
mod nights;
mod previews;
