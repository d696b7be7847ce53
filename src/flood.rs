//! The flood guard: a form platform asks before it handles an event, and a rule that fires itself
//! is stopped within its first minutes.
//!
//! Per site, list and [`Component`], events are counted by fixed clock minutes. The event that
//! reaches the [`Policy`]'s threshold is still handled and is the minute's **strike**; later events
//! of that minute are stopped, except in the minutes of the day's first strikes, which are
//! graced. Too many strikes within one day of the site disable the component on that list until a
//! person re-enables it; from then on that day's next strike disables it again at once.
//!
//! Like the rest of the engine this is told the time, and the day of the site's time zone with it:
//! zones need tables that change with the law. What must be durable before an event is answered
//! comes back with the answer ([`Answer::strike`]).

mod component;
mod event;
mod guard;
mod minutes;
mod pause;
mod policy;
mod preview;
mod record;
mod strikes;
mod view;

pub use event::{Answer, Component, Day, Decision, Event, ListKey, NotCounted, Strike, Trigger};
pub use guard::{Guard, Settings};
pub use pause::Pause;
pub use policy::{Error as PolicyError, Policy};
pub use preview::{Minute, Peaks, Preview, Recorded, Stopped, preview};
pub use record::{Disabled, MinuteRecord, StrikeRecord};
pub use view::{ComponentView, ListView};

/// How late an event may be reported, in milliseconds: 15 minutes, as the API promises.
pub const LATE_MS_MAX: u64 = 15 * 60_000;

/// A clock minute, in milliseconds.
pub const MINUTE_MS: u64 = 60_000;
