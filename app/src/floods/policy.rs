//! The policies of the flood guard, one for each component: looked at, tried on what was recorded,
//! changed with a reason, rolled back. Forms and history are those of the limits.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::{FLOODS_PATH, component_words, flood_list_path};
use crate::door::Said;
use crate::limits::{
    Conflict, History, Made, Rollback, Typed, conflict, history, made, notices, reason_field,
    rollback,
};
use crate::overview::name;
use crate::overview::wording::{capital, count};
use crate::pages::Page;
use crate::plain::{Plain, document, instant};
use crate::visitor::Visitor;

/// Where the policies are.
pub const FLOOD_POLICIES_PATH: &str = "/flood-policies";

/// All policies.
#[derive(Clone, Debug)]
pub struct FloodPolicies {
    /// Who looks.
    pub visitor: Visitor,
    /// Why nothing can be changed; `None`: it can.
    pub shut: Option<String>,
    /// Each component's.
    pub policies: Vec<FloodPolicyRow>,
}

/// A component's policy, as the list shows it.
#[derive(Clone, Debug)]
pub struct FloodPolicyRow {
    /// The component's name.
    pub component: &'static str,
    /// Threshold, strikes a day, grace; `None`: it cannot be read.
    pub numbers: Option<[u32; 3]>,
    /// How many lists have their own.
    pub lists: usize,
    /// How the newest version came to be.
    pub newest: Made,
}

/// The editor of one.
#[derive(Clone, Debug)]
pub struct FloodPolicyEditor {
    /// Who looks.
    pub visitor: Visitor,
    /// The component's name.
    pub component: &'static str,
    /// Why whoever looks may not change it; `None`: they may.
    pub shut: Option<String>,
    /// The newest version.
    pub newest: Made,
    /// What stands in the form.
    pub draft: FloodDraft,
    /// What became of the last form.
    pub said: Vec<Said>,
    /// What the form's policy would have done.
    pub trial: Option<FloodTrial>,
    /// Somebody else was first.
    pub conflict: Option<Conflict>,
    /// An old version that may be in force again.
    pub rollback: Option<Rollback>,
    /// The versions.
    pub history: History,
}

/// A policy as it is typed.
#[derive(Clone, Debug, Default)]
pub struct FloodDraft {
    /// The version that it began with.
    pub base: i64,
    /// For all lists without their own: threshold, strikes a day, grace.
    pub numbers: [String; 3],
    /// Lists with their own.
    pub lists: Vec<FloodListDraft>,
    /// Why.
    pub reason: Typed,
    /// What is wrong, with its place; `None`: nothing.
    pub wrong: Option<String>,
}

/// A list's own policy as it is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodListDraft {
    /// The site's key.
    pub site: String,
    /// The list's key.
    pub list: String,
    /// Threshold, strikes a day, grace.
    pub numbers: [String; 3],
}

