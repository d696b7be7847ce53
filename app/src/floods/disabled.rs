//! What is disabled, and its re-enablement: chosen first, then confirmed with a reason.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::{FLOODS_DISABLED_PATH, FLOODS_PATH, component_words, flood_list_path};
use crate::overview::name;
use crate::overview::wording::plural;
use crate::pages::{Page, escaped, query};
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

/// A component that is disabled on a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisabledRow {
    /// The site's key.
    pub site: String,
    /// What people call it; empty: by its key.
    pub title: String,
    /// The list's key.
    pub list: String,
    /// The component's name.
    pub component: &'static str,
    /// Since when, RFC 3339; empty: it is not disabled any more.
    pub since: String,
    /// Today's strikes, and how many disable.
    pub strikes: (u32, u32),
}

/// The page.
#[derive(Clone, Debug)]
pub struct FloodsDisabled {
    /// Who looks.
    pub visitor: Visitor,
    /// When this was so, RFC 3339.
    pub as_of: String,
    /// What is disabled; on the page that asks back, what was chosen.
    pub rows: Vec<DisabledRow>,
    /// How many there are on all pages.
    pub matched: usize,
    /// Which page, from 1.
    pub page: usize,
    /// Whether there is another.
    pub more: bool,
    /// Why nothing can be changed; empty: it can.
    pub why_not: String,
    /// The reason that was typed, where that was not taken.
    pub reason: String,
    /// Whether the way goes back to the list's own page.
    pub to_list: bool,
    /// What became of the last form.
    pub told: Option<Told>,
}

impl DisabledRow {
    /// How forms name it.
    fn value(&self) -> String {
        let (site, list) = (escaped(&self.site), escaped(&self.list));
        [self.component, "/", &site, "/", &list].concat()
    }

    fn site_words(&self) -> &str {
        match self.title.as_str() {
            "" => &self.site,
            title => title,
        }
    }
}

/// The list of what is disabled.
#[must_use]
pub fn floods_disabled(options: &LeptosOptions, page: FloodsDisabled) -> String {
    document(options, plain("Disabled by floods", &page), || {
        view! {
            <p class="way"><a href=FLOODS_PATH>"Floods"</a></p>
            {choose(&page)}
        }
    })
}

/// Asks back: what happens, and why it is to.
#[must_use]
pub fn floods_confirm(options: &LeptosOptions, page: FloodsDisabled) -> String {
    document(options, plain("Re-enable?", &page), || {
        view! {
            <p class="way">
                <a href=FLOODS_PATH>"Floods"</a> " / " <a href=FLOODS_DISABLED_PATH>"Disabled"</a>
            </p>
            {confirm(&page)}
        }
    })
}

fn plain(title: &str, page: &FloodsDisabled) -> Plain {
    Plain {
        page: Page::Floods,
        visitor: page.visitor.clone(),
        title: title.to_owned(),
        beside: ["As of ", &page.as_of.replace('T', " ").replace('Z', " UTC")].concat(),
        class: "floods-page",
        told: page.told.clone(),
    }
}

fn choose(page: &FloodsDisabled) -> impl IntoView + use<> {
    let may = page.why_not.is_empty();
    let rows = page.rows.clone().into_iter();
    let rows = rows.map(|it| choice(it, may)).collect_view();
    let why_not = (!may).then(|| view! { <p class="means">{page.why_not.clone()}</p> });
    let body = match page.rows.is_empty() {
        true => view! {
            <p class="nothing">"Nothing is disabled. A component is disabled on a list when its minutes reach the threshold too often within a day; it stands here until a person re-enables it."</p>
        }
        .into_any(),
        false => view! {
            <form method="post" action="/floods/enable" class="bulk">
                <table class="facts">
                    <thead>
                        <tr>
                            <th scope="col"><span class="unseen">"Chosen"</span></th>
                            <th scope="col">"List"</th>
                            <th scope="col">"Component"</th>
                            <th scope="col">"Strikes today"</th>
                            <th scope="col">"Disabled since"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
                {why_not}
                <p class="foot">
                    <button type="submit" class="primary" disabled=!may>"Re-enable those chosen: next"</button>
                </p>
            </form>
        }
        .into_any(),
    };
    view! {
        <section class="card" aria-labelledby="disabled">
            <div class="head">
                <h2 id="disabled">{plural(page.matched as u64, "component") + " disabled"}</h2>
            </div>
            {body}
            {pager(page)}
        </section>
    }
}

