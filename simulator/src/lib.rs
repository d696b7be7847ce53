//! Lookalikes of throttled APIs, so that everything around them can run and be tested with no
//! account and no network.
//!
//! It speaks Microsoft Graph's OneNote under `/v1.0` and `/beta`: notebooks, sections, nested
//! section groups, pages, their HTML and their images; notebooks, sections and pages can be made,
//! and a page's text changed. A `$batch` is taken apart: each of its parts is a call with limits
//! of its own. It speaks Notion under `/v1`: pages, their blocks, search.
//!
//! What makes it worth having is that it **enforces the limits** (OneNote's per user, 120 a
//! minute, 400 an hour, 5 at a time, and per application, 240, 800 and 20; Notion's per
//! connection, 3 a second and 180 a minute) with code of its own, shared with nobody, and that it
//! keeps an **honest score**: `GET /_sim/stats` tells the highest count that any sliding window
//! ever held, measured apart from the enforcement. `POST /_sim/faults` makes it misbehave on
//! demand, `faults_permille` makes Graph do so by chance.
//!
//! How the pieces lie:
//!
//! - `budget` is pure and is told the time: `limits` refuses, `referee` measures, `ledger` keeps
//!   both per user and application, or per connection. It counts *unscaled* microseconds;
//! - `content` invents a user's notebooks from the seed, the same at every start, and keeps what
//!   was written since;
//! - `graph` and `notion` are the HTTP surfaces, `sim_api` the one under `/_sim`, `faults` what can
//!   be injected, `streams` the bodies of all;
//! - `clock` is the only place that reads a clock, `simulator` the only one that spawns.

mod budget;
mod clock;
mod content;
mod faults;
mod graph;
mod identity;
mod notion;
mod random;
mod serve;
mod settings;
mod sim_api;
mod simulator;
mod streams;

pub use budget::stats::{BudgetStats, LayerStats, Scope, Stats, Upstream};
pub use identity::bearer;
pub use serve::serve;
pub use settings::{
    ChoiceError, Latency, Limits, Rate, Rejected, ScopeLimits, Settings, SettingsError, Windows,
};
pub use simulator::Simulator;
