//! What is typed for a new token.

use leptos::prelude::*;

use crate::door::{Said, notice};
use crate::overview::name;
use crate::pages::TOKENS_PATH;

/// What is typed for a new token, and what there is to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenForm {
    /// What people will call it.
    pub name: String,
    /// Whose part it is to have.
    pub role: String,
    /// What it is to be good for.
    pub scopes: Vec<String>,
    /// Which upstreams it is bound to.
    pub upstreams: Vec<String>,
    /// Its apps, with commas between them.
    pub apps: String,
    /// Its sites, likewise.
    pub sites: String,
    /// The lane of calls that name none; empty: the foreground, unless told otherwise.
    pub lane: String,
    /// Whether it may say for which user it calls.
    pub act_for_users: bool,
    /// When it ends; empty: never.
    pub expires: String,
    /// The roles there are, each with what it may.
    pub roles: Vec<(String, &'static str)>,
    /// The scopes there are, each with what it is for.
    pub all_scopes: Vec<(String, &'static str)>,
    /// The upstreams there are.
    pub all_upstreams: Vec<String>,
}

/// The ends that are offered; others are typed.
const ENDS: [(&str, &str); 5] = [
    ("30d", "in 30 days"),
    ("90d", "in 90 days"),
    ("365d", "in a year"),
    ("7d", "in a week"),
    ("", "never"),
];

pub(super) fn card(form: TokenForm, wrong: Option<String>, why_not: String) -> impl IntoView {
    let disabled = !why_not.is_empty();
    let why_not = disabled.then(|| view! { <p class="means">{why_not}</p> });
    let wrong = wrong.map(|wrong| notice(Said::Wrong(wrong)));
    view! {
        <section class="card" aria-labelledby="new">
            <div class="head">
                <h2 id="new">"A new token"</h2>
            </div>
            {wrong}
            <form method="post" action=format!("{TOKENS_PATH}/new") class="fields">
                {named(&form, disabled)}
                {scopes(&form, disabled)}
                {bindings(&form, disabled)}
                {rest(&form, disabled)}
                {why_not}
                <p class="means">"It is shown once, on the next page. What a token may do never changes: to change it, make another and revoke this one."</p>
                <button type="submit" class="primary" disabled=disabled>"Make the token"</button>
            </form>
        </section>
    }
}

fn named(form: &TokenForm, disabled: bool) -> impl IntoView + use<> {
    let roles = form.roles.iter().map(|(role, may)| {
        let words = [role, ": ", may].concat();
        option(role, &words, &form.role)
    });
    view! {
        <div class="pair">
            <label>
                "Name: whose it is, or what for"
                <input type="text" name="name" value=form.name.clone() required maxlength="64" autocomplete="off" disabled=disabled/>
            </label>
            <label>
                "Role: the most that it may do"
                <select name="role" disabled=disabled>{roles.collect_view()}</select>
            </label>
        </div>
    }
}

fn scopes(form: &TokenForm, disabled: bool) -> impl IntoView + use<> {
    let marks = form.all_scopes.iter().map(|(scope, what)| {
        let set = form.scopes.contains(scope);
        mark("scope", scope, &[scope, ": ", what].concat(), set, disabled)
    });
    view! {
        <fieldset>
            <legend>"What it is good for"</legend>
            {marks.collect_view()}
        </fieldset>
    }
}

fn bindings(form: &TokenForm, disabled: bool) -> impl IntoView + use<> {
    let upstreams = form.all_upstreams.iter().map(|upstream| {
        let set = form.upstreams.contains(upstream);
        mark(
            "upstream",
            upstream,
            &name::visible(upstream),
            set,
            disabled,
        )
    });
    view! {
        <fieldset>
            <legend>"Only these upstreams (none marked: all)"</legend>
            {upstreams.collect_view()}
        </fieldset>
        <div class="pair">
            <label>
                "Only these apps, with commas (none: all)"
                <input type="text" name="apps" value=form.apps.clone() maxlength="4096" autocomplete="off" spellcheck="false" disabled=disabled/>
            </label>
            <label>
                "Only events of these sites, with commas (none: all)"
                <input type="text" name="sites" value=form.sites.clone() maxlength="4096" autocomplete="off" spellcheck="false" disabled=disabled/>
            </label>
        </div>
    }
}

fn rest(form: &TokenForm, disabled: bool) -> impl IntoView + use<> {
    let lanes = [
        ("", "foreground, if they may choose"),
        ("foreground", "foreground"),
        ("background", "background"),
    ];
    let lanes = lanes.map(|(lane, words)| option(lane, words, &form.lane));
    let is_offered = ENDS.iter().any(|(end, _)| *end == form.expires);
    let typed = (!is_offered).then(|| option(&form.expires, &form.expires, &form.expires));
    let ends = ENDS.map(|(end, words)| option(end, words, &form.expires));
    view! {
        <div class="pair">
            <label>
                "Lane of calls that name none"
                <select name="lane" disabled=disabled>{lanes.collect_view()}</select>
            </label>
            <label>
                "Ends"
                <select name="expires" disabled=disabled>{typed}{ends.collect_view()}</select>
            </label>
        </div>
        {mark("act_for_users", "yes", "It may name, by the header Spillway-User, for whom it calls", form.act_for_users, disabled)}
    }
}

fn mark(
    name: &'static str,
    value: &str,
    words: &str,
    set: bool,
    disabled: bool,
) -> impl IntoView + use<> {
    let (value, words) = (value.to_owned(), words.to_owned());
    view! {
        <label class="mark">
            <input type="checkbox" name=name value=value checked=set disabled=disabled/>
            <bdi>{words}</bdi>
        </label>
    }
}

pub(crate) fn option(value: &str, words: &str, chosen: &str) -> impl IntoView + use<> {
    let selected = value == chosen;
    let (value, words) = (value.to_owned(), name::visible(words));
    view! { <option value=value selected=selected>{words}</option> }
}
