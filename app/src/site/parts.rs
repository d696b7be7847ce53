//! The parts of the page.

use leptos::prelude::*;

use super::{Moment, OtherList, SiteComponent, SiteEntry, SitePage, acts, site_path};
use crate::erase::Erase as _;
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::overview::wording::{Zone, count};

/// An instant by the site's clock, with UTC beside it.
pub(super) fn moment(moment: Moment) -> impl IntoView {
    view! { <time datetime=moment.at>{moment.words}</time> }
}

/// A component: how it is, and the way to re-enable it.
pub(super) fn component(page: &SitePage, list: &str, it: SiteComponent) -> impl IntoView + use<> {
    let label = match (&it.disabled, it.stopping) {
        (Some(_), _) => Label::zone(Zone::Full, "Disabled"),
        (None, true) => Label::zone(Zone::Near, "Stopping"),
        (None, false) => Label::zone(Zone::Clear, "Handled"),
    };
    let since = it.disabled.clone().map(|at| {
        view! { <p class="since">"Disabled since " {moment(at)} "."</p> }
    });
    let act = it
        .disabled
        .is_some()
        .then(|| acts::enabling(page, list, &it));
    let id = ["component-", it.component].concat();
    let labelled = id.clone();
    view! {
        <section class="card" aria-labelledby=labelled>
            <div class="head">
                <h2 id=id>{it.component}</h2>
                <Pill label=Signal::stored(label)/>
            </div>
            {since}
            <div class="meters">
                {meter("Events this minute", it.count, it.per_minute)}
                {meter("Strikes today", it.strikes, it.strikes_per_day)}
            </div>
            {act}
        </section>
    }
    .erase()
}

/// A number of at most so many: as words, and as a bar.
fn meter(label: &'static str, value: u32, most: u32) -> impl IntoView {
    let words = [&count(value), " of ", &count(most)].concat();
    let shown = words.clone();
    let permille = (u64::from(value) * 1_000 / u64::from(most.max(1))).min(1_000);
    let zone = Zone::at(u32::try_from(permille).unwrap_or(1_000));
    view! {
        <div class=["level ", zone.class()].concat()>
            <span>{label}</span>
            <b>{shown}</b>
            <svg
                viewBox="0 0 1000 8"
                preserveAspectRatio="none"
                role="meter"
                aria-label=label
                aria-valuemin="0"
                aria-valuemax=most
                aria-valuenow=value.min(most)
                aria-valuetext=words
            >
                <rect class="track" width="1000" height="8"></rect>
                <rect class="fill" width=permille.to_string() height="8"></rect>
            </svg>
        </div>
    }
}

/// A line of what happened.
pub(super) fn entry(entry: SiteEntry) -> impl IntoView {
    let why = (!entry.why.is_empty()).then(|| {
        view! { ": " <q><bdi>{name::visible(&entry.why)}</bdi></q> }
    });
    view! {
        <li>
            <p>
                <b>{entry.what}</b>
                <small>{moment(entry.at)} ", by " <bdi>{name::visible(&entry.who)}</bdi> {why}</small>
            </p>
        </li>
    }
}

/// The way to another list.
pub(super) fn other(key: &str, it: &OtherList) -> impl IntoView + use<> {
    let label = match (it.disabled.is_empty(), it.paused, it.stopping) {
        (false, _, _) => Label {
            more: [": ", &it.disabled.join(", ")].concat(),
            ..Label::zone(Zone::Full, "Disabled")
        },
        (true, true, _) => Label::held("Paused"),
        (true, false, true) => Label::zone(Zone::Near, "Stopping"),
        (true, false, false) => Label::zone(Zone::Clear, "Handled"),
    };
    let path = site_path(key, &it.list);
    view! {
        <li>
            <p><a href=path><bdi>{name::visible(&it.list)}</bdi></a></p>
            <Pill label=Signal::stored(label)/>
        </li>
    }
}
