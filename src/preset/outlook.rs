//! Mail, calendars, contacts and people behind Microsoft Graph.

use super::{every, layers};
use crate::call::Scope::User;
use crate::policy::{Dimension::Concurrency, Error, Policy, Share};

/// 10,000 in 10 minutes and 4 at once for each mailbox and app.
///
/// Source: "Outlook service limits", Microsoft Graph throttling limits
/// (`includes/throttling-outlook.md` of microsoftgraph/microsoft-graph-docs-contrib). An older
/// page counted the 4 for the app over all mailboxes; the newer one says mailbox for both.
///
/// A mailbox is the user's here. Where several users' calls go to one mailbox (a group's, a
/// shared one), only `user_from = "path"` counts them together. Not modelled: 150 MB of
/// uploads in 5 minutes, since bytes are no layer.
pub(super) fn policy() -> Result<Policy, Error> {
    let layers = layers(&[(User, every(600_000), 10_000), (User, Concurrency, 4)])?;
    Policy::new(layers, Share::HALF)
}

/// What follows `/me`, `/users/ID` or `/groups/ID` in the paths of Outlook's resources, which
/// the same page lists: profile photos, calendar, mail, contacts, people, tasks. `insights`
/// has the same numbers in a row of its own and is counted here too, which is careful.
pub(super) const OF_A_MAILBOX: [&str; 30] = [
    "calendar",
    "calendargroups",
    "calendars",
    "calendarview",
    "contactfolders",
    "contacts",
    "conversations",
    "events",
    "findmeetingtimes",
    "findroomlists",
    "findrooms",
    "getmailtips",
    "inferenceclassification",
    "insights",
    "mailboxsettings",
    "mailfolders",
    "messages",
    "microsoft.graph.findmeetingtimes",
    "microsoft.graph.getmailtips",
    "microsoft.graph.reminderview",
    "microsoft.graph.sendmail",
    "outlook",
    "people",
    "photo",
    "photos",
    "reminderview",
    "sendmail",
    "threads",
    "todo",
    "translateexchangeids",
];

/// Roots of Outlook's paths that belong to no mailbox.
pub(super) const AT_THE_ROOT: [&str; 2] = ["external", "places"];
