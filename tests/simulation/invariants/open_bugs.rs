//! Bugs of the engine that are known and not fixed yet. Each constant switches off exactly the
//! check that finds it, and goes with the fix.

/// What a breaker learnt is forgotten in what is announced while it is forced open.
pub const FORCED_HIDES: bool = true;

/// A refusal makes budgets without counts appear while lost ones are assumed to be full.
pub const PLACES_SHOW: bool = true;

/// Who is dismissed because it cannot go within its hold is told an estimate within it.
pub const TOLD_TOO_EARLY: bool = true;
