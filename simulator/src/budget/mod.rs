//! Counting calls: who is refused, and what was seen. Pure; every function is told the time in
//! unscaled microseconds.

pub(crate) mod ledger;
pub(crate) mod limits;
pub(crate) mod referee;
pub(crate) mod stats;
