//! One list: its components now, its strikes by day, what was done to it, and by whom.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::row::{FloodComponent, gauge, said};
use super::{FLOODS_PATH, component_words, flood_list_path, flood_pause_path, part};
use crate::alerts::{ShownMessage, letter};
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::overview::wording::{count, plural};
use crate::pages::{Page, escaped, query};
use crate::plain::{Plain, Told, as_of, instant, live_document};
use crate::visitor::Visitor;
use crate::workload::{Figure, figure};

/// A list and what happened to it.
#[derive(Clone, Debug)]
pub struct FloodOne {
    /// Who looks.
    pub visitor: Visitor,
    /// When this was so, RFC 3339.
    pub as_of: String,
    /// The site's key.
    pub site: String,
    /// What people call it; empty: by its key.
    pub title: String,
    /// Where people find it; empty: nowhere.
    pub url: String,
    /// Where it runs; empty: unknown.
    pub region: String,
    /// Whose midnight ends its days; empty: nobody has told of the site.
    pub time_zone: String,
    /// How many people get its mail.
    pub admins: usize,
    /// The list's key.
    pub list: String,
    /// Its components, those that events were reported of.
    pub components: Vec<FloodComponent>,
    /// The pauses in force.
    pub pauses: Vec<FloodPauseShown>,
    /// What was, as charts with their tables.
    pub figures: Vec<Figure>,
    /// What is to be said of them.
    pub notes: Vec<String>,
    /// What was done, newest first.
    pub deeds: Vec<FloodDeed>,
    /// Where the page before ended; `None`: it is the first.
    pub before: Option<i64>,
    /// Where older deeds begin; `None`: there are none.
    pub older: Option<i64>,
    /// What was mailed, newest first.
    pub letters: Vec<ShownMessage>,
    /// Why nothing can be changed; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// A pause in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodPauseShown {
    /// Whether the whole site is paused.
    pub of_site: bool,
    /// When it began, RFC 3339.
    pub since: String,
    /// When it ends by itself, RFC 3339.
    pub until: String,
    /// Who made it.
    pub who: String,
    /// Why.
    pub reason: String,
}

/// Something that was done to a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodDeed {
    /// When, RFC 3339.
    pub at: String,
    /// In words: `disabled Action by strike 20`.
    pub what: String,
    /// Who did it; empty: the guard.
    pub who: String,
    /// Why; empty: none was given.
    pub reason: String,
    /// When a pause was to end, RFC 3339.
    pub until: Option<String>,
}

impl FloodOne {
    fn site_words(&self) -> &str {
        match self.title.as_str() {
            "" => &self.site,
            title => title,
        }
    }

    fn path(&self, change: &[(&str, &str)]) -> String {
        let path = flood_list_path(&self.site, &self.list);
        let more = query(change);
        match path.contains('?') {
            true => path + &more.replacen('?', "&", 1),
            false => path + &more,
        }
    }
}

/// The document as text.
#[must_use]
pub fn flood_list(options: &LeptosOptions, page: FloodOne) -> String {
    let plain = Plain {
        page: Page::Floods,
        visitor: page.visitor.clone(),
        title: name::in_words(&page.list),
        beside: page.as_of.clone(),
        class: "floods-page",
        told: page.told.clone(),
    };
    let again = (page.path(&[]), String::new(), false);
    live_document(options, plain, again, || {
        view! {
            {way(&page)}
            {now(&page)}
            {past(&page)}
            {deeds(&page)}
            {letters(&page)}
        }
    })
}

/// What moves on the page, by itself.
#[must_use]
pub fn flood_list_live(page: &FloodOne) -> String {
    let owner = Owner::new_root(None);
    let at = page.as_of.clone();
    let html = owner.with(|| part(view! { {as_of(at)} {now(page)} }.into_any()));
    owner.cleanup();
    html
}

