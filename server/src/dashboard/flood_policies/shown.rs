//! What the pages show of flood policies: versions with what they changed, previews, and who was
//! first.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use jiff::Timestamp;
use spillway::flood::Component;
use spillway_app::{
    Change, Conflict, FloodDraft, FloodPolicyEditor, FloodPolicyRow, FloodTrial, FloodTrialList,
    History, Made, Past, Rollback, Said, Typed, visible,
};

use super::{Editing, draft};
use crate::{
    floods::{FloodDocument, Tried},
    store::{self, StoredPolicy},
};

/// How many versions a page of the history shows.
const VERSIONS_SHOWN: u32 = 20;

/// How many lists a preview names.
const LISTS_NAMED: usize = 20;

/// What an editor's page shows beside what it always does.
#[derive(Default)]
pub(super) struct Shown {
    /// What stands in the form; `None`: the newest version.
    pub(super) draft: Option<FloodDraft>,
    pub(super) trial: Option<FloodTrial>,
    pub(super) conflict: Option<Conflict>,
    pub(super) rollback: Option<Rollback>,
    pub(super) said: Vec<Said>,
    /// Where its page of the history begins.
    pub(super) before: Option<i64>,
    /// The version that was just made.
    pub(super) saved: Option<i64>,
}

/// A line of the list.
pub(super) fn row(component: Component, newest: &StoredPolicy) -> FloodPolicyRow {
    let document = document(newest);
    let numbers = |it: &FloodDocument| [it.per_minute, it.strikes_per_day, it.grace];
    FloodPolicyRow {
        component: component.name(),
        numbers: document.as_ref().map(numbers),
        lists: document.map_or(0, |it| it.lists.len()),
        newest: made(newest),
    }
}

pub(super) async fn editor(
    of: &Editing<'_>,
    parts: Shown,
) -> Result<FloodPolicyEditor, store::Error> {
    let newest = of.floods().policy(of.component).await?;
    let mut said = parts.said;
    if parts.saved == Some(newest.version) {
        let text = format!("Version {} is in force.", newest.version);
        said.push(Said::Done(text));
    }
    let draft = parts.draft.unwrap_or_else(|| match document(&newest) {
        Some(document) => draft::of(&document, newest.version),
        None => FloodDraft {
            base: newest.version,
            wrong: Some("The newest version cannot be read.".to_owned()),
            ..FloodDraft::default()
        },
    });
    Ok(FloodPolicyEditor {
        visitor: of.visitor.clone(),
        component: of.component.name(),
        shut: of.shut.clone(),
        draft,
        said,
        trial: parts.trial,
        conflict: parts.conflict,
        rollback: parts.rollback,
        history: history(of, parts.before, newest.version).await?,
        newest: made(&newest),
    })
}

async fn history(
    of: &Editing<'_>,
    before: Option<i64>,
    newest: i64,
) -> Result<History, store::Error> {
    // One more says what the last of them changed, and whether there are older ones.
    let floods = of.floods();
    let found = floods.policy_versions(of.component, before, VERSIONS_SHOWN + 1);
    let found = found.await?;
    let shown = found.iter().take(VERSIONS_SHOWN as usize).enumerate();
    let versions = shown.map(|(n, stored)| {
        let policy = document(stored);
        let older = found.get(n + 1).and_then(document);
        let both = older.as_ref().zip(policy.as_ref());
        Past {
            made: made(stored),
            changes: both.map(|(older, policy)| changes(older, policy)),
            is_newest: stored.version == newest,
            is_readable: policy.is_some(),
        }
    });
    let versions: Vec<_> = versions.collect();
    let is_more = found.len() > versions.len();
    let last = versions.last().filter(|_| is_more);
    Ok(History {
        older: last.map(|last| last.made.version),
        versions,
    })
}

/// Both sides since the version that both began with.
pub(super) async fn conflict(
    of: &Editing<'_>,
    base: i64,
    own: &FloodDocument,
) -> Result<Conflict, store::Error> {
    let newest = of.floods().policy(of.component).await?;
    let begun = of.floods().policy_version(of.component, base).await?;
    let begun = begun.as_ref().and_then(document);
    let theirs = begun.as_ref().zip(document(&newest));
    Ok(Conflict {
        base,
        theirs: made(&newest),
        their_changes: theirs.map_or_else(Vec::new, |(from, to)| changes(from, &to)),
        own_changes: begun.map_or_else(Vec::new, |from| changes(&from, own)),
        own: digest(own),
    })
}

/// What it would change to roll back to `version`; `None`: that cannot be.
pub(super) async fn rollback(
    of: &Editing<'_>,
    version: i64,
    reason: Typed,
) -> Result<Option<Rollback>, store::Error> {
    let newest = of.floods().policy(of.component).await?;
    let old = of.floods().policy_version(of.component, version).await?;
    let Some(old) = old.filter(|old| old.version != newest.version) else {
        return Ok(None);
    };
    let both = document(&newest).zip(document(&old));
    Ok(both.map(|(from, to)| Rollback {
        made: made(&old),
        changes: changes(&from, &to),
        base: newest.version,
        reason,
    }))
}

