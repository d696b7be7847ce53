//! SharePoint and OneDrive behind Microsoft Graph, counted in resource units.

use super::graph::{self, OfSharePoint};
use super::{DAY, MINUTE, every, is_read, layers};
use crate::call::Scope::{self, Tenant, User};
use crate::policy::{Dimension, Error, Policy, Share};

/// `RateLimit-Remaining` tells the app's units of the minute within a tenant, from 80 % on.
///
/// Source: "Avoid getting throttled or blocked in SharePoint Online", in preview there. A note
/// at second hand says that the page now denies it; where the header is missing, nothing is
/// corrected.
pub(super) const REMAINING_IS_OF: (Scope, Dimension) = (Tenant, MINUTE);

/// 1,200 resource units a minute and 1.2 million a day for the app within a tenant, of 18,750
/// in 5 minutes for all apps there, and 3,000 in 5 minutes for each user.
///
/// Source: "Avoid getting throttled or blocked in SharePoint Online" (learn.microsoft.com/
/// sharepoint/dev/general-development/how-to-avoid-getting-throttled-or-blocked-in-sharepoint-online),
/// each number that of the smallest tenants, up to 1,000 licences. A minute's 1,250 are also
/// told, at second hand: the lower number is taken. Larger tenants have 2,400, 3,600, 4,800
/// and 6,000 a minute from 1,001, 5,001, 15,001 and 50,001 licences on, and up to 6 million a
/// day. The numbers for all apps and for users are known at second hand only, the latter from
/// two that agree.
///
/// A user's 3,000 are requests, counted as units here, which is careful. The tenant's limit for
/// all apps can only be kept by one app: what other apps use is not seen. Not modelled: 50 GB
/// up and 100 GB down in an hour.
pub(super) fn policy() -> Result<Policy, Error> {
    let layers = layers(&[
        (User, every(300_000), 3_000),
        (Tenant, MINUTE, 1_200),
        (Tenant, every(300_000), 18_750),
        (Tenant, DAY, 1_200_000),
    ])?;
    Policy::new(layers, Share::HALF)
}

/// Resource units: 1 for a single item, a delta with its token, or the download of a file; 2
/// for several items, a delta without one, and whatever creates, changes, deletes or uploads;
/// 5 for permissions, `$expand=permissions` included.
///
/// Source: the same page, "Resource units". What is none of these costs 2, and so does an item
/// with whatever else is expanded.
pub(super) fn weight(method: &str, path: &str, query: &str) -> u32 {
    let query = query.to_ascii_lowercase();
    let mut expanded =
        options(&query).filter_map(|(name, value)| (name == "expand").then_some(value));
    match graph::of_sharepoint(path) {
        OfSharePoint::Permissions => 5,
        // Nested options count too.
        _ if expanded.clone().any(|value| value.contains("permissions")) => 5,
        _ if !is_read(method) || expanded.next().is_some() => 2,
        OfSharePoint::Delta { token: true } | OfSharePoint::Item => 1,
        OfSharePoint::Delta { token: false } if has_token(&query) => 1,
        OfSharePoint::Delta { .. } | OfSharePoint::Items => 2,
    }
}

/// A token that asks for the changes since now or a time costs as much as any other.
fn has_token(query: &str) -> bool {
    let known = ["token", "deltatoken", "skiptoken"];
    options(query).any(|(name, value)| known.contains(&name) && !value.is_empty())
}

/// Names without the dollar sign, which may be percent-encoded, and values.
fn options(query: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
    query.split('&').filter_map(|option| {
        let (name, value) = option.split_once('=')?;
        let name = name
            .strip_prefix('$')
            .or_else(|| name.strip_prefix("%24"))
            .unwrap_or(name);
        Some((name, value))
    })
}
