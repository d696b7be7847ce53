//! Lists of all sites, most trouble first: looked for, filtered, a page at a time.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::row::{FloodRow, head, row};
use super::{FLOOD_POLICIES_PATH, FLOODS_DISABLED_PATH, FLOODS_PATH, part};
use crate::overview::name;
use crate::overview::wording::{count, plural};
use crate::pages::{Page, query};
use crate::plain::{Plain, Told, live_document};
use crate::visitor::Visitor;

/// What the page was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodAsked {
    /// What keys and titles have in them; empty: anything.
    pub find: String,
    /// `trouble`, `disabled`, `stopping` or `paused`; empty: any state.
    pub state: String,
    /// A region; empty: any.
    pub region: String,
    /// A site's key; empty: any.
    pub site: String,
    /// A component's name; empty: any.
    pub component: String,
    /// Which page of the list, from 1.
    pub page: usize,
    /// Whether the page asks again by itself where no script runs.
    pub refreshes: bool,
    /// What of the address cannot be understood.
    pub wrong: Option<String>,
}

/// Lists on which something is remembered, or those of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodTotals {
    /// How many lists.
    pub lists: u64,
    /// The events counted in the running minute.
    pub events: u64,
    /// Components that are disabled.
    pub disabled: u64,
    /// Components whose further events are stopped in the running minute.
    pub stopping: u64,
    /// Lists that are paused, or of a paused site.
    pub paused: u64,
    /// Today's strikes.
    pub strikes: u64,
}

/// A region's load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodRegion {
    /// Its name; empty: of sites whose region nobody has told.
    pub name: String,
    /// Its lists.
    pub totals: FloodTotals,
}

/// The page.
#[derive(Clone, Debug)]
pub struct FloodList {
    /// Who looks.
    pub visitor: Visitor,
    /// When this was so, RFC 3339.
    pub as_of: String,
    /// What was asked for.
    pub asked: FloodAsked,
    /// The rows of this page.
    pub rows: Vec<FloodRow>,
    /// How many there are on all pages.
    pub matched: usize,
    /// Whether there is another page.
    pub more: bool,
    /// All lists.
    pub totals: FloodTotals,
    /// The load of each region, the highest first.
    pub regions: Vec<FloodRegion>,
    /// How many more regions there are.
    pub more_regions: usize,
    /// What became of the last form.
    pub told: Option<Told>,
}

const STATES: [(&str, &str); 5] = [
    ("", "any state"),
    ("trouble", "in trouble today"),
    ("disabled", "disabled"),
    ("stopping", "stopped this minute"),
    ("paused", "paused"),
];

const COMPONENTS: [(&str, &str); 5] = [
    ("", "any component"),
    ("action", "Action"),
    ("alert", "Alert"),
    ("item_id", "Item ID"),
    ("summary", "Summary"),
];

/// The document as text.
#[must_use]
pub fn floods(options: &LeptosOptions, page: FloodList) -> String {
    let plain = Plain {
        page: Page::Floods,
        visitor: page.visitor.clone(),
        title: "Floods".to_owned(),
        beside: page.as_of.clone(),
        class: "floods-page",
        told: page.told.clone(),
    };
    let again = page.asked.again();
    live_document(options, plain, again, || {
        let search = search(&page);
        view! {
            {values(&page)}
            <section class="card" aria-labelledby="lists">
                <div class="head">
                    <h2 id="lists">"Lists, most trouble first"</h2>
                    <span class="more acts">
                        <a href=FLOODS_DISABLED_PATH>"All that is disabled"</a>
                        <a href=FLOOD_POLICIES_PATH>"Policies"</a>
                    </span>
                </div>
                {search}
                {table(&page)}
            </section>
        }
    })
}

/// What moves on the page, by itself.
#[must_use]
pub fn floods_live(page: &FloodList) -> String {
    let owner = Owner::new_root(None);
    let as_of = page.as_of.clone();
    let html = owner.with(|| {
        part(view! { {crate::plain::as_of(as_of)} {values(page)} {table(page)} }.into_any())
    });
    owner.cleanup();
    html
}

/// The first sentence, and the load of the regions.
fn values(page: &FloodList) -> impl IntoView + use<> {
    view! {
        {lead(page)}
        {regions(page)}
    }
}

