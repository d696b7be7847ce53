//! The versions of a workload's limits: who made them, when and why, and what they changed.

use leptos::prelude::*;

use super::change::{Change, changes};
use crate::overview::name;
use crate::plain::instant;

/// How a version came to be.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// From 1 upwards.
    pub version: i64,
    /// By whom.
    pub author: String,
    /// When, RFC 3339.
    pub at: String,
    /// Why, in their words.
    pub reason: String,
}

/// A version of the past, or the newest.
#[derive(Clone, Debug)]
pub struct Past {
    /// How it came to be.
    pub made: Made,
    /// What it changed of the version before; `None`: it is the first, or one of both cannot be
    /// read.
    pub changes: Option<Vec<Change>>,
    /// Whether it is the newest.
    pub is_newest: bool,
    /// Whether it can be put in force again.
    pub is_readable: bool,
}

/// A page of the history.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Newest first.
    pub versions: Vec<Past>,
    /// Where the next page begins; `None`: this is the last.
    pub older: Option<i64>,
}

pub(crate) fn history(history: History, path: &str, may_edit: bool) -> AnyView {
    let rows = history.versions.into_iter();
    let rows = rows.map(|past| row(past, path, may_edit)).collect_view();
    let older = history.older.map(|before| {
        let href = format!("{path}?before={before}#history");
        view! { <p><a href=href>"Older versions"</a></p> }
    });
    view! {
        <section class="card" aria-labelledby="history">
            <div class="head">
                <h2 id="history">"History"</h2>
            </div>
            <ol class="rows versions">{rows}</ol>
            {older}
        </section>
    }
    .into_any()
}

fn row(past: Past, path: &str, may_edit: bool) -> AnyView {
    let version = past.made.version;
    let way = match (past.is_newest, past.is_readable && may_edit) {
        (true, _) => view! { <p class="means">"The newest"</p> }.into_any(),
        (false, true) => {
            let href = format!("{path}?back={version}#rollback");
            let label = format!("Roll back to version {version}");
            view! { <a class="button" href=href aria-label=label>"Roll back"</a> }.into_any()
        }
        (false, false) => ().into_any(),
    };
    let changed = match past.changes {
        Some(all) => changes(all).into_any(),
        None => ().into_any(),
    };
    view! {
        <li>
            <div>{made(past.made)} {changed}</div>
            {way}
        </li>
    }
    .into_any()
}

/// Who made a version, when and why.
pub(crate) fn made(made: Made) -> AnyView {
    view! {
        <p>
            <b>{format!("Version {}", made.version)}</b>
            " by "
            <bdi>{name::visible(&made.author)}</bdi>
            ", "
            {instant(made.at)}
            <small class="why">
                <bdi>{name::visible(&made.reason)}</bdi>
            </small>
        </p>
    }
    .into_any()
}
