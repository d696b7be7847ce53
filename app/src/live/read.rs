//! The live data read from JSON in the browser.
//!
//! The browser has a JSON parser of its own. Taking the values from what it made, member by
//! member, takes a quarter of the code that serde's derived readers and a second parser
//! would add to the module, which is held to a budget. The server writes with serde; a test
//! here reads all that it can write.

use super::{
    Attention, Breaker, BreakerReason, BreakerState, Budget, BudgetKey, Change, Delta, Dimension,
    ForcedBreaker, House, HousePart, Lane, LaneName, Lanes, Layer, Lease, Pause, PauseScope, Queue,
    RecentDelta, Scope, Second, SetBy, State, Upstream, UpstreamDelta, UserState, Workload,
    WorkloadDelta,
};

/// A JSON value.
pub trait Json: Sized {
    /// The member of this name, unless it is missing or null.
    fn member(&self, name: &str) -> Option<Self>;
    /// The elements of an array.
    fn items(&self) -> Option<Vec<Self>>;
    /// A string.
    fn text(&self) -> Option<String>;
    /// A number.
    fn number(&self) -> Option<f64>;
    /// A truth value.
    fn truth(&self) -> Option<bool>;
}

/// What can be read from JSON.
pub trait Read: Sized {
    /// The value; `None` where it is none of this type.
    fn read(json: &impl Json) -> Option<Self>;

    /// What a missing member stands for, if it may be missing.
    fn missing() -> Option<Self> {
        None
    }
}

/// The member of this name, or what stands for a missing one.
pub fn member<T: Read>(json: &impl Json, name: &str) -> Option<T> {
    match json.member(name) {
        Some(value) => T::read(&value),
        None => T::missing(),
    }
}

impl Read for String {
    fn read(json: &impl Json) -> Option<Self> {
        json.text()
    }

    // Keys that do not apply are left out.
    fn missing() -> Option<Self> {
        Some(Self::new())
    }
}

impl Read for bool {
    fn read(json: &impl Json) -> Option<Self> {
        json.truth()
    }

    fn missing() -> Option<Self> {
        Some(false)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(json: &impl Json) -> Option<Self> {
        T::read(json).map(Some)
    }

    fn missing() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(json: &impl Json) -> Option<Self> {
        json.items()?.iter().map(T::read).collect()
    }

    fn missing() -> Option<Self> {
        Some(Self::new())
    }
}

/// Whole numbers. A browser holds them exactly up to 2^53.
macro_rules! numbers {
    ($($kind:ty)*) => {$(
        impl Read for $kind {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a number that does not fit becomes the nearest that does"
            )]
            fn read(json: &impl Json) -> Option<Self> {
                json.number().map(|number| number as $kind)
            }

            // Counts of nothing are left out.
            fn missing() -> Option<Self> {
                Some(0)
            }
        }
    )*};
}

/// Structs, member by member.
macro_rules! structs {
    ($($kind:ident { $($field:ident)* })*) => {$(
        impl $crate::live::Read for $kind {
            fn read(json: &impl $crate::live::Json) -> Option<Self> {
                Some(Self { $($field: $crate::live::member(json, stringify!($field))?,)* })
            }
        }
    )*};
}
#[cfg(feature = "hydrate")]
pub(crate) use structs;

/// Choices, by their names.
macro_rules! choices {
    ($($kind:ident { $($name:literal $variant:ident)* })*) => {$(
        impl Read for $kind {
            fn read(json: &impl Json) -> Option<Self> {
                match json.text()?.as_str() {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    )*};
}

numbers! { u16 u32 u64 usize }

choices! {
    Scope { "app" App "tenant" Tenant "user" User }
    Dimension { "rate" Rate "concurrency" Concurrency }
    PauseScope { "upstream" Upstream "app" App "tenant" Tenant "user" User }
    LaneName { "foreground" Foreground "background" Background }
    BreakerState {
        "closed" Closed
        "soft" Soft
        "open" Open
        "half_open" HalfOpen
        "recovering" Recovering
    }
    BreakerReason {
        "throttled" Throttled
        "percentage" Percentage
        "outage" Outage
        "forced" Forced
    }
}

structs! {
    State { as_of started_at time_scale upstreams house }
    House { parts throttled changes more_changes attention unknown }
    Attention { says path way }
    HousePart { name said is_trouble }
    Change { at who what why }
    Upstream { name unwritable pauses forced workloads }
    Pause { scope app tenant user until by }
    SetBy { who reason at }
    Budget { scope app tenant user layers breaker }
    BudgetKey { scope app tenant user }
    Layer { dimension window_ms limit used used_background share_permille frees_at lingering }
    Breaker {
        state since until reason probing ramp_calls reported_permille soft_permille reported_at drift
        by
    }
    Lanes { foreground background }
    Lane { admitted held refused waiting waiting_ms_max waiting_since hold_ms_mean }
    Second { at admitted held refused }
    Delta { as_of started_at time_scale upstreams removed house }
    ForcedBreaker { workload scope app tenant user state until by }
    UpstreamDelta { name unwritable pauses forced workloads removed }
    WorkloadDelta { name budgets removed lanes recent shared full_until users next_cursor }
    RecentDelta { dropped kept added }
    UserState {
        as_of started_at time_scale upstream workload app tenant user budgets global unwritable
        pauses foreground background leases leases_total
    }
    Queue { waiting since }
    Lease { permit lane weight granted_at expires_at probe lingering }
}

impl Read for Workload {
    fn read(json: &impl Json) -> Option<Self> {
        Some(Self {
            name: member(json, "name")?,
            budgets: member(json, "budgets")?,
            shared: member(json, "shared")?,
            full_until: member(json, "full_until")?,
            lanes: member(json, "lanes")?,
            recent: member(json, "recent")?,
            users: member(json, "users")?,
            next_cursor: member(json, "next_cursor")?,
            // Programs ask for them; no page that lives in the browser shows them.
            #[cfg(feature = "ssr")]
            shadows: Vec::new(),
        })
    }
}

/// Reads what the server wrote; `None` where that is something else.
#[cfg(feature = "hydrate")]
pub fn parse<T: Read>(text: &str) -> Option<T> {
    T::read(&js_sys::JSON::parse(text).ok()?)
}

#[cfg(feature = "hydrate")]
impl Json for wasm_bindgen::JsValue {
    fn member(&self, name: &str) -> Option<Self> {
        let value = js_sys::Reflect::get(self, &name.into()).ok()?;
        (!value.is_null() && !value.is_undefined()).then_some(value)
    }

    fn items(&self) -> Option<Vec<Self>> {
        use wasm_bindgen::JsCast;
        let array = self.dyn_ref::<js_sys::Array>()?;
        Some((0..array.length()).map(|at| array.get(at)).collect())
    }

    fn text(&self) -> Option<String> {
        self.as_string()
    }

    fn number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn truth(&self) -> Option<bool> {
        self.as_bool()
    }
}

#[cfg(test)]
mod tests;
