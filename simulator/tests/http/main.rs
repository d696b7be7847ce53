//! The lookalike over real connections.
#![allow(clippy::unwrap_used)] // A wrong assumption is a failed test.

mod batch;
mod limits;
mod notion;
mod reads;
mod shutdown;
mod support;
mod writes;
