//! The page of the audit log: who did what, when, from where and why, and what that changed.
//!
//! Filters and paging stand in the page's address, so that a view can be sent to somebody.

mod entry;
mod filters;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::pages::{AUDIT_PATH, Page};
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Who looks.
    pub visitor: Visitor,
    /// What is asked for, as it was typed.
    pub filters: AuditFilters,
    /// What is wrong with that; then there are no entries.
    pub wrong: Option<String>,
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// The query of the page with older entries, if there are any.
    pub older: Option<String>,
    /// The query of the newest ones, where these are not.
    pub newest: Option<String>,
    /// The query of the same as a file.
    pub export: String,
    /// Whether the log is known to be whole.
    pub chain: ChainState,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// What is asked for, as it was typed; empty: anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilters {
    /// The kind of actor, by its name.
    pub kind: String,
    /// Its name or id.
    pub actor: String,
    /// The act, or the beginning of its name.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// From when on, without a zone: UTC.
    pub from: String,
    /// Until when, likewise.
    pub until: String,
    /// The kinds of actors there are.
    pub kinds: Vec<&'static str>,
    /// The acts there are.
    pub actions: Vec<&'static str>,
}

/// An act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number.
    pub seq: i64,
    /// When, RFC 3339.
    pub at: String,
    /// Of what kind its actor is.
    pub kind: String,
    /// Tells the actor from all others of its kind.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What was done, by its name.
    pub action: String,
    /// To what.
    pub subject: String,
    /// What people call that; empty: it has no other name.
    pub called: String,
    /// Why; empty: that was not asked.
    pub reason: String,
    /// From where; empty: not by network.
    pub client: String,
    /// What is otherwise since.
    pub changes: Vec<AuditChange>,
    /// How many more changes there are.
    pub more: usize,
    /// Of it and all before it, in hex.
    pub hash: String,
}

/// A member of what was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditChange {
    /// Where it is: `layers[0].limit`; empty: all of it.
    pub path: String,
    /// How it was; `None`: it was not there.
    pub was: Option<String>,
    /// How it is since; `None`: it is gone.
    pub became: Option<String>,
}

/// Whether the log is known to be whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainState {
    /// Its last entry's number.
    pub entries: i64,
    /// Its last entry's number and hash.
    pub head: String,
    /// When all up to some entry were last found as they were written.
    pub verified: Option<Verified>,
    /// Why it cannot be verified here; empty: it can.
    pub why_not: String,
}

/// That entries were found as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Up to which.
    pub seq: i64,
    /// When, RFC 3339.
    pub at: String,
    /// By whom.
    pub who: String,
}

/// The document as text.
#[must_use]
pub fn audit(options: &LeptosOptions, audit: Audit) -> String {
    let plain = Plain {
        page: Page::Audit,
        visitor: audit.visitor,
        title: "Audit log".to_owned(),
        beside: "who did what, when and why".to_owned(),
        class: "audit",
        told: audit.told,
    };
    let empty = audit.wrong.is_none() && audit.entries.is_empty();
    let filtered = audit.filters.is_filtered() || audit.newest.is_some();
    document(options, plain, || {
        view! {
            {filters::form(audit.filters, audit.wrong)}
            <section class="card" aria-labelledby="entries">
                <div class="head">
                    <h2 id="entries">"Entries"</h2>
                    <a class="export" href=audit.export download>"Export as CSV"</a>
                </div>
                {empty.then(|| nothing(filtered))}
                <ol class="entries">
                    {audit.entries.into_iter().map(entry::view).collect_view()}
                </ol>
                {paging(audit.newest, audit.older)}
            </section>
            {chain(audit.chain)}
        }
    })
}

fn nothing(filtered: bool) -> impl IntoView {
    let text = match filtered {
        true => "No act is like that. Leave some of the filters empty.",
        false => "Nothing has been done yet. Whatever anybody changes here will be listed.",
    };
    view! { <p class="nothing">{text}</p> }
}

fn paging(newest: Option<String>, older: Option<String>) -> impl IntoView {
    let way = |to: Option<String>, word| to.map(|to| view! { <a href=to>{word}</a> });
    (newest.is_some() || older.is_some()).then(|| {
        view! {
            <nav class="paging" aria-label="Older and newer entries">
                {way(newest, "Newest")} {way(older, "Older")}
            </nav>
        }
    })
}

fn chain(chain: ChainState) -> impl IntoView {
    let verified = match chain.verified {
        Some(Verified { seq, at, who }) => view! {
            <p>
                "All entries up to " {seq} " were found as they were written at " {instant(at)} " by "
                <bdi>{who}</bdi> "."
            </p>
        }
        .into_any(),
        None => view! { <p>"Nobody has verified it yet."</p> }.into_any(),
    };
    let why_not = (!chain.why_not.is_empty())
        .then(|| view! { <span class="means">{chain.why_not.clone()}</span> });
    view! {
        <section class="card chain" aria-labelledby="chain">
            <div class="head">
                <h2 id="chain">"Is it whole?"</h2>
            </div>
            <p>
                "It ends with entry " {chain.entries} ". Its head is " <code>{chain.head}</code>
            </p>
            {verified}
            <p class="means">
                "Each entry holds a hash of itself and of the one before it: whoever changes, moves or takes one out is found. "
                "Keep a head elsewhere and give it to " <code>"spillway audit verify --head"</code>
                ", which then also finds that the end was cut off."
            </p>
            <form method="post" action=format!("{AUDIT_PATH}/verify")>
                <button type="submit" disabled=why_not.is_some()>"Verify now"</button>
                " "
                {why_not}
            </form>
        </section>
    }
}