/// The way back, and whose list it is.
fn way(page: &FloodOne) -> impl IntoView + use<> {
    let of_site = [FLOODS_PATH, &query(&[("site", &page.site)])].concat();
    let link = (!page.url.is_empty()).then(|| {
        let url = page.url.clone();
        view! { " \u{b7} " <a href=url rel="noopener noreferrer">"open the site"</a> }
    });
    let region = (!page.region.is_empty())
        .then(|| view! { " \u{b7} region " <bdi>{name::visible(&page.region)}</bdi> });
    let facts = match page.time_zone.as_str() {
        "" => "Nobody has told of this site: its days end at midnight UTC, and nobody is mailed."
            .to_owned(),
        zone => {
            let mailed = match page.admins {
                0 => "nobody is mailed".to_owned(),
                some => [&plural(some as u64, "person"), " mailed"]
                    .concat()
                    .replace("persons", "people"),
            };
            ["Days end at midnight of ", zone, "; ", &mailed, "."].concat()
        }
    };
    view! {
        <nav class="way" aria-label="Way back">
            <a href=FLOODS_PATH>"Floods"</a>
            " / "
            <a href=of_site><bdi>{name::visible(page.site_words())}</bdi></a>
            " / "
            <bdi>{name::visible(&page.list)}</bdi>
        </nav>
        <p class="means">
            "Site " <bdi>{name::visible(page.site_words())}</bdi>
            " (" <code><bdi>{name::visible(&page.site)}</bdi></code> ")"
            {region} {link} " \u{b7} " {facts}
        </p>
    }
}

/// What is true now: pauses in force, and each component.
fn now(page: &FloodOne) -> impl IntoView + use<> {
    let paused = page.pauses.iter().map(|pause| pause_row(page, pause));
    let paused = paused.collect_view();
    let rows = page.components.iter().map(|it| component(page, it));
    let rows = rows.collect_view();
    let table = match page.components.is_empty() {
        true => view! {
            <p class="nothing">"No event of the last quarter of an hour, no strike of today, and nothing disabled: nothing is remembered."</p>
        }
        .into_any(),
        false => view! {
            <table class="users floods one" role="table">
                <thead role="rowgroup">
                    <tr role="row">
                        <th role="columnheader" scope="col">"Component"</th>
                        <th role="columnheader" scope="col">"Events this minute"</th>
                        <th role="columnheader" scope="col">"Strikes today"</th>
                        <th role="columnheader" scope="col">"State"</th>
                        <th role="columnheader" scope="col">"What can be done"</th>
                    </tr>
                </thead>
                <tbody role="rowgroup">{rows}</tbody>
            </table>
        }
        .into_any(),
    };
    let why_not = page.why_not.clone();
    let why_not = (!why_not.is_empty()).then(|| view! { <p class="means">{why_not}</p> });
    let (list, site) = (
        flood_pause_path(&page.site, &page.list),
        flood_pause_path(&page.site, ""),
    );
    view! {
        <section class="card" aria-labelledby="now" data-live="now">
            <div class="head">
                <h2 id="now">"Now"</h2>
                <span class="more acts">
                    <a class="button" href=list>"Pause this list"</a>
                    <a class="button" href=site>"Pause its site"</a>
                </span>
            </div>
            {paused}
            {table}
            {why_not}
        </section>
    }
}

fn pause_row(page: &FloodOne, pause: &FloodPauseShown) -> impl IntoView + use<> {
    let (what, list) = match pause.of_site {
        true => ("The whole site is paused until ", ""),
        false => ("Paused until ", page.list.as_str()),
    };
    let href = flood_pause_path(&page.site, list);
    let FloodPauseShown {
        until,
        since,
        who,
        reason,
        ..
    } = pause.clone();
    view! {
        <p class="notice quiet">
            <b>{what} {instant(until)} "."</b>
            " By " <bdi>{name::visible(&who)}</bdi> " since " {instant(since)} ": "
            <q><bdi>{name::visible(&reason)}</bdi></q> " "
            <a href=href>"End it early, or change it"</a>
        </p>
    }
    .into_any()
}

fn component(page: &FloodOne, it: &FloodComponent) -> impl IntoView + use<> {
    let is_paused = !page.pauses.is_empty();
    let whose = [
        &name::in_words(&page.list),
        " of site ",
        &name::in_words(page.site_words()),
    ]
    .concat();
    let (strikes, note) = it.strikes();
    let policy = [
        &count(it.per_minute),
        " a minute, ",
        &plural(it.strikes_per_day.into(), "strike"),
        " a day, ",
        &count(it.grace),
        " in grace",
    ]
    .concat();
    let since = it.disabled_since.clone();
    let act = it.disabled_since.as_ref().map(|_| enable(page, it.name));
    let label = it.label(is_paused);
    let policies = ["/flood-policies/", it.name].concat();
    view! {
        <tr role="row" data-row=it.name>
            <th role="rowheader" scope="row" class="who">
                {component_words(it.name)}
                <small><a href=policies>{policy}</a></small>
            </th>
            <td role="cell" class="level" data-cell="">{gauge(it, &whose)}</td>
            <td role="cell" class="strikes" data-cell="">
                <span>{strikes}</span>
                {said(note)}
            </td>
            <td role="cell" class="state" data-cell="">
                <Pill label=Signal::stored(label)/>
                {since.map(|at| view! { <small>"since " {instant(at)}</small> })}
            </td>
            <td role="cell" class="act" data-cell="">
                <small>{it.next(is_paused)}</small>
                {act}
            </td>
        </tr>
    }
    .into_any()
}

