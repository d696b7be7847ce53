//! Microsoft Graph's paths: which service a call goes to, and so whose limits it meets.
//!
//! One reader for all of its presets, so that no call can be claimed by two of them.

use super::{Preset, every, layers, outlook, teams};
use crate::call::Scope::App;
use crate::policy::{Error, Policy, Share};

/// 130,000 in 10 seconds for one app over all tenants, whatever it calls.
///
/// Source: Microsoft Graph throttling limits, the table of global limits
/// (learn.microsoft.com/graph/throttling-limits). An older page had 2,000 a second, which this
/// one replaced.
pub(super) fn global() -> Result<Policy, Error> {
    Policy::new(layers(&[(App, every(10_000), 130_000)])?, Share::HALF)
}

/// Resources after whose name an id follows in parentheses as well: `users('ID')`.
const KEYED: [&str; 7] = [
    "channels", "chats", "drives", "groups", "sites", "teams", "users",
];

/// The preset whose limits a call meets; none for services without one.
pub(super) fn preset_of(method: &str, path: &str) -> Option<Preset> {
    let path = path.to_ascii_lowercase();
    let segments = segments(&path);
    match *segments.as_slice() {
        ["me", ref rest @ ..] | ["users" | "groups", _, ref rest @ ..] => of_owner(method, rest),
        ["sites", _, ref rest @ ..] if rest.contains(&"onenote") => Some(Preset::OneNote),
        ["sites" | "drives" | "drive" | "shares" | "storage", ..] => Some(Preset::SharePoint),
        [root, ..] if teams::AT_THE_ROOT.contains(&root) => {
            Some(teams::preset_of(method, &segments))
        }
        [root, ..] if outlook::AT_THE_ROOT.contains(&root) => Some(Preset::Outlook),
        _ => None,
    }
}

/// The same for what follows `/me`, `/users/ID` or `/groups/ID`.
fn of_owner(method: &str, rest: &[&str]) -> Option<Preset> {
    let first = *rest.first()?;
    match first {
        "onenote" => Some(Preset::OneNote),
        "sites" if rest.contains(&"onenote") => Some(Preset::OneNote),
        "drive" | "drives" | "followedsites" | "sites" => Some(Preset::SharePoint),
        "chats" | "joinedteams" | "team" | "teamwork" => Some(teams::preset_of(method, rest)),
        _ if outlook::OF_A_MAILBOX.contains(&first) => Some(Preset::Outlook),
        _ => None,
    }
}

/// Resources behind which a file or a site may be named by its own path.
const NAMED_BY_PATH: [&str; 4] = ["drive", "drives", "shares", "sites"];

/// The names and ids of a path in lower case, without its version. What stands between colons
/// is a file's or a site's own path and left out: `root:/a/b.txt:/content`.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let (mut has_paths, mut within) = (false, false);
    let all = path.split('/').filter(|segment| !segment.is_empty());
    for (n, segment) in all.enumerate() {
        if n == 0 && is_version(segment) {
            continue;
        }
        let plain = without_colon(segment);
        if !within {
            push(&mut segments, plain.unwrap_or(segment));
        }
        has_paths |= NAMED_BY_PATH.contains(&segment);
        within ^= has_paths && plain.is_some();
    }
    segments
}

fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    segment == "beta"
        || (chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit()))
}

/// The segment before the colon it ends with.
fn without_colon(segment: &str) -> Option<&str> {
    [":", "%3a"]
        .iter()
        .find_map(|colon| segment.strip_suffix(colon))
}

/// A name, and the key in its parentheses if it has one; a function's arguments are left out.
fn push<'a>(segments: &mut Vec<&'a str>, segment: &'a str) {
    let Some((name, key)) = segment.split_once('(') else {
        return segments.push(segment);
    };
    segments.push(name);
    if KEYED.contains(&name) {
        segments.push(key);
    }
}

/// What a call to SharePoint asks for, as far as its price depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfSharePoint {
    /// Who may do what.
    Permissions,
    /// What has changed; whether since a token in the path.
    Delta {
        /// `delta(token='…')`
        token: bool,
    },
    /// One item, or a file's content.
    Item,
    /// Several, or what is not known.
    Items,
}

const OF_PERMISSIONS: [&str; 5] = [
    "createlink",
    "grant",
    "invite",
    "permissions",
    "revokegrants",
];

/// After these an id follows.
const COLLECTIONS: [&str; 10] = [
    "columns",
    "contenttypes",
    "drives",
    "followedsites",
    "items",
    "lists",
    "shares",
    "sites",
    "special",
    "versions",
];

/// These are one thing.
const SINGLE: [&str; 9] = [
    "content",
    "drive",
    "driveitem",
    "fields",
    "list",
    "listitem",
    "parentreference",
    "root",
    "site",
];

/// What a call to `path` asks for.
pub(super) fn of_sharepoint(path: &str) -> OfSharePoint {
    let path = path.to_ascii_lowercase();
    let segments = segments(&path);
    if segments.iter().any(|name| OF_PERMISSIONS.contains(name)) {
        return OfSharePoint::Permissions;
    }
    match *segments.as_slice() {
        [.., "delta"] => OfSharePoint::Delta {
            token: path.contains("delta(token='") && !path.contains("delta(token='')"),
        },
        [.., "sites", "getallsites" | "getbypath"] => OfSharePoint::Items,
        [.., last] if SINGLE.contains(&last) => OfSharePoint::Item,
        [.., collection, _] if COLLECTIONS.contains(&collection) => OfSharePoint::Item,
        _ => OfSharePoint::Items,
    }
}
