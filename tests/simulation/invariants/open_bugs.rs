//! Bugs of the engine that are known and not fixed yet. Each constant switches off exactly the
//! check that finds it, and goes with the fix.

/// A background newcomer takes the room that a foreground call of its own user waits for.
pub const OWN_BACKGROUND: bool = true;

/// A call is granted whose hold is over, where the driver's timer came late.
pub const LATE_GRANTS: bool = true;

/// A recovering budget without calls recovers never, and is never dropped.
pub const RECOVERS_NEVER: bool = true;

/// A call that its user and its app block joins the app's turns only when both let it go.
pub const JOINS_LATE: bool = true;

/// What a breaker learnt is forgotten in what is announced while it is forced open.
pub const FORCED_HIDES: bool = true;

/// A refused caller's place makes a budget without counts appear while lost ones are assumed
/// to be full.
pub const PLACES_SHOW: bool = true;

/// Who comes as told is told too early, and then put behind others.
pub const TOLD_TOO_EARLY: bool = true;
