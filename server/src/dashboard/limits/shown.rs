//! What the pages show of limits: versions with what they changed, and who was first.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;
use spillway::Policy;
use spillway_app::{
    Change, Conflict, Draft, Editor, History, Limited, Made, Past, Rollback, Said, Trial, Typed,
};

use super::{Editing, draft};
use crate::{
    config::GLOBAL,
    policy::{Difference, Place, Policies, differences, words},
    store::{self, StoredPolicy},
};

/// How many versions a page of the history shows.
const VERSIONS_SHOWN: u32 = 20;

/// What an editor's page shows beside what it always does.
#[derive(Default)]
pub(super) struct Parts {
    /// What stands in the form; `None`: the newest version.
    pub(super) draft: Option<Draft>,
    pub(super) trial: Option<Trial>,
    pub(super) conflict: Option<Conflict>,
    pub(super) rollback: Option<Rollback>,
    pub(super) said: Vec<Said>,
    /// Where its page of the history begins.
    pub(super) before: Option<i64>,
    /// The version that was just made.
    pub(super) saved: Option<i64>,
}

/// A line of the list.
pub(super) async fn limited(policies: &Policies, place: &Place<'_>) -> Limited {
    let newest = policies.newest(place).await.ok().flatten();
    let policy = newest.as_ref().and_then(policy_of);
    let layers = policy.iter().flat_map(Policy::layers);
    let share = policy.as_ref().map(|it| it.background_share().permille());
    Limited {
        upstream: place.limiter.name().to_owned(),
        workload: place.name.to_owned(),
        layers: layers.map(words::layer).collect(),
        share: share.map(words::percent).unwrap_or_default(),
        newest: newest.as_ref().map(made),
    }
}

pub(super) async fn editor(of: &Editing<'_>, parts: Parts) -> Result<Editor, store::Error> {
    let (policies, place) = (&of.pages.entrance.policies, &of.place);
    let newest = newest(of).await?;
    let mut said = parts.said;
    if parts.saved == Some(newest.version) {
        said.push(Said::Done(format!(
            "Version {} is in force.",
            newest.version
        )));
    }
    let draft = parts.draft.unwrap_or_else(|| match policy_of(&newest) {
        Some(policy) => draft::of(&policy, newest.version),
        None => Draft {
            base: newest.version,
            wrong: vec!["The newest version cannot be read: another is in force.".to_owned()],
            ..Draft::default()
        },
    });
    let draft = with_counts(draft, place);
    Ok(Editor {
        visitor: of.visitor.clone(),
        upstream: place.limiter.name().to_owned(),
        workload: place.name.to_owned(),
        shut: of.shut.clone(),
        in_force: place.limiter.policy_version(place.workload) == Some(newest.version),
        only_app: place.name == GLOBAL,
        draft,
        said,
        trial: parts.trial,
        conflict: parts.conflict,
        rollback: parts.rollback,
        history: history(policies, place, parts.before, newest.version).await?,
        newest: made(&newest),
    })
}

/// Beside each limit that only counts, what it counted until now.
fn with_counts(mut draft: Draft, place: &Place<'_>) -> Draft {
    let shadows = place.limiter.shadows(place.workload);
    let policy = place.limiter.policy(place.workload);
    let layers = policy.iter().flat_map(Policy::layers);
    for (layer, shadow) in layers.filter(|layer| layer.is_shadow()).zip(&shadows) {
        let field = draft::typed_layer(layer);
        let mut fields = draft.layers.iter_mut();
        let same = |it: &&mut spillway_app::LayerDraft| {
            it.shadow
                && (&it.scope.text, &it.dimension.text)
                    == (&field.scope.text, &field.dimension.text)
                && (&it.window.text, &it.unit) == (&field.window.text, &field.unit)
        };
        if let Some(it) = fields.find(same) {
            let said = |at: &str| at.get(..19).unwrap_or(at).replace('T', " ");
            let since = said(&shadow.since);
            let as_of = said(&Timestamp::now().to_string());
            it.counted = Some(format!(
                "At {} it would have refused {} foreground and {} background calls from {since} UTC, \
                 when it was made, changed or the server started, to {as_of} UTC.",
                shadow.limit, shadow.foreground, shadow.background,
            ));
        }
    }
    draft
}

async fn history(
    policies: &Policies,
    place: &Place<'_>,
    before: Option<i64>,
    newest: i64,
) -> Result<History, store::Error> {
    // One more says what the last of them changed, and whether there are older ones.
    let found = policies.versions(place, before, VERSIONS_SHOWN + 1).await?;
    let shown = found.iter().take(VERSIONS_SHOWN as usize).enumerate();
    let versions = shown.map(|(n, stored)| {
        let policy = policy_of(stored);
        let older = found.get(n + 1).and_then(policy_of);
        let both = policy.as_ref().zip(older.as_ref());
        Past {
            made: made(stored),
            changes: both.map(|(policy, older)| changes(older, policy)),
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
    own: &Policy,
) -> Result<Option<Conflict>, store::Error> {
    let newest = newest(of).await?;
    let begun = of.pages.entrance.policies.version(&of.place, base).await?;
    let begun = begun.as_ref().and_then(policy_of);
    let their_changes = begun.as_ref().zip(policy_of(&newest));
    Ok(Some(Conflict {
        base,
        theirs: made(&newest),
        their_changes: their_changes.map_or_else(Vec::new, |(from, to)| changes(from, &to)),
        own_changes: begun.map_or_else(Vec::new, |from| changes(&from, own)),
        own: digest(own),
    }))
}

/// What it would change to roll back to `version`; `None`: that cannot be.
pub(super) async fn rollback(
    of: &Editing<'_>,
    version: i64,
    reason: Typed,
) -> Result<Option<Rollback>, store::Error> {
    let newest = newest(of).await?;
    let old = of
        .pages
        .entrance
        .policies
        .version(&of.place, version)
        .await?;
    let Some(old) = old.filter(|old| old.version != newest.version) else {
        return Ok(None);
    };
    let both = policy_of(&newest).zip(policy_of(&old));
    Ok(both.map(|(from, to)| Rollback {
        made: made(&old),
        changes: changes(&from, &to),
        base: newest.version,
        reason,
    }))
}

async fn newest(of: &Editing<'_>) -> Result<StoredPolicy, store::Error> {
    let newest = of.pages.entrance.policies.newest(&of.place).await?;
    newest.ok_or_else(|| store::Error::NoPolicy(of.place.name.to_owned()))
}

/// Names a policy, for this server: what is tried here is applied here.
pub(super) fn digest(policy: &Policy) -> String {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(policy)
        .unwrap_or_default()
        .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn policy_of(stored: &StoredPolicy) -> Option<Policy> {
    serde_json::from_str(&stored.document).ok()
}

fn changes(from: &Policy, to: &Policy) -> Vec<Change> {
    let all = differences(from, to).into_iter();
    let change = |it: Difference| Change {
        what: it.words,
        from: it.from,
        to: it.to,
    };
    all.map(change).collect()
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
