//! What is typed into the editor: it comes back as it was, each mistake beside its field.

use leptos::prelude::*;

/// A field as it was typed, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// As it was typed.
    pub text: String,
    /// What is wrong with it, and what would be right.
    pub wrong: Option<String>,
}

/// A layer as it is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerDraft {
    /// Whose budget: `user`, `tenant` or `app`.
    pub scope: Typed,
    /// What it limits: `rate` or `concurrency`.
    pub dimension: Typed,
    /// The most at once.
    pub limit: Typed,
    /// How long the window is, in `unit`.
    pub window: Typed,
    /// Of [`UNITS`].
    pub unit: String,
    /// Whether it only counts what it would refuse.
    pub shadow: bool,
    /// What it counted until now, in words.
    pub counted: Option<String>,
    /// What is wrong with it as a whole.
    pub wrong: Option<String>,
}

/// Own limits of one key as they are typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDraft {
    /// Of one `user`, `tenant` or `app`.
    pub scope: Typed,
    /// Its app.
    pub app: Typed,
    /// Its tenant.
    pub tenant: Typed,
    /// Its user.
    pub user: Typed,
    /// Its limits, whose scopes are its own.
    pub limits: Vec<LayerDraft>,
    /// What is wrong with it as a whole.
    pub wrong: Option<String>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberField {
    /// Its name in the form.
    pub name: &'static str,
    /// What it is.
    pub label: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// What it does.
    pub means: &'static str,
    /// The least and the most, and in what steps.
    pub range: (&'static str, &'static str, &'static str),
    /// Whether it is of breakers.
    pub of_breakers: bool,
    /// What was typed.
    pub typed: Typed,
}

/// All of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The version that it began with.
    pub base: i64,
    /// The limits.
    pub layers: Vec<LayerDraft>,
    /// What is a number.
    pub numbers: Vec<NumberField>,
    /// Who has limits of their own.
    pub own: Vec<OwnDraft>,
    /// Why they are changed.
    pub reason: Typed,
    /// What is wrong with no single field.
    pub wrong: Vec<String>,
}

/// Units of windows, and what they are called.
const UNITS: [(&str, &str); 5] = [
    ("ms", "ms"),
    ("s", "seconds"),
    ("min", "minutes"),
    ("h", "hours"),
    ("d", "days"),
];

const SCOPES: [(&str, &str); 3] = [
    ("user", "each user"),
    ("tenant", "each tenant"),
    ("app", "each app"),
];

const DIMENSIONS: [(&str, &str); 2] = [("rate", "per window"), ("concurrency", "in flight")];

const OWN_SCOPES: [(&str, &str); 3] = [
    ("user", "one user"),
    ("tenant", "one tenant"),
    ("app", "one app"),
];

/// One layer: whose, what, how much, and the button that takes it away.
pub(super) fn layer(n: usize, layer: LayerDraft, only_app: bool) -> AnyView {
    let prefix = format!("layers.{n}");
    let title = format!("Limit {}", n + 1);
    let scopes = of(&SCOPES, only_app);
    let scope = choice(format!("{prefix}.scope"), "Of", scopes, layer.scope.clone());
    let shadow = mark(
        format!("{prefix}.shadow"),
        "Refuse nothing: only count what it would refuse",
        layer.shadow,
    );
    let counted = layer.counted.clone();
    let counted = counted.map(|text| view! { <p class="means counted">{text}</p> });
    view! {
        <fieldset class="layer">
            <legend>{title.clone()}</legend>
            {scope}
            {amount(&prefix, &title, format!("remove:{n}"), layer)}
            {shadow}
            {counted}
        </fieldset>
    }
    .into_any()
}

/// Own limits of one key, and the buttons that add and take away.
pub(super) fn own(n: usize, own: OwnDraft, only_app: bool) -> AnyView {
    let prefix = format!("overrides.{n}");
    let title = format!("Override {}", n + 1);
    let scopes = of(&OWN_SCOPES, only_app);
    let limits = own.limits.into_iter().enumerate();
    let limits = limits.map(|(m, limit)| {
        let title = format!("Limit {} of override {}", m + 1, n + 1);
        let prefix = format!("overrides.{n}.limits.{m}");
        view! {
            <fieldset class="layer of-own">
                <legend>{title.clone()}</legend>
                {amount(&prefix, &title, format!("own-limit-remove:{n}:{m}"), limit)}
            </fieldset>
        }
    });
    view! {
        <fieldset class="own">
            <legend>{title.clone()}</legend>
            <div class="pair">
                {choice(format!("{prefix}.scope"), "Of", scopes, own.scope)}
                {name(format!("{prefix}.app"), "App", own.app)}
                {name(format!("{prefix}.tenant"), "Tenant, empty: calls without", own.tenant)}
                {name(format!("{prefix}.user"), "User", own.user)}
            </div>
            {limits.collect_view()}
            {own.wrong.map(|wrong| view! { <small class="wrong">{wrong}</small> })}
            <p class="actions">
                {press(format!("own-limit-add:{n}"), "Add a limit", format!("Add a limit to override {}", n + 1))}
                {press(format!("own-remove:{n}"), "Remove", format!("Remove override {}", n + 1))}
            </p>
        </fieldset>
    }
    .into_any()
}