/// The way to re-enable: what happens is said, and asked for, on the next page.
fn enable(page: &FloodOne, component: &'static str) -> impl IntoView + use<> {
    let value = [
        component,
        "/",
        &escaped(&page.site),
        "/",
        &escaped(&page.list),
    ]
    .concat();
    let disabled = !page.why_not.is_empty();
    let label = ["Re-enable: next, ", component_words(component)].concat();
    view! {
        <form method="post" action="/floods/enable">
            <input type="hidden" name="it" value=value/>
            <input type="hidden" name="to" value="list"/>
            <button type="submit" disabled=disabled aria-label=label>"Re-enable: next"</button>
        </form>
    }
    .into_any()
}

fn past(page: &FloodOne) -> impl IntoView + use<> {
    let figures = page.figures.clone().into_iter().map(figure).collect_view();
    let notes = page.notes.clone().into_iter();
    let notes = notes
        .map(|note| view! { <p class="means">{note}</p> })
        .collect_view();
    view! {
        <section class="card past" aria-labelledby="past">
            <div class="head">
                <h2 id="past">"History"</h2>
            </div>
            {notes}
            <div class="figures">{figures}</div>
        </section>
    }
    .into_any()
}

fn deeds(page: &FloodOne) -> impl IntoView + use<> {
    let rows = page.deeds.clone().into_iter().map(deed).collect_view();
    let shown = match (page.deeds.is_empty(), page.before) {
        (true, None) => view! { <p class="nothing">"Nothing in the last 30 days."</p> }.into_any(),
        (true, Some(_)) => view! { <p class="nothing">"There is no more."</p> }.into_any(),
        _ => view! { <ul class="rows">{rows}</ul> }.into_any(),
    };
    let first = page.before.map(|_| {
        let href = page.path(&[]) + "#deeds";
        view! { <a href=href>"Newest"</a> }
    });
    let older = page.older.map(|seq| {
        let href = page.path(&[("before", &seq.to_string())]) + "#deeds";
        view! { <a href=href rel="next">"Older"</a> }
    });
    let subject = ["list:", &page.site, "/", &page.list].concat();
    let audit = ["/audit", &query(&[("subject", &subject)])].concat();
    let pager = (first.is_some() || older.is_some()).then(|| {
        view! { <nav class="choices" aria-label="Pages of what was done">{first} {older}</nav> }
    });
    view! {
        <section class="card" aria-labelledby="deeds">
            <div class="head">
                <h2 id="deeds">"What was done, and by whom"</h2>
                <a class="more" href=audit>"In the audit log"</a>
            </div>
            {shown}
            {pager}
        </section>
    }
    .into_any()
}

fn deed(deed: FloodDeed) -> impl IntoView {
    let who = match deed.who.as_str() {
        "" => view! { "the flood guard" }.into_any(),
        who => view! { <bdi>{name::visible(who)}</bdi> }.into_any(),
    };
    let reason = (!deed.reason.is_empty())
        .then(|| view! { ": " <q><bdi>{name::visible(&deed.reason)}</bdi></q> });
    let until = deed.until.map(|until| view! { " until " {instant(until)} });
    let label = match deed.who.is_empty() {
        true => Label::zone(crate::overview::wording::Zone::Full, "Disabled"),
        false => Label::held("By a person"),
    };
    view! {
        <li>
            <p>
                <b>{deed.what}</b> {until}
                <small>{instant(deed.at)} " by " {who} {reason}</small>
            </p>
            <Pill label=Signal::stored(label)/>
        </li>
    }
    .into_any()
}

fn letters(page: &FloodOne) -> impl IntoView + use<> {
    let rows = page.letters.clone().into_iter().map(letter).collect_view();
    let shown = match page.letters.is_empty() {
        true => view! { <p class="nothing">"Nobody was mailed about this list."</p> }.into_any(),
        false => view! { <ul class="rows">{rows}</ul> }.into_any(),
    };
    view! {
        <section class="card" aria-labelledby="letters">
            <div class="head">
                <h2 id="letters">"Mail"</h2>
            </div>
            {shown}
        </section>
    }
    .into_any()
}
