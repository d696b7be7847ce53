//! The Spillway server: what the engine decides, done.
//!
//! - [`config`] and [`cli`]: what it is told at start; everything wrong ends there.
//! - [`access`]: who gets in, and what they may do.
//! - [`audit`]: who did what, chained so that changes are found.
//! - [`limiter`]: drives the engine: waits, journals, restores.
//! - [`policy`]: limits as they are changed.
//! - [`floods`]: drives the flood guard: strikes that are durable, minutes that come back.
//! - [`gateway`]: calls to the upstreams, held until a permit is theirs.
//! - [`api`], [`live`] and [`dashboard`]: what programs and people see.
//! - [`chart`]: values and states over time, as SVG.
//! - [`history`]: how full limits were and what became of calls, for 30 days.
//! - [`alerts`]: who is told that something is wrong; [`outbox`]: what is owed to them.
//! - [`house`]: how Spillway itself is, and what was changed lately.
//! - [`metrics`]: what Prometheus reads.
//! - [`traces`]: spans for OpenTelemetry.
//! - [`store`]: the only module that knows SQL.
//! - [`http`]: who may ask at all, how errors look, and how a listener ends.
//! - [`open_files`]: raises the limit that every connection counts against.
//! - [`serve`], [`demo`], [`simulate`], [`token`], [`user`], [`audit`], [`mail`] and [`policy`]: the
//!   commands; [`failure`]: how they end; [`table`]: what they list.

pub mod access;
pub mod alerts;
pub mod api;
pub mod audit;
pub mod chart;
pub mod cli;
pub mod clock;
pub mod config;
pub mod dashboard;
pub mod demo;
pub mod failure;
pub mod floods;
pub mod front;
pub mod gateway;
pub mod history;
pub mod house;
pub mod http;
pub mod limiter;
pub mod live;
pub mod mail;
pub mod metrics;
pub mod open_files;
pub mod outbox;
pub mod policy;
pub mod serve;
pub mod simulate;
pub mod store;
pub mod table;
pub mod telemetry;
pub mod token;
pub mod traces;
pub mod user;
