//! The page of a site's admin, who has no account: a list of the site, and what can be done about
//! it. A plain document with plain forms: no script, no way to the dashboard.

mod acts;
mod parts;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::head;
use crate::erase::Erase as _;
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::overview::wording::Zone;
use crate::pages::query;
use crate::plain::{Told, tell};
use parts::{component, moment};

/// Where the page is.
pub const SITE_PATH: &str = "/site";

/// What the page shows.
#[derive(Clone, Debug)]
pub struct SitePage {
    /// What the link held; it goes with each form.
    pub key: String,
    /// What people call the site.
    pub title: String,
    /// Where people find it: http or https; empty: nowhere.
    pub url: String,
    /// Whose link it is.
    pub address: String,
    /// Until when the link is good.
    pub expires: Moment,
    /// When this was so.
    pub as_of: Moment,
    /// The site's own pause, which an operator or the platform has set.
    pub site_paused: Option<Moment>,
    /// The list that is shown.
    pub list: Option<SiteList>,
    /// The site's other lists on which something is remembered, those in trouble first.
    pub others: Vec<OtherList>,
    /// How many more there are.
    pub more: usize,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// An instant, for machines and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// RFC 3339.
    pub at: String,
    /// By the site's clock and by UTC.
    pub words: String,
}

/// The list that is shown.
#[derive(Clone, Debug)]
pub struct SiteList {
    /// Its key.
    pub list: String,
    /// When its own pause ends, if it is paused.
    pub paused: Option<Moment>,
    /// Its components, those that events were reported of.
    pub components: Vec<SiteComponent>,
    /// What happened to it, newest first.
    pub history: Vec<SiteEntry>,
}

/// A component on the list.
#[derive(Clone, Debug)]
pub struct SiteComponent {
    /// Its name.
    pub component: &'static str,
    /// The events counted in the running minute.
    pub count: u32,
    /// How many make it a strike.
    pub per_minute: u32,
    /// Today's strikes.
    pub strikes: u32,
    /// How many disable it.
    pub strikes_per_day: u32,
    /// Whether the minute's further events are stopped.
    pub stopping: bool,
    /// Since when it is disabled, if it is.
    pub disabled: Option<Moment>,
    /// When the site's day ends, and strikes are counted from none.
    pub day_ends: Moment,
}

/// Something that happened to the list.
#[derive(Clone, Debug)]
pub struct SiteEntry {
    /// When.
    pub at: Moment,
    /// In a few words.
    pub what: String,
    /// Who did it, in words.
    pub who: String,
    /// Why; empty: nobody said.
    pub why: String,
}

/// Another list of the site.
#[derive(Clone, Debug)]
pub struct OtherList {
    /// Its key.
    pub list: String,
    /// The names of its components that are disabled.
    pub disabled: Vec<&'static str>,
    /// Whether something is stopped just now.
    pub stopping: bool,
    /// Whether it is paused.
    pub paused: bool,
}

/// The path of the page of a list, for the holder of this key.
#[must_use]
pub fn site_path(key: &str, list: &str) -> String {
    [SITE_PATH, &query(&[("key", key), ("list", list)])].concat()
}

/// The document as text.
#[must_use]
pub fn site(options: &LeptosOptions, page: SitePage) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| document(options, page).to_html());
    owner.cleanup();
    page
}

fn document(options: &LeptosOptions, page: SitePage) -> impl IntoView + use<> {
    let title = match &page.list {
        Some(list) => name::in_words(&list.list),
        None => name::in_words(&page.title),
    };
    let here = page.list.as_ref().map_or("", |list| &list.list);
    let again = site_path(&page.key, here);
    let (heading, as_of) = (title.clone(), page.as_of.clone());
    let beside = page.list.is_some().then(|| {
        let site = name::visible(&page.title);
        view! { <p class="as-of">"A list of " <bdi>{site}</bdi></p> }
    });
    view! {
        <!DOCTYPE html>
        <html lang="en">
            {head(options, &title)}
            <body class="site">
                <a class="skip" href="#content">"Skip to the content"</a>
                <main id="content">
                    <p class="brand">
                        <svg viewBox="0 0 32 32" aria-hidden="true">
                            <path d="M4 6h24M4 6v20M28 6v20M4 15c4-4 8 4 12 0s8 4 12 0M4 22c4-4 8 4 12 0s8 4 12 0"></path>
                        </svg>
                        "Spillway"
                    </p>
                    <header>
                        <h1><bdi>{heading}</bdi></h1>
                        {beside}
                        <p class="as-of">"As of " {moment(as_of)} " · " <a href=again>"Look again"</a></p>
                    </header>
                    {page.told.clone().map(tell)}
                    {lead(&page)}
                    {page.list.clone().map(|list| about(&page, list))}
                    {others(&page)}
                    {whose(&page)}
                </main>
            </body>
        </html>
    }
}

