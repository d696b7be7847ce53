//! The engine of Spillway: decides which call may go upstream now, and why not.
//!
//! It is sans-IO: told the time, it answers with decisions that say why; drivers around it
//! wait, do I/O and log. It holds no clock, thread, async, randomness or float, and compiles
//! to wasm.
//!
//! # Why the upstream never has to answer 429
//!
//! A call is charged to all its budgets or to none, and in each of them it counts **while it
//! is in flight and until one full window after it ended**. That is enough, whatever the kind
//! or phase of the upstream's windows:
//!
//! 1. The upstream counts a call at one instant *u* somewhere between its grant *g* and its
//!    end *e*: it cannot see it before it is sent, and has seen it once its answer is over.
//! 2. Take any interval of a window's length, from *t* to *t + W*, and all calls that the
//!    upstream counts in it. Let *g* be the last of their grants, so *g ≤ t + W*.
//! 3. Each of the others was granted before *g* and ended at *t* or later, so at *g* it was
//!    either in flight or had ended at most *W* before: this engine counted it then.
//! 4. The last one was granted only because all of them together fitted the limit. So no
//!    interval of the window's length holds more than the limit, be it a fixed window at any
//!    phase, a sliding one, or one that starts with the first call.
//!
//! No estimate of latency or of the upstream's clock is needed. Windows are stretched by
//! 0.05 % + 1 ms against clocks that drift and instants cut to milliseconds. Token buckets
//! and GCRA lack the property: filled to the brim, they admit twice the limit in some window.
//!
//! The price is the part of a window for which calls run: sustained use reaches
//! 0.995 × *T* / (*T* + bucket width + mean latency) of the limit.
//!
//! # Lanes
//!
//! Background calls may hold at most their share of every layer, counted apart; foreground
//! calls may use all that is free.
//!
//! # The wait
//!
//! A refusal says when the call would fit if only time passed: the maximum over all layers,
//! with the layer that blocks longest. Where running calls stand in the way, that is an
//! estimate from the recent median of how long calls run, and says so.

mod breaker;
mod budget;
mod call;
mod change;
mod charge;
mod counts;
mod decision;
mod ends;
mod engine;
mod evidence;
mod find;
pub mod flood;
mod headroom;
mod key;
mod lease;
mod log;
mod node;
mod pause;
mod places;
pub mod policy;
pub mod preset;
mod queue;
mod record;
mod report;
mod shadow;
mod shape;
mod shards;
pub mod signal;
mod survey;
mod time;
mod tree;
mod trouble;
mod turns;
mod view;
mod workload;

pub use breaker::{Breaker, Reason, Status, View as BreakerView};
pub use call::{Call, Lane, PerLane, Permit, Scope};
pub use decision::{Answer, BlockedBy, Busy, Ended, Grant, NotRenewed, Refusal, Settled, Ticket};
pub use engine::{Engine, Settings};
pub use find::{Found, Trouble, Wanted};
pub use headroom::Headroom;
pub use key::Key;
pub use lease::Lease;
pub use log::Landed;
pub use pause::{PAUSES_MAX, TooManyPauses, Whose};
pub use policy::{BreakerRules, Dimension, Layer, Override, OwnLimit, Policy, Share};
pub use preset::Preset;
pub use record::BudgetRecord;
pub use report::Trip;
pub use shadow::ShadowView;
pub use shards::Opener;
pub use signal::{Named, Remaining, Signal, Verdict};
pub use survey::{LayerSurvey, ScopeSurvey, Survey, SurveyStep};
pub use time::Instant;
pub use trouble::{NAMED_MAX, Stopped};
pub use view::{BudgetView, Cursor, LayerView, LeaseView, UserView, WorkloadView};
