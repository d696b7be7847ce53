//! OneNote behind Microsoft Graph.

use super::{HOUR, MINUTE, layers};
use crate::call::Scope::{App, User};
use crate::policy::{Dimension::Concurrency, Error, Policy, Share};

/// 120 a minute, 400 an hour and 5 at once for each user; 240, 800 and 20 for the app.
///
/// Source: "OneNote service limits", Microsoft Graph throttling limits
/// (`includes/throttling-onenote.md` of microsoftgraph/microsoft-graph-docs-contrib). The
/// right-hand column is headed "app-only context"; it is read as a cap on the app over all
/// its users, the careful reading.
pub(super) fn policy() -> Result<Policy, Error> {
    let layers = layers(&[
        (User, MINUTE, 120),
        (User, HOUR, 400),
        (User, Concurrency, 5),
        (App, MINUTE, 240),
        (App, HOUR, 800),
        (App, Concurrency, 20),
    ])?;
    Policy::new(layers, Share::HALF)
}