/// In one sentence: what is wrong, since when, and what happens by itself.
fn lead(page: &SitePage) -> impl IntoView + use<> {
    let Some(list) = &page.list else {
        return view! { <p class="calm">"Choose a list below."</p> }.into_any();
    };
    let disabled: Vec<_> = list
        .components
        .iter()
        .filter(|it| it.disabled.is_some())
        .collect();
    let paused = list.paused.clone().or_else(|| page.site_paused.clone());
    let names = disabled
        .iter()
        .map(|it| it.component)
        .collect::<Vec<_>>()
        .join(", ");
    let (label, words) = match (disabled.is_empty(), paused) {
        (false, _) => (
            Label::zone(Zone::Full, "Disabled"),
            view! {
                <b>{names}</b>
                ": its events are not handled. Nothing changes that by itself: re-enable it below, once \
                 you know what made so many events."
            }
            .into_any(),
        ),
        (true, Some(until)) => (
            Label::held("Paused"),
            view! { "No event of this list is handled or counted until " {moment(until)} "; then it goes on by itself." }
                .into_any(),
        ),
        (true, None) if list.components.iter().any(|it| it.stopping) => (
            Label::zone(Zone::Near, "Stopping"),
            "This minute's further events are stopped; from the next minute on they are handled again by themselves."
                .into_any(),
        ),
        (true, None) => (
            Label::zone(Zone::Clear, "All clear"),
            "All events of this list are handled.".into_any(),
        ),
    };
    view! {
        <p class="calm">
            <Pill label=Signal::stored(label)/>
            " "
            {words}
        </p>
    }
    .into_any()
}

fn about(page: &SitePage, list: SiteList) -> impl IntoView + use<> {
    let SiteList {
        list: key,
        paused,
        components,
        history,
    } = list;
    let none = components.is_empty().then(|| {
        view! {
            <section class="card">
                <p class="nothing">"No event of this list came within the last quarter of an hour, and nothing of it is disabled."</p>
            </section>
        }
    });
    let cards = components.into_iter().map(|it| component(page, &key, it));
    view! {
        {none}
        {cards.collect_view()}
        {acts::pausing(page, &key, paused)}
        {happened(history)}
    }
    .erase()
}

fn happened(history: Vec<SiteEntry>) -> impl IntoView {
    let rows = match history.is_empty() {
        true => view! { <p class="nothing">"Nothing in the last thirty days."</p> }.into_any(),
        false => {
            let rows = history.into_iter().map(parts::entry).collect_view();
            view! { <ul class="rows">{rows}</ul> }.into_any()
        }
    };
    view! {
        <section class="card" aria-labelledby="history">
            <div class="head">
                <h2 id="history">"What happened"</h2>
            </div>
            {rows}
        </section>
    }
}

fn others(page: &SitePage) -> impl IntoView + use<> {
    let rows = page
        .others
        .iter()
        .map(|it| parts::other(&page.key, it))
        .collect_view();
    let more = (page.more > 0).then(|| {
        let more = page.more;
        view! { <p class="means">{format!("And {more} more, in less trouble.")}</p> }
    });
    (!page.others.is_empty()).then(|| {
        view! {
            <section class="card" aria-labelledby="others">
                <div class="head">
                    <h2 id="others">"Other lists of the site"</h2>
                </div>
                <ul class="rows">{rows}</ul>
                {more}
            </section>
        }
    })
}

/// Whose page it is, and how long.
fn whose(page: &SitePage) -> impl IntoView + use<> {
    let url = page.url.clone();
    let site = (!url.is_empty()).then(|| {
        let words = name::visible(&url);
        view! { " The site is at " <a href=url rel="noreferrer noopener"><bdi>{words}</bdi></a> "." }
    });
    view! {
        <p class="means foot">
            "This page is for " <b><bdi>{name::visible(&page.address)}</bdi></b>
            ", an admin of the site " <bdi>{name::visible(&page.title)}</bdi>
            ": whoever has its link may do what it offers, so do not pass it on. It is good until "
            {moment(page.expires.clone())} ". What you do here is written down under your address." {site}
        </p>
    }
}
