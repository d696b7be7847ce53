//! What a seed decides: who calls, how the upstream counts, what goes wrong and when. A
//! script with parts dropped is a script too, which is what shrinking needs.

use spillway::{Lane, Policy};

/// One simulated world.
#[derive(Clone, Debug)]
pub struct Script {
    /// What the streams of callers and faults are drawn from.
    pub seed: u64,
    /// The engine's bounds and lengths.
    pub sizes: Sizes,
    /// The workloads.
    pub policies: Vec<Policy>,
    /// How the upstream counts.
    pub counting: Counting,
    /// Everybody who calls.
    pub callers: Vec<Caller>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// For how long callers ask.
    pub lasts_ms: u64,
    /// After so many asks a caller asks no more.
    pub asks_each: u64,
    /// How late the driver's timer is.
    pub timer_lag_ms: u64,
    /// After so many operations the driver writes a snapshot; a full one each third time.
    pub snapshot_every: usize,
}

/// The engine's settings.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub users_max: usize,
    pub waiters_max: usize,
    pub lease_ms: u64,
    pub renewals_ms_max: u64,
    pub probe_ms: u64,
}

/// How the upstream counts, unknown to the engine.
#[derive(Clone, Copy, Debug)]
pub enum Counting {
    /// In windows that begin every window's length, from this phase on.
    Fixed { phase_ms: u64 },
    /// In the window that ends now.
    Sliding,
    /// In a window that begins with the first call after the last one.
    FirstHit,
    /// Never.
    Lenient,
}

/// Somebody who makes one call after the other.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Stays the same when others are dropped.
    pub id: u32,
    pub workload: usize,
    pub app: u8,
    pub tenant: u8,
    pub user: u8,
    pub lane: Lane,
    pub weight: u32,
    pub starts_ms: u64,
    /// Between the end of one call and the next.
    pub think_ms: u64,
    /// From a grant to the answer's end, at most.
    pub latency_ms: u64,
    pub asking: Asking,
    pub ending: Ending,
    /// Calls through the gateway, and so dies with the server.
    pub gateway: bool,
}

/// How a caller asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Parks for so long, and comes as told if that was not enough.
    Park { hold_ms: u64 },
    /// Never parks; comes exactly when told.
    Return,
    /// Heeds nothing.
    Poll { every_ms: u64 },
    /// Parks and goes away.
    HangUp { hold_ms: u64, after_ms: u64 },
}

/// How a caller ends what it was granted, mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// When the answer is over.
    Prompt,
    /// Never: the lease expires.
    Never,
    /// Never, and says so.
    Abandon,
    /// So long after the lease has expired.
    Late { by_ms: u64 },
    /// The call runs so long, and is renewed.
    Renew { runs_ms: u64 },
    /// The call was never written to the wire.
    Refund,
}

/// Something that goes wrong for a while.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Stays the same when others are dropped.
    pub id: u32,
    pub at_ms: u64,
    pub lasts_ms: u64,
    pub what: What,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// So many per mille of the answers to one app, or to one of its users, throttle.
    Throttle {
        app: u8,
        user: Option<u8>,
        permille: u64,
        retry_after: Option<u32>,
        form: usize,
    },
    /// So many per mille of all answers fail: a status, or a broken connection.
    Outage { status: Option<u16>, permille: u64 },
    /// Answers report that so much of the limit is used.
    Percentage { permille: u32, form: Option<usize> },
    /// Somebody else uses so much of every layer.
    Foreign { permille: u64 },
    /// Answers take so many times as long.
    Slow { factor: u64 },
    /// The server is killed, and is back when the fault ends.
    Crash { counts_lost: bool },
    /// The server's process stands still.
    Jump,
    /// An operator forces an app's budget.
    Force {
        workload: usize,
        app: u8,
        open: bool,
    },
    /// An operator resets an app's budget, when the fault begins.
    Reset { workload: usize, app: u8 },
    /// An operator pauses the background calls of all, or of an app, a tenant or a user; the
    /// pause ends by itself, or is ended half-way.
    Pause {
        app: Option<u8>,
        tenant: Option<u8>,
        user: Option<u8>,
        resumed: bool,
    },
}

impl Fault {
    /// Whether it may open a breaker, or fill what nobody of ours used.
    pub const fn disturbs(&self) -> bool {
        !matches!(self.what, What::Slow { .. } | What::Jump)
    }
}