/// What a policy would have done to what was recorded.
#[derive(Clone, Debug, Default)]
pub struct FloodTrial {
    /// In a sentence.
    pub says: String,
    /// Names what was tried, so that nothing else is applied unseen.
    pub tried: String,
    /// From when until when it was recorded, RFC 3339; `None`: nothing was.
    pub between: Option<(String, String)>,
    /// How high lists' busiest minutes went: what it is, and the events.
    pub peaks: Vec<(&'static str, u32)>,
    /// The threshold in force and the one tried.
    pub per_minute: [u32; 2],
    /// A row for each outcome: what, now, changed.
    pub outcomes: Vec<(&'static str, u64, u64)>,
    /// On how many lists they differ.
    pub differ: usize,
    /// The lists with the most difference.
    pub lists: Vec<FloodTrialList>,
    /// What has to be known beside the numbers.
    pub notes: Vec<String>,
}

/// A list on which two policies differ.
#[derive(Clone, Debug, Default)]
pub struct FloodTrialList {
    /// The site's key.
    pub site: String,
    /// The list's key.
    pub list: String,
    /// The events of its busiest minute.
    pub peak: u32,
    /// Strikes, now and changed.
    pub strikes: [u32; 2],
    /// Events that are not handled, now and changed.
    pub stopped: [u64; 2],
    /// Whether it ends disabled, now and changed.
    pub disabled: [bool; 2],
}

/// The vendor's three, as buttons fill them in.
pub const FLOOD_PRESETS: [(&str, [u32; 3]); 3] = [
    ("30/10/0", [30, 10, 0]),
    ("100/20/1", [100, 20, 1]),
    ("100/20/3", [100, 20, 3]),
];

const NAMES: [(&str, &str, &str); 3] = [
    (
        "per_minute",
        "Events a minute",
        "The event of a minute that is a strike, still handled; later ones of that minute are stopped.",
    ),
    (
        "strikes_per_day",
        "Strikes a day",
        "The strike of a site's day that disables the component on the list, until a person re-enables it.",
    ),
    (
        "grace",
        "In grace",
        "How many of a day's first strikes stop nothing.",
    ),
];

/// The list of policies as a document.
#[must_use]
pub fn flood_policies(options: &LeptosOptions, page: FloodPolicies) -> String {
    let plain = plain(
        page.visitor.clone(),
        "Flood policies".to_owned(),
        "What lists endure, by component".to_owned(),
    );
    document(options, plain, || {
        let rows = page.policies.into_iter().map(row).collect_view();
        view! {
            <p class="way"><a href=FLOODS_PATH>"Floods"</a></p>
            {page.shut.map(|why| view! { <p class="notice quiet">{why}</p> })}
            <section class="card" aria-label="Policies by component">
                <table class="facts">
                    <thead>
                        <tr>
                            <th scope="col">"Component"</th>
                            <th scope="col">"Policy"</th>
                            <th scope="col">"Lists with their own"</th>
                            <th scope="col">"Last change"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </section>
        }
    })
}

fn row(it: FloodPolicyRow) -> AnyView {
    let href = [FLOOD_POLICIES_PATH, "/", it.component].concat();
    let policy = match it.numbers {
        Some([per_minute, strikes, grace]) => format!(
            "{} events a minute, {} strikes a day, {} in grace",
            count(per_minute),
            count(strikes),
            count(grace)
        ),
        None => "cannot be read".to_owned(),
    };
    view! {
        <tr>
            <th scope="row"><a href=href>{component_words(it.component)}</a></th>
            <td data-name="Policy"><span>{policy}</span></td>
            <td data-name="Lists with their own"><span>{count(it.lists as u64)}</span></td>
            <td data-name="Last change">{made(it.newest)}</td>
        </tr>
    }
    .into_any()
}

/// The editor as a document.
#[must_use]
pub fn flood_policy(options: &LeptosOptions, page: FloodPolicyEditor) -> String {
    let title = ["Flood policy of ", component_words(page.component)].concat();
    let beside = format!("Version {}, in force", page.newest.version);
    let plain = plain(page.visitor.clone(), title, beside);
    document(options, plain, || editor(page))
}

fn plain(visitor: Visitor, title: String, beside: String) -> Plain {
    Plain {
        page: Page::Floods,
        visitor,
        title,
        beside,
        class: "limits",
        told: None,
    }
}

fn editor(page: FloodPolicyEditor) -> impl IntoView {
    let path = [FLOOD_POLICIES_PATH, "/", page.component].concat();
    let may_edit = page.shut.is_none();
    let tried = page.trial.as_ref().map(|it| it.tried.clone());
    let shown = tried.or_else(|| page.conflict.as_ref().map(|it| it.own.clone()));
    view! {
        <p class="way">
            <a href=FLOODS_PATH>"Floods"</a> " / " <a href=FLOOD_POLICIES_PATH>"Policies"</a>
        </p>
        {notices(page.said)}
        {page.shut.map(|why| view! { <p class="notice quiet">{why}</p> })}
        {page.conflict.map(|it| conflict(it, path.clone()))}
        {page.rollback.filter(|_| may_edit).map(|it| rollback(it, &path))}
        {form(&path, page.draft, shown, page.trial, may_edit)}
        {history(page.history, &path, may_edit)}
    }
}

fn form(
    path: &str,
    draft: FloodDraft,
    shown: Option<String>,
    tried: Option<FloodTrial>,
    may_edit: bool,
) -> AnyView {
    let wrong = draft
        .wrong
        .map(|wrong| view! { <p class="wrong" role="alert">{wrong}</p> });
    let lists = draft.lists.into_iter().enumerate();
    let lists = lists.map(|(n, it)| own(n, it)).collect_view();
    let presets = FLOOD_PRESETS.map(|(words, _)| {
        let value = ["preset-", words].concat();
        view! { <button type="submit" name="do" value=value>{words}</button> }
    });
    let apply = match &tried {
        Some(_) => {
            view! { <button type="submit" class="primary" name="do" value="apply">"Apply"</button> }
                .into_any()
        }
        None => view! { <p class="means">"It can be applied once it has been looked at."</p> }
            .into_any(),
    };
    view! {
        <form method="post" action=format!("{path}/edit#preview") id="edit" class="fields" novalidate>
            <fieldset class="whole" disabled=!may_edit>
                <legend class="unseen">"The policy"</legend>
                // Enter presses the form's first button, which therefore changes nothing.
                <button type="submit" name="do" value="preview" class="unseen" tabindex="-1" aria-hidden="true">
                    "Preview"
                </button>
                <input type="hidden" name="base" value=draft.base/>
                <input type="hidden" name="tried" value=shown/>
                <section class="card" aria-labelledby="policy">
                    <div class="head">
                        <h2 id="policy">"All lists"</h2>
                    </div>
                    {wrong}
                    <div class="pair">{numbers("", draft.numbers)}</div>
                    <p class="actions"><span class="means">"The vendor's:"</span> {presets.collect_view()}</p>
                </section>
                <section class="card" aria-labelledby="own">
                    <div class="head">
                        <h2 id="own">"Lists with their own"</h2>
                    </div>
                    <p class="means">"For a list that is busier than others, in the place of the numbers above."</p>
                    {lists}
                    <button type="submit" name="do" value="add">"Add a list"</button>
                </section>
                {tried.map(trial)}
                <section class="card" aria-labelledby="apply">
                    <div class="head">
                        <h2 id="apply">"Put it in force"</h2>
                    </div>
                    <p class="means">
                        "It holds from the next event on. Where a threshold is lowered below a minute's count, the next event is the strike; what is disabled stays so."
                    </p>
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

fn numbers(prefix: &str, values: [String; 3]) -> AnyView {
    let fields = NAMES.into_iter().zip(values);
    let fields = fields.map(|((field, words, means), value)| {
        let name = [prefix, field].concat();
        view! {
            <label>
                {words}
                <input type="number" name=name value=value min="0" max="1000000" step="1" inputmode="numeric"/>
                {prefix.is_empty().then(|| view! { <small class="means">{means}</small> })}
            </label>
        }
    });
    fields.collect_view().into_any()
}

fn own(n: usize, it: FloodListDraft) -> AnyView {
    let prefix = format!("list-{n}-");
    let text = |field: &str, words: &'static str, value: String| {
        let name = [&prefix, field].concat();
        view! {
            <label>
                {words}
                <input type="text" name=name value=value maxlength="256" autocomplete="off" autocapitalize="none" spellcheck="false"/>
            </label>
        }
    };
    let label = format!("Remove list {}", n + 1);
    view! {
        <fieldset class="own">
            <legend>{format!("List {}", n + 1)}</legend>
            <div class="pair">
                {text("site", "Site, by its key", it.site)}
                {text("list", "List, by its key", it.list)}
                {numbers(&prefix, it.numbers)}
            </div>
            <button type="submit" name="do" value=format!("remove-{n}") aria-label=label>"Remove"</button>
        </fieldset>
    }
    .into_any()
}

fn trial(trial: FloodTrial) -> AnyView {
    let between = trial.between.map(|(from, until)| {
        view! {
            <p class="means">
                "Tried on the minutes between " {instant(from)} " and " {instant(until)}
                ". Nobody re-enables in it; what came while a list was disabled or paused was not counted."
            </p>
        }
    });
    let highest = trial.peaks.iter().map(|(_, it)| *it);
    let highest = highest.chain(trial.per_minute).max().unwrap_or(1).max(1);
    let [now, then] = trial.per_minute;
    let peaks = trial
        .peaks
        .iter()
        .map(|(what, events)| peak(what, *events, [now, then], highest));
    let peaks = peaks.collect_view();
    let outcomes = trial.outcomes.into_iter().map(|(what, now, then)| {
        view! {
            <tr>
                <th scope="row">{what}</th>
                <td>{count(now)}</td>
                <td><b>{count(then)}</b></td>
            </tr>
        }
    });
    let lists = (trial.differ > 0).then(|| differing(trial.differ, trial.lists));
    let notes = trial.notes.into_iter();
    let notes = notes
        .map(|note| view! { <p class="means">{note}</p> })
        .collect_view();
    view! {
        <section class="card trial" aria-labelledby="preview">
            <div class="head">
                <h2 id="preview">"Preview"</h2>
            </div>
            <p role="status"><b>{capital(trial.says)} "."</b></p>
            {between}
            <table class="counters">
                <caption>"What it would have done"</caption>
                <thead>
                    <tr>
                        <td></td>
                        <th scope="col">"As it is now"</th>
                        <th scope="col">"Changed"</th>
                    </tr>
                </thead>
                <tbody>{outcomes.collect_view()}</tbody>
            </table>
            <table class="counters peaks">
                <caption>"How high the busiest minute of each list went, beside the threshold"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Lists"</th>
                        <th scope="col">"Events"</th>
                        <th scope="col">
                            {["of ", &count(now), " now"].concat()}
                        </th>
                        <th scope="col">{["of ", &count(then), " changed"].concat()}</th>
                    </tr>
                </thead>
                <tbody>{peaks}</tbody>
            </table>
            {lists}
            {notes}
        </section>
    }
    .into_any()
}

/// A quantile with a bar for it, the thresholds as ticks, and where it stands against both.
fn peak(what: &'static str, events: u32, thresholds: [u32; 2], highest: u32) -> AnyView {
    let at = |events: u32| u64::from(events) * 1_000 / u64::from(highest);
    let [now, then] = thresholds;
    let word = |threshold: u32| match events >= threshold {
        true => "a strike",
        false => "below",
    };
    view! {
        <tr>
            <th scope="row">{what}</th>
            <td>
                <span class="tally">
                    <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
                        <rect class="track" width="1000" height="8"></rect>
                        <rect class="share" width=at(events).to_string() height="8"></rect>
                        <rect class="tick" x=at(now).min(994).to_string() width="6" height="8"></rect>
                        <rect class="near" x=at(then).min(994).to_string() width="6" height="8"></rect>
                    </svg>
                    <span class="numbers">{count(events)}</span>
                </span>
            </td>
            <td>{word(now)}</td>
            <td><b>{word(then)}</b></td>
        </tr>
    }
    .into_any()
}

fn differing(differ: usize, lists: Vec<FloodTrialList>) -> AnyView {
    let more = differ.saturating_sub(lists.len());
    let more = (more > 0).then(|| {
        view! { <p class="means">{["and ", &count(more as u64), " more lists"].concat()}</p> }
    });
    let rows = lists.into_iter().map(|it| {
        let href = flood_list_path(&it.site, &it.list);
        let disabled = |is: bool| if is { "disabled" } else { "–" };
        view! {
            <tr>
                <th scope="row">
                    <a href=href><bdi>{name::visible(&it.list)}</bdi></a>
                    " " <small><bdi>{name::visible(&it.site)}</bdi></small>
                </th>
                <td>{count(it.peak)}</td>
                <td>{count(it.strikes[0])} " → " <b>{count(it.strikes[1])}</b></td>
                <td>{count(it.stopped[0])} " → " <b>{count(it.stopped[1])}</b></td>
                <td>{disabled(it.disabled[0])} " → " <b>{disabled(it.disabled[1])}</b></td>
            </tr>
        }
        .into_any()
    });
    view! {
        <div class="scroll" role="region" tabindex="0" aria-label="Lists on which it differs">
            <table class="counters">
                <caption>"Lists on which it differs, the most first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"List"</th>
                        <th scope="col">"Busiest minute"</th>
                        <th scope="col">"Strikes"</th>
                        <th scope="col">"Events stopped"</th>
                        <th scope="col">"At the end"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
        {more}
    }
    .into_any()
}
