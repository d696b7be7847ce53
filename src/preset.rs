//! Presets: limits that vendors publish, each with its source.
//!
//! A vendor's service may have several limits that are counted apart, by resource and method;
//! each is a preset of its own here, and a name in the configuration may bring several
//! ([`Preset::brought_by`]). No call is claimed by two of them, so their order is no matter.
//!
//! Where a vendor's words leave a choice, or a limit belongs to something that has no budget
//! here (one channel, one mailbox of somebody else), the careful reading is taken: it may cost
//! rate, never a 429. Who knows better raises the policy.

mod graph;
mod notion;
mod onenote;
mod outlook;
mod sharepoint;
mod teams;

use crate::call::Scope;
use crate::policy::{Dimension, Error, Layer, Policy};

/// A workload known by name: its limits, and which calls belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// OneNote behind Microsoft Graph.
    OneNote,
    /// SharePoint and OneDrive behind Microsoft Graph.
    SharePoint,
    /// Mail, calendars and contacts behind Microsoft Graph.
    Outlook,
    /// Microsoft Teams: messages sent to a channel.
    TeamsChannelPosts,
    /// Microsoft Teams: other calls on one channel or chat.
    TeamsConversations,
    /// Microsoft Teams: who belongs to a team, channel or chat.
    TeamsMembers,
    /// Microsoft Teams: notifications to users.
    TeamsNotifications,
    /// Microsoft Teams: other calls on one team.
    TeamsTeam,
    /// Microsoft Teams: everything else.
    TeamsOther,
    /// Notion's public API.
    Notion,
}

/// Whose API it is: decides how its errors look and what limits all of it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// Microsoft Graph.
    Graph,
    /// Notion.
    Notion,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 10] = [
        Self::OneNote,
        Self::SharePoint,
        Self::Outlook,
        Self::TeamsChannelPosts,
        Self::TeamsConversations,
        Self::TeamsMembers,
        Self::TeamsNotifications,
        Self::TeamsTeam,
        Self::TeamsOther,
        Self::Notion,
    ];

    /// The names that configuration may use.
    pub const NAMES: [&str; 5] = ["onenote", "sharepoint", "outlook", "teams", "notion"];

    /// The presets that `name` brings; none for what is not in [`Preset::NAMES`].
    #[must_use]
    pub fn brought_by(name: &str) -> &'static [Self] {
        match name {
            "onenote" => &[Self::OneNote],
            "sharepoint" => &[Self::SharePoint],
            "outlook" => &[Self::Outlook],
            "teams" => &teams::ALL,
            "notion" => &[Self::Notion],
            _ => &[],
        }
    }

    /// The preset of this very name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its name: that of its workload in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneNote => "onenote",
            Self::SharePoint => "sharepoint",
            Self::Outlook => "outlook",
            Self::TeamsChannelPosts => "teams-channel-messages-post",
            Self::TeamsConversations => "teams-conversations",
            Self::TeamsMembers => "teams-member-changes",
            Self::TeamsNotifications => "teams-notifications",
            Self::TeamsTeam => "teams-team",
            Self::TeamsOther => "teams-other",
            Self::Notion => "notion",
        }
    }

    /// Whose API it is.
    #[must_use]
    pub const fn vendor(self) -> Vendor {
        match self {
            Self::Notion => Vendor::Notion,
            _ => Vendor::Graph,
        }
    }

    /// Its limits.
    ///
    /// # Errors
    /// None for the presets as they stand; a test makes each.
    pub fn policy(self) -> Result<Policy, Error> {
        match self {
            Self::OneNote => onenote::policy(),
            Self::SharePoint => sharepoint::policy(),
            Self::Outlook => outlook::policy(),
            Self::TeamsChannelPosts => teams::channel_posts(),
            Self::TeamsConversations => teams::conversations(),
            Self::TeamsMembers => teams::members(),
            Self::TeamsNotifications => teams::notifications(),
            Self::TeamsTeam => teams::team(),
            Self::TeamsOther => teams::other(),
            Self::Notion => notion::policy(),
        }
    }

    /// The longest `Retry-After` in whole seconds that this vendor's SDKs obey.
    #[must_use]
    pub const fn retry_after_s_max(self) -> u32 {
        self.vendor().retry_after_s_max()
    }

    /// Whether a call is limited by this workload: its method, and its path with the version
    /// prefix, without a query. Case makes no difference to either.
    #[must_use]
    pub fn claims(self, method: &str, path: &str) -> bool {
        match self.vendor() {
            Vendor::Graph => graph::preset_of(method, path) == Some(self),
            Vendor::Notion => true,
        }
    }

    /// What a call costs in rate layers, at least 1: 1 where the vendor counts requests. The
    /// `query` comes without its question mark and may be empty.
    #[must_use]
    pub fn weight(self, method: &str, path: &str, query: &str) -> u32 {
        match self {
            Self::SharePoint => sharepoint::weight(method, path, query),
            _ => 1,
        }
    }

    /// The layer that the upstream's `RateLimit-Remaining` speaks of, where it is known: its
    /// use can be corrected upward ([`Remaining::used_of`](crate::Remaining::used_of)).
    #[must_use]
    pub const fn remaining_is_of(self) -> Option<(Scope, Dimension)> {
        match self {
            Self::SharePoint => Some(sharepoint::REMAINING_IS_OF),
            _ => None,
        }
    }
}

impl Vendor {
    /// The longest `Retry-After` in whole seconds that its SDKs obey.
    ///
    /// Graph's (JavaScript 3.0.7, .NET and Python Kiota handlers) stop retrying, or retry too
    /// early, from 180 s on; Notion's for JavaScript (5.26.0) caps all waits at 60 s.
    #[must_use]
    pub const fn retry_after_s_max(self) -> u32 {
        match self {
            Self::Graph => 179,
            Self::Notion => 60,
        }
    }

    /// What limits all calls of one app together, whatever their workload: layers of the app's.
    ///
    /// # Errors
    /// None as they stand; a test makes each.
    pub fn global(self) -> Option<Result<Policy, Error>> {
        match self {
            Self::Graph => Some(graph::global()),
            Self::Notion => None,
        }
    }
}

const SECOND: Dimension = every(1_000);
const MINUTE: Dimension = every(60_000);
const HOUR: Dimension = every(3_600_000);
const DAY: Dimension = every(86_400_000);

const fn every(window_ms: u64) -> Dimension {
    Dimension::Rate { window_ms }
}

/// The layers of a table of scopes, what is limited, and limits.
fn layers(table: &[(Scope, Dimension, u32)]) -> Result<Vec<Layer>, Error> {
    table
        .iter()
        .map(|(scope, dimension, limit)| Layer::new(*scope, *dimension, *limit))
        .collect()
}

fn is_read(method: &str) -> bool {
    ["GET", "HEAD"]
        .iter()
        .any(|read| method.eq_ignore_ascii_case(read))
}

#[cfg(test)]
mod tests;
