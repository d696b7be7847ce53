//! Microsoft Teams behind Microsoft Graph.
//!
//! Source of all numbers: "Microsoft Teams service limits", Microsoft Graph throttling limits
//! (`includes/throttling-teams.md` of microsoftgraph/microsoft-graph-docs-contrib), a table of
//! request types with a limit per app and tenant, one per app over all tenants, and one per
//! app, tenant and chat or channel; below it limits per team, and per user. What an older page
//! says besides is marked.
//!
//! Chats, channels and teams have no budgets of their own here. So that none of them is ever
//! sent too much, its limit is the whole tenant's: one call a second on channels and chats
//! together, where the vendor grants one on each, and 20 to 60 on all. Types of one limit share
//! a workload at the lowest of their numbers over all tenants. What remains: calls of different
//! workloads on one channel in the same second.
//!
//! Whoever spreads calls over many teams raises the policies toward the table's numbers.

use super::{DAY, MINUTE, Preset, SECOND, is_read, layers};
use crate::call::Scope::{self, App, Tenant};
use crate::policy::{Dimension, Error, Policy, Share};

/// All presets of Teams.
pub(super) const ALL: [Preset; 6] = [
    Preset::TeamsChannelPosts,
    Preset::TeamsConversations,
    Preset::TeamsMembers,
    Preset::TeamsNotifications,
    Preset::TeamsTeam,
    Preset::TeamsOther,
];

/// The roots of Teams' paths.
pub(super) const AT_THE_ROOT: [&str; 5] = ["appcatalogs", "chats", "copilot", "teams", "teamwork"];

/// Messages sent to channels, replies included: 1 a second on a channel, of 50 in a tenant and
/// 500 for the app; 3,000 a day to a channel (from the older page).
pub(super) fn channel_posts() -> Result<Policy, Error> {
    policy(&[
        (Tenant, SECOND, 1),
        (Tenant, DAY, 3_000),
        (App, SECOND, 500),
    ])
}

/// Other calls on a channel or chat: 1 a second on each. In a tenant 20 for messages got and
/// sent to chats, 30 for most, 15 for deletions, 5 for notifications; for the app 200, 300 to
/// 1,200, 150 and 50.
pub(super) fn conversations() -> Result<Policy, Error> {
    policy(&[(Tenant, SECOND, 1), (App, SECOND, 50)])
}

/// Members added and removed: 4 a minute in a team or chat, of 30 a second in a tenant and 300
/// for the app.
pub(super) fn members() -> Result<Policy, Error> {
    policy(&[(Tenant, MINUTE, 4), (App, SECOND, 300)])
}

/// Notifications to users: 2 a second in a tenant and 20 for the app where recipients are
/// listed; 5 and 50 for one user's.
pub(super) fn notifications() -> Result<Policy, Error> {
    policy(&[(Tenant, SECOND, 2), (App, SECOND, 20)])
}

/// Other calls on a team: 2 of the 4 a second on a team, since its channels' two workloads take
/// one each. In a tenant 5 for notifications, 6 for clones, 15 for deletions, 30 to 200 for the
/// rest; for the app 50, 150, 150, 300 to 1,200.
pub(super) fn team() -> Result<Policy, Error> {
    policy(&[(Tenant, SECOND, 2), (App, SECOND, 50)])
}

/// Everything else: 5 a second for one user's lists of chats and for sections in a tenant, of
/// 10 for new teams, 15 for deletions in catalogues and 30 for the rest; for the app 100 for
/// new teams, 150 to 1,500 for the others.
pub(super) fn other() -> Result<Policy, Error> {
    policy(&[(Tenant, SECOND, 5), (App, SECOND, 100)])
}

fn policy(table: &[(Scope, Dimension, u32)]) -> Result<Policy, Error> {
    Policy::new(layers(table)?, Share::HALF)
}

/// The preset of a call to Teams, by its path in lower case: from the root, or from what
/// follows `/me`, `/users/ID` or `/groups/ID`.
pub(super) fn preset_of(method: &str, path: &[&str]) -> Preset {
    let reads = is_read(method);
    let (channel, rest) = match *path {
        ["teams", _, "channels", id, ref rest @ ..] if !is_export(id) => (true, rest),
        ["teams", _, "primarychannel", ref rest @ ..] => (true, rest),
        ["chats", id, ref rest @ ..] if !is_export(id) => (false, rest),
        // Lists and creates channels: the table counts them like calls on one.
        ["teams", _, "channels"] => return Preset::TeamsConversations,
        _ => return elsewhere(reads, path),
    };
    match *rest {
        ["members", ..] if !reads => Preset::TeamsMembers,
        ["messages"] | ["messages", _, "replies"] if channel && !reads => Preset::TeamsChannelPosts,
        _ => Preset::TeamsConversations,
    }
}

/// On no channel or chat.
fn elsewhere(reads: bool, path: &[&str]) -> Preset {
    match *path {
        ["teams", _, "members", ..] if !reads => Preset::TeamsMembers,
        ["teams", _, ..] | ["team", ..] => Preset::TeamsTeam,
        ["teamwork", name, ..] if name.starts_with("sendactivitynotification") => {
            Preset::TeamsNotifications
        }
        _ => Preset::TeamsOther,
    }
}

/// Where an id would stand: all messages of a team's channels, or of a user's chats.
fn is_export(id: &str) -> bool {
    ["allmessages", "getallmessages", "getallretainedmessages"].contains(&id)
}