/// What is limited, how much, in what time, and the button that takes it away.
fn amount(prefix: &str, title: &str, remove: String, layer: LayerDraft) -> AnyView {
    let field = |part: &str| format!("{prefix}.{part}");
    let title = ["Remove ", &title.to_lowercase()].concat();
    view! {
        {choice(field("dimension"), "Calls", DIMENSIONS.to_vec(), layer.dimension)}
        {number(field("limit"), "At most", ("1", "1000000000", "1"), layer.limit)}
        <div class="window">
            {number(field("window"), "Window", ("1", "2678400000", "1"), layer.window)}
            {choice(field("unit"), "Unit", UNITS.to_vec(), typed(layer.unit))}
        </div>
        {press(remove, "Remove", title)}
        {layer.wrong.map(|wrong| view! { <small class="wrong">{wrong}</small> })}
    }
    .into_any()
}

fn of(
    scopes: &[(&'static str, &'static str)],
    only_app: bool,
) -> Vec<(&'static str, &'static str)> {
    let fitting = scopes
        .iter()
        .filter(|(scope, _)| !only_app || *scope == "app");
    fitting.copied().collect()
}

/// A button of the form; `label` begins with its word.
fn press(act: String, word: &'static str, label: String) -> AnyView {
    view! {
        <button type="submit" name="do" value=act aria-label=label>
            {word}
        </button>
    }
    .into_any()
}

fn mark(name: String, words: &'static str, checked: bool) -> AnyView {
    view! {
        <label class="mark">
            <input type="checkbox" name=name value="yes" checked=checked/>
            {words}
        </label>
    }
    .into_any()
}

fn name(name: String, label: &'static str, typed: Typed) -> AnyView {
    let wrong = said(&name, &typed);
    view! {
        <label>
            {label}
            <input
                type="text"
                name=name
                value=typed.text
                maxlength="256"
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                aria-invalid=wrong.is_some().then_some("true")
                aria-describedby=wrong.as_ref().map(|(id, _)| id.clone())
            />
            {wrong.map(|(id, wrong)| view! { <small class="wrong" id=id>{wrong}</small> })}
        </label>
    }
    .into_any()
}

/// A number with what it means.
pub(super) fn explained(field: NumberField) -> AnyView {
    let means = format!("{}-means", field.name);
    let label = [field.label, ", ", field.unit].concat();
    view! {
        <div class="explained">
            {number(field.name.to_owned(), label, field.range, field.typed)}
            <small class="means" id=means>{field.means}</small>
        </div>
    }
    .into_any()
}

/// Why something is done: it has to be said.
pub(crate) fn reason_field(id: &'static str, reason: Typed, shut: bool) -> AnyView {
    let wrong = said(id, &reason);
    view! {
        <label>
            "Reason, for the history and the audit log"
            <input
                type="text"
                id=id
                name="reason"
                value=reason.text
                maxlength="500"
                aria-required="true"
                aria-invalid=wrong.is_some().then_some("true")
                aria-describedby=wrong.as_ref().map(|(id, _)| id.clone())
                disabled=shut
            />
            {wrong.map(|(id, wrong)| view! { <small class="wrong" id=id>{wrong}</small> })}
        </label>
    }
    .into_any()
}

fn number(
    name: String,
    label: impl Into<String>,
    (min, max, step): (&'static str, &'static str, &'static str),
    typed: Typed,
) -> AnyView {
    let wrong = said(&name, &typed);
    view! {
        <label>
            {label.into()}
            <input
                type="number"
                name=name
                value=typed.text
                min=min
                max=max
                step=step
                aria-invalid=wrong.is_some().then_some("true")
                aria-describedby=wrong.as_ref().map(|(id, _)| id.clone())
            />
            {wrong.map(|(id, wrong)| view! { <small class="wrong" id=id>{wrong}</small> })}
        </label>
    }
    .into_any()
}

pub(super) fn choice(
    name: String,
    label: &'static str,
    options: Vec<(&'static str, &'static str)>,
    typed: Typed,
) -> AnyView {
    let wrong = said(&name, &typed);
    let options = options.into_iter().map(|(value, words)| {
        let selected = value == typed.text;
        view! { <option value=value selected=selected>{words}</option> }
    });
    view! {
        <label>
            {label}
            <select
                name=name
                aria-invalid=wrong.is_some().then_some("true")
                aria-describedby=wrong.as_ref().map(|(id, _)| id.clone())
            >
                {options.collect_view()}
            </select>
            {wrong.map(|(id, wrong)| view! { <small class="wrong" id=id>{wrong}</small> })}
        </label>
    }
    .into_any()
}

/// What is wrong, and the id that it has on the page.
fn said(name: &str, typed: &Typed) -> Option<(String, String)> {
    let wrong = typed.wrong.clone()?;
    Some((["wrong-", name].concat(), wrong))
}

fn typed(text: String) -> Typed {
    Typed { text, wrong: None }
}