fn choice(row: DisabledRow, may: bool) -> impl IntoView {
    let href = flood_list_path(&row.site, &row.list);
    let label = [
        "Choose ",
        component_words(row.component),
        " of ",
        &name::in_words(&row.list),
        " of site ",
        &name::in_words(row.site_words()),
    ]
    .concat();
    let strikes = format!("{} of {}", row.strikes.0, row.strikes.1);
    view! {
        <tr>
            <td class="mark">
                <input type="checkbox" name="it" value=row.value() aria-label=label disabled=!may/>
            </td>
            <th scope="row">
                <a href=href><bdi>{name::visible(&row.list)}</bdi></a>
                <small><bdi>{name::visible(row.site_words())}</bdi></small>
            </th>
            <td data-name="Component"><span>{component_words(row.component)}</span></td>
            <td data-name="Strikes today"><span>{strikes}</span></td>
            <td data-name="Disabled since"><span>{instant(row.since.clone())}</span></td>
        </tr>
    }
    .into_any()
}

fn pager(page: &FloodsDisabled) -> impl IntoView + use<> {
    let to = |number: usize| {
        let number = if number > 1 {
            number.to_string()
        } else {
            String::new()
        };
        [FLOODS_DISABLED_PATH, &query(&[("page", &number)])].concat()
    };
    let before =
        (page.page > 1).then(|| view! { <a href=to(page.page - 1) rel="prev">"Page before"</a> });
    let next = page
        .more
        .then(|| view! { <a href=to(page.page + 1) rel="next">"Next page"</a> });
    (before.is_some() || next.is_some())
        .then(|| view! { <nav class="choices" aria-label="Pages">{before} {next}</nav> })
}

fn confirm(page: &FloodsDisabled) -> impl IntoView + use<> {
    let (still, gone): (Vec<_>, Vec<_>) = page
        .rows
        .clone()
        .into_iter()
        .partition(|it| !it.since.is_empty());
    let count = still.len() as u64;
    let rows = still.iter().cloned().map(chosen).collect_view();
    let gone = (!gone.is_empty()).then(|| {
        let gone = [
            &plural(gone.len() as u64, "choice"),
            " left out: not disabled any more.",
        ]
        .concat();
        view! { <p class="notice near" role="status">{gone}</p> }
    });
    let values = still.iter().map(|it| {
        let value = it.value();
        view! { <input type="hidden" name="it" value=value/> }
    });
    let to = page
        .to_list
        .then(|| view! { <input type="hidden" name="to" value="list"/> });
    let disabled = count == 0 || !page.why_not.is_empty();
    let why_not =
        (!page.why_not.is_empty()).then(|| view! { <p class="means">{page.why_not.clone()}</p> });
    view! {
        {gone}
        <section class="card" aria-labelledby="confirm">
            <div class="head">
                <h2 id="confirm">{["Re-enable ", &plural(count, "component"), "?"].concat()}</h2>
            </div>
            <ul class="rows">{rows}</ul>
            <p class="means">
                "Their events are handled again from the next one on; those that came meanwhile are not. The running minute's count starts again, the day's strikes do not: the next time the threshold is reached today, the component is disabled at once, with another mail. It cannot be taken back here; a pause of the list stops its events, too."
            </p>
            <form method="post" action="/floods/enable" class="fields">
                {values.collect_view()}
                {to}
                <input type="hidden" name="sure" value="yes"/>
                <label>
                    "Reason, for the log"
                    <input type="text" name="reason" value=page.reason.clone() required maxlength="500" autocomplete="off" disabled=disabled/>
                </label>
                {why_not}
                <button type="submit" class="primary" disabled=disabled>
                    {["Re-enable ", &plural(count, "component")].concat()}
                </button>
            </form>
        </section>
    }
}

fn chosen(row: DisabledRow) -> impl IntoView {
    view! {
        <li>
            <p>
                <b><bdi>{name::visible(&row.list)}</bdi></b>
                " of site " <bdi>{name::visible(row.site_words())}</bdi>
                <small>
                    {component_words(row.component)} ", disabled since " {instant(row.since.clone())}
                </small>
            </p>
        </li>
    }
    .into_any()
}
