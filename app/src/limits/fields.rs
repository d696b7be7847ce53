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

/// One layer: whose, what, how much, and the button that takes it away.
pub(super) fn layer(n: usize, layer: LayerDraft, only_app: bool) -> AnyView {
    let field = |part: &str| format!("layers.{n}.{part}");
    let scopes = SCOPES
        .into_iter()
        .filter(|(scope, _)| !only_app || *scope == "app");
    view! {
        <fieldset class="layer">
            <legend>{format!("Limit {}", n + 1)}</legend>
            {choice(field("scope"), "Of", scopes.collect(), layer.scope)}
            {choice(field("dimension"), "Calls", DIMENSIONS.to_vec(), layer.dimension)}
            {number(field("limit"), "At most", ("1", "1000000000", "1"), layer.limit)}
            <div class="window">
                {number(field("window"), "Window", ("1", "2678400000", "1"), layer.window)}
                {choice(field("unit"), "Unit", UNITS.to_vec(), typed(layer.unit))}
            </div>
            <button
                type="submit"
                name="do"
                value=format!("remove:{n}")
                aria-label=format!("Remove limit {}", n + 1)
            >
                "Remove"
            </button>
            {layer.wrong.map(|wrong| view! { <small class="wrong">{wrong}</small> })}
        </fieldset>
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
pub(super) fn reason_field(id: &'static str, reason: Typed, shut: bool) -> AnyView {
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
