//! Notion's public API: all of it is one workload.

use super::{MINUTE, SECOND, layers};
use crate::call::Scope::App;
use crate::policy::{Error, Policy, Share};

/// 3 a second and 180 a minute for the connection, background calls included.
///
/// Source: "Request limits" (developers.notion.com/reference/request-limits), of which there
/// are three generations: "an average of three requests per second" per integration, bursts
/// allowed; the same beside a limit per workspace without a number; and a fixed budget per
/// 60 s and connection by plan, 180 for the lowest (the number at second hand only, not seen
/// on Notion's page). The careful reading keeps the first two of these numbers at once.
///
/// An integration, or connection, is the app: everything that calls with one token, whoever
/// the user is. Whoever has several gives each an app's key of its own (`Spillway-App`). The
/// limit per workspace is unknown and so not modelled; its 429 closes the app's budget.
///
/// The share is 1: half of three a second would be one, and cost two thirds of the rate.
pub(super) fn policy() -> Result<Policy, Error> {
    let layers = layers(&[(App, SECOND, 3), (App, MINUTE, 180)])?;
    Policy::new(layers, Share::new(1000)?)
}
