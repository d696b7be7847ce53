//! The editor of one workload's limits.

use leptos::prelude::*;

use super::change::{Conflict, Rollback, conflict, rollback};
use super::fields::{Draft, explained, layer, own, reason_field};
use super::history::{History, Made, history};
use super::notices;
use super::trial::{Trial, trial};
use crate::door::Said;
use crate::pages::limits_path;
use crate::visitor::Visitor;

/// What the editor shows.
#[derive(Clone, Debug)]
pub struct Editor {
    /// Who looks.
    pub visitor: Visitor,
    /// Of which upstream.
    pub upstream: String,
    /// Its name; `_global`: what limits all calls of an app together.
    pub workload: String,
    /// Why whoever looks may not change them; `None`: they may.
    pub shut: Option<String>,
    /// The newest version.
    pub newest: Made,
    /// Whether that one is in force; another is for a moment after the command line made it.
    pub in_force: bool,
    /// Whether only limits of the app make sense.
    pub only_app: bool,
    /// What stands in the form.
    pub draft: Draft,
    /// What became of the last form.
    pub said: Vec<Said>,
    /// What the form's limits would have done.
    pub trial: Option<Trial>,
    /// Somebody else was first.
    pub conflict: Option<Conflict>,
    /// An old version that may be in force again.
    pub rollback: Option<Rollback>,
    /// The versions.
    pub history: History,
}

pub(super) fn page(editor: Editor) -> impl IntoView {
    let path = limits_path(&editor.upstream, &editor.workload);
    let may_edit = editor.shut.is_none();
    let tried = editor.trial.as_ref().map(|it| it.tried.clone());
    let shown = tried.or_else(|| editor.conflict.as_ref().map(|it| it.own.clone()));
    view! {
        {notices(editor.said)}
        {editor.shut.map(|why| view! { <p class="notice quiet">{why}</p> })}
        {editor.conflict.map(|it| conflict(it, path.clone()))}
        {editor.rollback.filter(|_| may_edit).map(|it| rollback(it, &path))}
        {form(&path, editor.draft, shown, editor.trial, editor.only_app, may_edit)}
        {history(editor.history, &path, may_edit)}
    }
}

/// The editor's fields; `shown` names the limits in them, where the page shows what they would do or change.
fn form(
    path: &str,
    draft: Draft,
    shown: Option<String>,
    tried: Option<Trial>,
    only_app: bool,
    may_edit: bool,
) -> AnyView {
    let wrong = draft.wrong.into_iter();
    let wrong = wrong
        .map(|wrong| view! { <p class="wrong" role="alert">{wrong}</p> })
        .collect_view();
    let layers = draft.layers.into_iter().enumerate();
    let layers = layers.map(|(n, it)| layer(n, it, only_app)).collect_view();
    let numbers = draft.numbers.into_iter();
    let (breakers, background): (Vec<_>, Vec<_>) = numbers.partition(|it| it.of_breakers);
    let owns = draft.own.into_iter().enumerate();
    let owns = owns.map(|(n, it)| own(n, it, only_app)).collect_view();
    let apply = match &tried {
        Some(_) => view! {
            <button type="submit" class="primary" name="do" value="apply">"Apply"</button>
        }
        .into_any(),
        None => view! { <p class="means">"They can be applied once they have been looked at."</p> }
            .into_any(),
    };
    view! {
        <form method="post" action=format!("{path}/edit#preview") id="edit" class="fields" novalidate>
            <fieldset class="whole" disabled=!may_edit>
                <legend class="unseen">"The limits"</legend>
                // Enter presses the form's first button, which therefore changes nothing.
                <button type="submit" name="do" value="preview" class="unseen" tabindex="-1" aria-hidden="true">
                    "Preview"
                </button>
                <input type="hidden" name="base" value=draft.base/>
                <input type="hidden" name="tried" value=shown/>
                <section class="card" aria-labelledby="layers">
                    <div class="head">
                        <h2 id="layers">"Limits"</h2>
                    </div>
                    <p class="means">
                        "All of them hold at once. A call counts while it runs and one window after its end."
                    </p>
                    {wrong}
                    {layers}
                    <button type="submit" name="do" value="add">"Add a limit"</button>
                </section>
                <section class="card" aria-labelledby="background">
                    <div class="head">
                        <h2 id="background">"Background"</h2>
                    </div>
                    <div class="pair">{background.into_iter().map(explained).collect_view()}</div>
                </section>
                <section class="card" aria-labelledby="breakers">
                    <div class="head">
                        <h2 id="breakers">"Breakers"</h2>
                    </div>
                    <p class="means">
                        "What the upstream says opens them: a wait that it names is always kept."
                    </p>
                    <div class="pair">{breakers.into_iter().map(explained).collect_view()}</div>
                </section>
                <section class="card" aria-labelledby="overrides">
                    <div class="head">
                        <h2 id="overrides">"Overrides"</h2>
                    </div>
                    <p class="means">
                        "Own limits of one user, tenant or app: each holds in the place of the limit of the same kind above, or beside them. What is not named here is as for everybody."
                    </p>
                    {owns}
                    <button type="submit" name="do" value="own-add">"Add an override"</button>
                </section>
                {tried.map(trial)}
                <section class="card" aria-labelledby="apply">
                    <div class="head">
                        <h2 id="apply">"Put them in force"</h2>
                    </div>
                    {reason_field("reason", draft.reason, false)}
                    <p class="actions">
                        <button type="submit" name="do" value="preview">"Preview"</button>
                        {apply}
                    </p>
                </section>
            </fieldset>
        </form>
    }
    .into_any()
}