fn lead(page: &FloodList) -> impl IntoView + use<> {
    let it = &page.totals;
    let (class, headline) = headline(it);
    let more = match (it.lists, it.disabled) {
        (0, _) => view! {
            " Nothing is remembered of any list. A platform asks before it handles an event, with a token of the scope "
            <code>"events"</code> ": " <code>"POST /api/v1/events"</code> ", and its lists appear here with the first answer."
        }
        .into_any(),
        (_, 0) => view! { " " {said(it)} }.into_any(),
        _ => view! {
            " Nothing re-enables them but a person: "
            <a href=FLOODS_DISABLED_PATH>"look at them and re-enable"</a> ". " {said(it)}
        }
        .into_any(),
    };
    view! {
        <section class=class aria-label="In short" data-live="lead">
            <p>
                <b data-say="">{headline}</b>
                {more}
            </p>
        </section>
    }
}

/// How the sentence stands out, and what it says.
fn headline(it: &FloodTotals) -> (&'static str, String) {
    let is = |number: u64, what: &str| {
        let verb = if number == 1 { "is" } else { "are" };
        [&plural(number, "component"), " ", verb, " ", what].concat()
    };
    match (it.lists, it.disabled, it.stopping) {
        (0, ..) => ("lead empty", "No event was reported yet.".to_owned()),
        (_, 0, 0) => ("lead clear", "All clear: no list floods now.".to_owned()),
        (_, 0, stopping) => ("lead near", is(stopping, "stopped for this minute.")),
        (_, disabled, 0) => ("lead full", is(disabled, "disabled.")),
        (_, disabled, stopping) => {
            let stopped = [", and ", &count(stopping), " stopped for this minute."].concat();
            ("lead full", is(disabled, "disabled") + &stopped)
        }
    }
}

fn said(it: &FloodTotals) -> String {
    let paused = match it.paused {
        0 => "none is paused".to_owned(),
        1 => "1 is paused".to_owned(),
        some => [&count(some), " are paused"].concat(),
    };
    [
        &plural(it.lists, "list"),
        " counted, ",
        &paused,
        "; ",
        &plural(it.events, "event"),
        " so far in this minute, ",
        &plural(it.strikes, "strike"),
        " today.",
    ]
    .concat()
}

fn regions(page: &FloodList) -> impl IntoView + use<> {
    let most = page.regions.iter().map(|it| it.totals.events).max();
    let most = most.unwrap_or(0).max(1);
    let rows = page.regions.clone().into_iter();
    let rows = rows.map(|region| region_row(&region, most)).collect_view();
    let more = (page.more_regions > 0).then(|| {
        let more = ["and ", &plural(page.more_regions as u64, "region"), " more"].concat();
        view! { <p class="means">{more}</p> }
    });
    // One region without a name says nothing that the sentence above does not.
    let is_of_use = page.regions.iter().any(|it| !it.name.is_empty());
    let card = is_of_use.then(|| {
        view! {
            <section class="card" aria-labelledby="regions">
                <div class="head">
                    <h2 id="regions">"Load by region"</h2>
                </div>
                <table class="facts regions">
                    <thead>
                        <tr>
                            <th scope="col">"Region"</th>
                            <th scope="col">"Events this minute"</th>
                            <th scope="col">"Lists"</th>
                            <th scope="col">"Strikes today"</th>
                            <th scope="col">"Stopped now"</th>
                            <th scope="col">"Disabled"</th>
                            <th scope="col">"Paused"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
                {more}
            </section>
        }
    });
    view! { <div data-live="regions">{card}</div> }
}

fn region_row(region: &FloodRegion, most: u64) -> impl IntoView + use<> {
    let it = &region.totals;
    let permille = (it.events * 1_000 / most).to_string();
    let name = match region.name.as_str() {
        "" => view! { "unknown" }.into_any(),
        name => {
            let href = [FLOODS_PATH, &query(&[("region", name)])].concat();
            view! { <a href=href><bdi>{name::visible(name)}</bdi></a> }.into_any()
        }
    };
    view! {
        <tr>
            <th scope="row">{name}</th>
            <td data-name="Events this minute">
                <span class="tally">
                    <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
                        <rect class="track" width="1000" height="8"></rect>
                        <rect class="share" width=permille height="8"></rect>
                    </svg>
                    <span class="numbers">{count(it.events)}</span>
                </span>
            </td>
            <td data-name="Lists"><span>{count(it.lists)}</span></td>
            <td data-name="Strikes today"><span>{count(it.strikes)}</span></td>
            <td data-name="Stopped now"><span>{count(it.stopping)}</span></td>
            <td data-name="Disabled"><span>{count(it.disabled)}</span></td>
            <td data-name="Paused"><span>{count(it.paused)}</span></td>
        </tr>
    }
    .into_any()
}

