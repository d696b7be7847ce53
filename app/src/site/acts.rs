//! What can be done: each opens below its own line, so that no second click meets a button by
//! chance, and says beforehand what happens.

use leptos::prelude::*;

use super::{Moment, SITE_PATH, SiteComponent, SitePage, parts::moment};
use crate::erase::Erase as _;
use crate::overview::wording::count;

/// For how long a list may be paused here: minutes, and words.
const LENGTHS: &[(&str, &str)] = &[
    ("60", "an hour"),
    ("240", "4 hours"),
    ("1440", "a day"),
    ("10080", "a week"),
    ("43200", "30 days"),
];

/// The way to re-enable a component.
pub(super) fn enabling(page: &SitePage, list: &str, it: &SiteComponent) -> impl IntoView + use<> {
    let effect = [
        "From then on its events are handled again; those that were not meanwhile do not come back. \
         Today's strikes stay: the next minute with ",
        &count(it.per_minute),
        " events disables it again, and you get another mail. It cannot be taken back here, but the \
         list can be paused.",
    ]
    .concat();
    let title = ["Re-enable ", it.component].concat();
    let (ends, button) = (it.day_ends.clone(), title.clone());
    view! {
        <details class="act">
            <summary>{title}</summary>
            <form method="post" action=path("enable") class="fields">
                {hidden(page, list)}
                <input type="hidden" name="component" value=it.component/>
                <p class="means">{effect} " Strikes are counted from none at " {moment(ends)} "."</p>
                {reason(false)}
                <button type="submit" class="primary">{button}</button>
            </form>
        </details>
    }
    .erase()
}

/// The list's pause: the way to one, or to its end.
pub(super) fn pausing(
    page: &SitePage,
    list: &str,
    paused: Option<Moment>,
) -> impl IntoView + use<> {
    let of_site = page.site_paused.clone().map(|until| {
        view! {
            <p>"All lists of the site are paused until " {moment(until)} ". Only an operator ends that."</p>
        }
    });
    let act = match paused {
        Some(until) => resume(page, list, until).into_any(),
        None => pause(page, list).into_any(),
    };
    view! {
        <section class="card" aria-labelledby="pause">
            <div class="head">
                <h2 id="pause">"Pause"</h2>
            </div>
            {of_site}
            {act}
        </section>
    }
    .erase()
}

fn pause(page: &SitePage, list: &str) -> impl IntoView + use<> {
    let lengths = LENGTHS
        .iter()
        .map(|(minutes, words)| view! { <option value=*minutes>{*words}</option> });
    view! {
        <p>"The list is not paused."</p>
        <details class="act">
            <summary>"Pause the list"</summary>
            <form method="post" action=path("pause") class="fields">
                {hidden(page, list)}
                <p class="means">"Until it ends, no event of this list is handled or counted, by any component, and none comes back later. What people and timers start goes on. For a bulk import, say. You can end it early here."</p>
                <label>
                    "For"
                    <select name="minutes">{lengths.collect_view()}</select>
                </label>
                {reason(true)}
                <button type="submit" class="primary">"Pause it"</button>
            </form>
        </details>
    }
}

fn resume(page: &SitePage, list: &str, until: Moment) -> impl IntoView + use<> {
    view! {
        <p>"The list is paused until " {moment(until)} "."</p>
        <details class="act">
            <summary>"Resume the list"</summary>
            <form method="post" action=path("resume") class="fields">
                {hidden(page, list)}
                <p class="means">"From then on its events are counted and handled again, unless their component is disabled. You can pause it again here."</p>
                {reason(false)}
                <button type="submit" class="primary">"Resume it"</button>
            </form>
        </details>
    }
}

fn path(act: &str) -> String {
    [SITE_PATH, "/", act].concat()
}

fn hidden(page: &SitePage, list: &str) -> impl IntoView + use<> {
    view! {
        <input type="hidden" name="key" value=page.key.clone()/>
        <input type="hidden" name="list" value=list.to_owned()/>
    }
}

fn reason(required: bool) -> impl IntoView {
    let label = match required {
        true => "Why, for others who look",
        false => "Why, for others who look (may be left out)",
    };
    view! {
        <label>
            {label}
            <input type="text" name="reason" required=required maxlength="500" autocomplete="off"/>
        </label>
    }
    .erase()
}