/// A preview as the editor shows it.
pub(super) fn trial(tried: &Tried, token: String) -> FloodTrial {
    let second = |at: Timestamp| format!("{at:.0}");
    let (now, then) = (&tried.now, &tried.then);
    let peaks = &tried.peaks;
    let outcomes = [
        (
            "Lists with a strike",
            now.lists_struck as u64,
            then.lists_struck as u64,
        ),
        (
            "Lists disabled at the end",
            now.lists_disabled as u64,
            then.lists_disabled as u64,
        ),
        ("Strikes", now.strikes, then.strikes),
        (
            "Events not handled",
            now.events_stopped,
            then.events_stopped,
        ),
    ];
    let lists = tried.differing.iter().take(LISTS_NAMED);
    let lists = lists.map(|it| FloodTrialList {
        site: it.key.site.clone(),
        list: it.key.list.clone(),
        peak: it.peak,
        strikes: [it.now.strikes, it.then.strikes],
        stopped: [it.now.events_stopped, it.then.events_stopped],
        disabled: [it.now.disabled_at.is_some(), it.then.disabled_at.is_some()],
    });
    FloodTrial {
        says: tried.to_string(),
        tried: token,
        between: tried.from.map(|from| (second(from), second(tried.until))),
        peaks: vec![
            ("half at most (p50)", peaks.p50),
            ("90 % at most", peaks.p90),
            ("95 % at most", peaks.p95),
            ("99 % at most", peaks.p99),
            ("99.9 % at most", peaks.p999),
            ("the busiest", peaks.max),
        ],
        per_minute: tried.per_minute,
        outcomes: outcomes.to_vec(),
        differ: tried.differ,
        lists: lists.collect(),
        notes: notes(tried),
    }
}

/// What the recording does not know.
fn notes(tried: &Tried) -> Vec<String> {
    let mut notes = vec![format!(
        "Minutes with {} events or more are recorded one by one: a lower threshold is tried on too few.",
        tried.complete_from
    )];
    if let Some(at) = tried.left_out_at {
        let at = at.strftime("%F %T UTC");
        notes.push(format!(
            "Quiet lists were left out of the distribution for want of room, the last time at {at}."
        ));
    }
    notes
}

/// Names a policy, for this server: what is tried here is applied here.
pub(super) fn digest(document: &FloodDocument) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::json!(document).to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The policy of a version; none: it cannot be read.
pub(super) fn document(stored: &StoredPolicy) -> Option<FloodDocument> {
    serde_json::from_str(&stored.document).ok()
}

/// All in which two differ.
fn changes(from: &FloodDocument, to: &FloodDocument) -> Vec<Change> {
    let numbers = |it: &FloodDocument| {
        [
            ("events a minute", it.per_minute),
            ("strikes a day", it.strikes_per_day),
            ("strikes in grace", it.grace),
        ]
    };
    let changed = numbers(from).into_iter().zip(numbers(to));
    let changed = changed.filter(|((_, from), (_, to))| from != to);
    let mut all: Vec<_> = changed
        .map(|((what, from), (_, to))| Change {
            what: what.to_owned(),
            from: Some(from.to_string()),
            to: Some(to.to_string()),
        })
        .collect();
    let own = |it: &FloodDocument| -> BTreeMap<_, _> {
        let lists = it.lists.iter().map(|it| {
            let what = format!("list {} of site {}", visible(&it.list), visible(&it.site));
            let policy = format!("{}/{}/{}", it.per_minute, it.strikes_per_day, it.grace);
            ((it.site.clone(), it.list.clone()), (what, policy))
        });
        lists.collect()
    };
    let (from, to) = (own(from), own(to));
    for (key, (what, was)) in &from {
        let is = to.get(key).map(|(_, policy)| policy.clone());
        if is.as_ref() != Some(was) {
            let (what, from) = (what.clone(), Some(was.clone()));
            all.push(Change { what, from, to: is });
        }
    }
    let new = to.iter().filter(|(key, _)| !from.contains_key(*key));
    all.extend(new.map(|(_, (what, policy))| Change {
        what: what.clone(),
        from: None,
        to: Some(policy.clone()),
    }));
    all
}

fn made(stored: &StoredPolicy) -> Made {
    let at = Timestamp::from_millisecond(stored.created_at_ms);
    Made {
        version: stored.version,
        author: stored.author.clone(),
        at: at.map_or_else(|_| String::new(), |at| format!("{at:.0}")),
        reason: stored.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floods::ListDocument;

    #[test]
    fn what_differs_is_said_by_number_and_by_list() {
        let list = |list: &str, per_minute| ListDocument {
            site: "s".to_owned(),
            list: list.to_owned(),
            per_minute,
            strikes_per_day: 20,
            grace: 3,
        };
        let document = |per_minute, lists| FloodDocument {
            per_minute,
            strikes_per_day: 20,
            grace: 3,
            lists,
        };
        let from = document(
            100,
            vec![list("same", 5), list("gone", 5), list("moved", 5)],
        );
        let to = document(50, vec![list("moved", 9), list("new", 5), list("same", 5)]);
        let said = changes(&from, &to).into_iter().map(|it| {
            let side = |it: Option<String>| it.unwrap_or_else(|| "-".to_owned());
            format!("{}: {} {}", it.what, side(it.from), side(it.to))
        });
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "events a minute: 100 50",
                "list gone of site s: 5/20/3 -",
                "list moved of site s: 5/20/3 9/20/3",
                "list new of site s: - 5/20/3",
            ]
        );
        assert!(changes(&from, &from).is_empty());
    }
}