impl FloodAsked {
    /// The address of the page with some of this replaced.
    fn link(&self, change: &[(&str, &str)]) -> String {
        let number = match self.page {
            0 | 1 => String::new(),
            page => page.to_string(),
        };
        let all = [
            ("find", self.find.as_str()),
            ("state", &self.state),
            ("region", &self.region),
            ("site", &self.site),
            ("component", &self.component),
            ("page", &number),
            ("refresh", if self.refreshes { "on" } else { "" }),
        ];
        let asked = all.map(|(name, value)| {
            let changed = change.iter().find(|(changed, _)| *changed == name);
            (name, changed.map_or(value, |(_, value)| value))
        });
        [FLOODS_PATH, &query(&asked)].concat()
    }

    fn is_filtered(&self) -> bool {
        let all = [
            &self.find,
            &self.state,
            &self.region,
            &self.site,
            &self.component,
        ];
        all.iter().any(|it| !it.is_empty())
    }

    /// The ways to a newer page, where no script runs.
    fn again(&self) -> (String, String, bool) {
        let refresh = if self.refreshes { "" } else { "on" };
        (
            self.link(&[]),
            self.link(&[("refresh", refresh)]),
            self.refreshes,
        )
    }
}

/// A form that is sent by `GET`, so that its fields stand in the address.
fn search(page: &FloodList) -> impl IntoView + use<> {
    let asked = &page.asked;
    let options = |all: &[(&'static str, &'static str)], chosen: &str| {
        let options = all.iter().map(|(value, words)| {
            let selected = *value == chosen;
            view! { <option value=*value selected=selected>{*words}</option> }
        });
        options.collect_view()
    };
    let all = asked
        .is_filtered()
        .then(|| view! { <a href=FLOODS_PATH>"All lists"</a> });
    let refresh = asked
        .refreshes
        .then(|| view! { <input type="hidden" name="refresh" value="on"/> });
    let wrong = asked
        .wrong
        .clone()
        .map(|wrong| view! { <p class="notice near" role="status">{wrong}</p> });
    view! {
        {wrong}
        <form method="get" action=FLOODS_PATH class="filters" role="search" aria-label="Filter lists">
            {refresh}
            <label>
                "List or site"
                <input type="search" name="find" value=asked.find.clone() maxlength="256" autocomplete="off" spellcheck="false"/>
            </label>
            <label>
                "State"
                <select name="state">{options(&STATES, &asked.state)}</select>
            </label>
            <label>
                "Component"
                <select name="component">{options(&COMPONENTS, &asked.component)}</select>
            </label>
            <label>
                "Region"
                <input type="text" name="region" value=asked.region.clone() maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="any"/>
            </label>
            <label>
                "Site, by its key"
                <input type="text" name="site" value=asked.site.clone() maxlength="256" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="any"/>
            </label>
            <button type="submit" class="primary">"Show"</button>
            {all}
        </form>
    }
}

fn table(page: &FloodList) -> impl IntoView + use<> {
    let asked = &page.asked;
    let shown = match (page.rows.is_empty(), asked.is_filtered(), asked.page) {
        (true, false, 0 | 1) => {
            view! { <p class="nothing">"Lists appear here with their first event."</p> }.into_any()
        }
        (true, true, 0 | 1) => {
            view! { <p class="nothing">"No list is like that now."</p> }.into_any()
        }
        (true, ..) => view! { <p class="nothing">"There are no more."</p> }.into_any(),
        _ => {
            let rows = page.rows.clone().into_iter().map(row).collect_view();
            view! {
                <table class="users floods" role="table">
                    {head()}
                    <tbody role="rowgroup">{rows}</tbody>
                </table>
            }
            .into_any()
        }
    };
    view! {
        <div data-live="table">
            <p class="means number">{numbers(page)}</p>
            {shown}
            {pager(page)}
        </div>
    }
}

fn numbers(page: &FloodList) -> String {
    match page.matched as u64 {
        0 => String::new(),
        all if all == page.rows.len() as u64 => plural(all, "row"),
        all => [
            &plural(all, "row"),
            ", page ",
            &count(page.asked.page.max(1) as u64),
        ]
        .concat(),
    }
}

fn pager(page: &FloodList) -> impl IntoView + use<> {
    let number = page.asked.page.max(1);
    let to = |number: usize| page.asked.link(&[("page", &number.to_string())]) + "#lists";
    let first = (number > 1).then(|| {
        let (first, before) = (page.asked.link(&[("page", "")]) + "#lists", to(number - 1));
        view! { <a href=first>"First page"</a> <a href=before rel="prev">"Page before"</a> }
    });
    let next = page
        .more
        .then(|| view! { <a href=to(number + 1) rel="next">"Next page"</a> });
    (first.is_some() || next.is_some())
        .then(|| view! { <nav class="choices" aria-label="Pages of lists">{first} {next}</nav> })
}
