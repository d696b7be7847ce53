//! The Spillway server: what the engine decides, done.
//!
//! - [`config`] and [`cli`]: what it is told at start; everything wrong ends there.
//! - [`limiter`]: drives the engine: waits, journals, restores.
//! - [`gateway`]: calls to the upstreams, held until a permit is theirs.
//! - [`api`], [`live`] and [`dashboard`]: what programs and people see.
//! - [`store`]: the only module that knows SQL.
//! - [`http`]: who may ask at all, how errors look, and how a listener ends.
//! - [`serve`]: puts them together.

pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod dashboard;
pub mod gateway;
pub mod http;
pub mod limiter;
pub mod live;
pub mod serve;
pub mod store;
pub mod telemetry;
